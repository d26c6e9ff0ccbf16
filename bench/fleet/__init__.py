"""The fleet: many processes on one or more hosts, each running an unchanged backend.

A *host* is one dask worker. Its processes are ``bench.run.worker`` and
``python -m server``, the same as in a campaign on one machine. dask.distributed
places them, carries messages to them, and reports lost hosts.

==================  =======================================================
``limits.py``       the limits of a host, read on that host
``plan.py``         how a trial is divided, and which limits are too low
``cluster.py``      the dask cluster: hosts, calls with deadlines, lost hosts
``messages.py``     what the coordinator and the hosts send each other
``host.py``         runs on a host: its servers and its workers
``hold.py``         a trial that holds connections at one barrier
``hold_record.py``  the records of such a trial
``merge.py``        merges many results into one, exactly
``schema.py``       the records of ``fleet.jsonl``
``store.py``        reads ``fleet.jsonl``
``report.py``       charts and tables, from the records alone
``command.py``      ``python -m bench fleet``
==================  =======================================================
"""
