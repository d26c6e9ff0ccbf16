"""The one base of all errors that a person can mend."""

from __future__ import annotations


class BenchError(Exception):
    """Bad input or a missing piece; the message is one line and says what to do."""
