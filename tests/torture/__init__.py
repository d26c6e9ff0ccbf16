"""What is run seldom and long: leaks, soaks, races, limits, signals.

Each module is a command, ``python -m tests.torture.NAME``, that writes what it
counted to ``results/reliability/NAME.json`` and its part of docs/reliability.md.
CI runs a handful of the same cases; see the tests that import from here.
"""
