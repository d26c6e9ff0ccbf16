"""Subinterpreters: one for each processor, each running ``callbacks`` in its own thread.

Within an interpreter, waiting and switching are the same as in ``callbacks``. Each
interpreter has a lock of its own (PEP 684), so the kernel runs them at the same
time in one process. A connection costs the same as in ``callbacks``, and each
interpreter loads its modules once more. Changed against ``processes``: a thread
with an interpreter instead of a process. Fetches and links still cross a socket,
pickled, because interpreters share no objects.

httptools cannot be loaded there (it keeps state for the whole process). So the
interpreters parse with ``crawlers.parser``, and the report says so.
"""

from __future__ import annotations

import socket
import sys
from importlib import import_module
from threading import Thread
from typing import Any

from crawlers.backend import BackendError
from crawlers.job import CrawlReport, Job
from crawlers.recorder import Recorder
from crawlers.variants import processes

try:
    interpreters: Any = import_module("concurrent.interpreters")
except ImportError:
    raise BackendError(
        "backend subinterpreters needs Python 3.14 or later, for concurrent.interpreters; "
        f"this is {sys.version_info.major}.{sys.version_info.minor}"
    ) from None

START = """
import socket, sys
sys.path[:] = {path!r}
with socket.socket(fileno={descriptor}) as sock:
    from crawlers.variants._child import serve
    serve(sock)
"""
"""What an interpreter runs; from then on it owns the descriptor."""


class Interpreter:
    """An interpreter, and the thread that runs it."""

    def __init__(self, theirs: socket.socket) -> None:
        self.failed = ""
        try:
            self.interpreter = interpreters.create()
        except interpreters.InterpreterError as error:  # no memory
            raise RuntimeError(str(error)) from error
        own = theirs.dup()
        self.thread = Thread(target=self.run, args=(own,), name=str(self))
        try:
            self.thread.start()
        except RuntimeError:
            own.close()
            self.interpreter.close()
            raise

    def __str__(self) -> str:
        return f"interpreter {self.interpreter.id}{self.failed}"

    def run(self, theirs: socket.socket) -> None:
        """Run the interpreter to its end."""
        with theirs:
            start = START.format(path=sys.path, descriptor=theirs.dup().detach())
            try:
                self.interpreter.exec(start)
            except interpreters.ExecutionFailed as error:
                self.failed = f" ({error.excinfo.formatted})"
            # It may have ended before it had the descriptor: the parent would wait.
            theirs.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Wait for its end, and release it."""
        self.thread.join()
        self.interpreter.close()


def crawl(job: Job, recorder: Recorder) -> CrawlReport:
    """Crawl with one interpreter for each processor that this process may use."""
    return processes.run("subinterpreters", Interpreter, job, recorder)
