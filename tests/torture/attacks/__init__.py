"""A second day of attacks: hostile servers, pages, command lines and records.

Each case is a row of a table: its name, what is tried, and what must happen.
``python -m tests.torture.attacks`` runs them all and writes the section in
docs/reliability.md. The tests run the cases that need no process of their own.
"""
