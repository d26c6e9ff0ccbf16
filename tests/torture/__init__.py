"""Tests that run for a long time: attacks, faults, fuzzing, leaks, soaks, races, limits, signals.

Each module is a command, ``python -m tests.torture.NAME``. It writes its counts to
``results/reliability/NAME.json`` and a table into docs/reliability.md. CI runs a few of
the same cases, in the tests that import from here.
"""
