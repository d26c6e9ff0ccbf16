"""Hostile servers, pages and command lines: cases as rows of tables, each with what must happen.

tests/test_attacks.py runs them, the quick ones always and the others with the slow tests.
"""
