"""Programs that run for a long time: faults, fuzzing, leaks, soaks, races, limits, signals.

Each module is a command, ``python -m tests.torture.NAME``; README.md here lists them. It writes its
counts to ``results/reliability/NAME.json`` and a table into docs/notebook/reliability.md.
"""
