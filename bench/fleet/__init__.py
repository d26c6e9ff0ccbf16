"""The fleet: many processes on one or more hosts, each running an unchanged backend.

A *host* is one dask worker. Its processes are those of a campaign on one machine. dask.distributed
places them, carries messages and reports lost hosts (:mod:`~bench.fleet.cluster`).
:mod:`~bench.fleet.plan` divides a trial, :mod:`~bench.fleet.host` runs on each host,
:mod:`~bench.fleet.hold` is the trial, and :mod:`~bench.fleet.report` shows its records.
"""
