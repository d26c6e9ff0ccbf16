"""The process that is counted: it starts once, and each of its crawls runs in a fork of it.

Started as ``python -m bench.costs.forking``. Under a tool the start of Python and the imports
take longer than the crawls, so they happen once. It reads a
:class:`~bench.sides.protocol.Command`, imports the backend, warms up and answers ``Ready``. For
each command from then on it forks, and the child does what a worker does: it answers ``Ready``,
crawls on ``GO``, answers ``Result`` and exits. When the child has ended, and so has written what
the tool counted, this process answers ``Ready``.

A tool counts a child from the start of its parent. All children have that part in common, but for
some thousand instructions of this process between two of them, so it cancels when two are
subtracted. A page in a fork takes 0.4 % fewer instructions than in a process of its own.
"""

from __future__ import annotations

import faulthandler
import gc
import os
import sys
from typing import TextIO

from bench import controls
from bench.sides import worker
from bench.sides.protocol import Command, Failed, Ready, decode, encode, send
from crawlers import heap


def command_of(line: str) -> Command:
    command = decode(line)
    if not isinstance(command, Command):
        raise TypeError(f"expected a command, got {line[:80]!r}")
    return command


def serve(commands: TextIO, replies: TextIO) -> int:
    """Get a backend ready, and crawl once for each further command. Exit code 2 without one.

    What this process does between two forks is counted in the second. So it does nothing that
    can wait until it is in the child.
    """
    line = commands.readline()
    if not line:
        return 2
    command = command_of(line)
    heap.settle()  # as in every worker: what is counted must be what is measured
    loaded: tuple[str, worker.Crawl] | None = worker.load(command, worker.make_job(command))
    if command.backend in controls.CONTROLS:
        loaded = None  # it is made for a job, so here only its imports were of use
    ready, out = f"{encode(Ready())}\n".encode(), replies.fileno()
    gc.collect()
    os.write(out, ready)
    while line := commands.readline():
        child = os.fork()
        if child == 0:
            command = command_of(line)
            job = worker.make_job(command)
            family, crawl = loaded or worker.load(command, job)
            worker.measure(command, job, family, crawl, commands, replies)
            return 0
        os.waitpid(child, 0)
        os.write(out, ready)
    return 0


def main() -> int:
    faulthandler.enable()
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    try:
        return serve(sys.stdin, replies)
    except Exception as error:
        send(Failed(f"{type(error).__name__}: {error}"), replies)
        raise


if __name__ == "__main__":
    raise SystemExit(main())
