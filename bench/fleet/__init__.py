"""The fleet: many processes on this machine or on several, each running an unchanged backend.

:mod:`~bench.fleet.study` divides the connections, is the record, and shows it;
:mod:`~bench.fleet.hold` has the processes of a machine and runs the trial.
"""
