"""The fleet: many processes, on one host or many, each running an unchanged backend.

A *host* is one dask worker; its processes are ``bench.worker`` and
``python -m server``, the same ones that a campaign on one machine uses.
dask.distributed places them, carries what is said to them, and tells when a
host is gone.

===============  ==========================================================
``limits.py``    what a host allows, read on that host
``plan.py``      how a trial is shared out, and what stops it; pure arithmetic
``cluster.py``   the dask cluster: hosts, calls with deadlines, lost hosts
``host.py``      what runs on a host: its servers and its workers
``hold.py``      a trial that holds connections at one barrier
``partition.py`` whose URL is it; one worker's part of a shared crawl
``crawl.py``     a trial in which the workers share one crawl
``merge.py``     many results into one, exactly
``schema.py``    the records of ``fleet.jsonl``
``store.py``     ``fleet.jsonl``: load
``report.py``    charts and tables, from the records alone
``command.py``   ``python -m bench fleet``
===============  ==========================================================
"""
