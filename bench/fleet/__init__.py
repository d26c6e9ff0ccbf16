"""The fleet: many processes on one or more hosts, each running an unchanged backend.

A *host* is one dask worker. Its processes are ``bench.sides.worker`` and
``python -m server``, the same as in a campaign on one machine. dask.distributed
places them, carries messages to them, and reports lost hosts.

================  =================================================================
``plan.py``       how a trial is divided, and what each machine needs for it
``cluster.py``    the dask cluster: hosts, calls with deadlines, lost hosts
``host.py``       runs on a host: its servers, its workers, what they report
``hold.py``       a trial that holds connections at one barrier, and its records
``records.py``    the records of ``fleet.jsonl``
``report.py``     charts and tables, from the records alone
================  =================================================================
"""
