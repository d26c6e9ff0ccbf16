"""The base of all errors that a person can fix."""

from __future__ import annotations


class BenchError(Exception):
    """Bad input, or something is missing; the message is one line and says what to do."""
