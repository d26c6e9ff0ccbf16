"""The harness: runs campaigns of trials against the fixture server and reports on them.

Data flows one way: workloads → trial → store → stats → charts and tables.
Nothing downstream of :mod:`bench.store` runs a trial, and the crawlers and the
server are used through their command lines only (the worker, which *is* the
process under test, loads a backend through the crawlers' registry).

This file stays empty of imports: the worker process imports the package, and
its memory is measured.
"""

from __future__ import annotations


class BenchError(Exception):
    """Bad input, or something is missing; the message is one line and says what to do.

    ``full``: nothing is wrong with what was asked, but the disk has no room for it.
    """

    def __init__(self, message: str, *, full: bool = False) -> None:
        super().__init__(message)
        self.full = full
