"""The fleet: many processes on this machine or on several, each running an unchanged backend.

:mod:`~bench.fleet.trial` divides the connections and is the record, :mod:`~bench.fleet.hold` has
the processes of a machine and runs the trial, :mod:`~bench.fleet.report` shows its records.
"""
