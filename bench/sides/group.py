"""A child of this process and everything in its process group, as one thing to stop."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path

from bench.machine import cpu

MOST_TASKS = 8
"""A group with more threads than this has many: see :func:`bench.run.turns.take_turn`.

It is not asked how long they waited, either: they wait for each other most of the time.
"""


class GroupEndedError(Exception):
    """A process ended while it was having its turn, or waiting for it."""


class Group:
    """``pid`` leads the group, and is a child of this process."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.threads = 1
        self._members = [pid]
        self._waits: list[str] | None = None

    @property
    def many(self) -> bool:
        """Whether it has so many threads that stopping them takes a part of a turn."""
        return self.threads > MOST_TASKS

    def stop(self) -> None:
        """Stop every process of the group; returns when the child itself has stopped.

        Raises :class:`GroupEndedError` when the child has ended instead.
        """
        with self._first_in_line() if self.many else nullcontext():
            self._stop()

    def _stop(self) -> None:
        try:
            os.kill(-self.pid, signal.SIGSTOP)
            # WNOWAIT, so that the process that started the child can still collect its exit.
            ended = os.waitid(os.P_PID, self.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
            if ended is None or ended.si_code not in (os.CLD_STOPPED, os.CLD_TRAPPED):
                raise GroupEndedError
            os.waitid(os.P_PID, self.pid, os.WSTOPPED)
        except (ProcessLookupError, ChildProcessError):
            raise GroupEndedError from None

    @contextmanager
    def _first_in_line(self) -> Iterator[None]:
        """Let the child's main thread have the processor at once, where the harness may.

        That thread takes the signal and passes it on. With many others waiting for the processor,
        it waited for up to 280 ms, and they went on crawling meanwhile.
        """
        self._schedule(os.SCHED_FIFO, 1)
        try:
            yield
        finally:
            self._schedule(os.SCHED_OTHER, 0)

    def _schedule(self, policy: int, priority: int) -> None:
        """Set the policy of the main thread and of nothing that it starts."""
        with suppress(OSError):
            alone = policy | os.SCHED_RESET_ON_FORK
            os.sched_setscheduler(self.pid, alone, os.sched_param(priority))

    def resume(self) -> None:
        with suppress(ProcessLookupError):
            os.kill(-self.pid, signal.SIGCONT)

    def look_for_children(self) -> None:
        """Find the child's own children, whose processor time belongs to it, and all threads."""
        self._members = [self.pid]
        for pid in self._members:
            with suppress(OSError):
                # Each thread lists those that it started; of a crowd the first will do.
                for task in os.listdir(f"/proc/{pid}/task")[:MOST_TASKS]:
                    text = Path(f"/proc/{pid}/task/{task}/children").read_text(encoding="ascii")
                    self._members += map(int, text.split())
        self._waits = self._find_waits()

    def _find_waits(self) -> list[str] | None:
        """The files with the waits of all threads; None if unknown, or too many.

        Counts the threads on the way.
        """
        files: list[str] = []
        for pid in self._members:
            try:
                tasks = os.listdir(f"/proc/{pid}/task")
            except OSError:
                return None
            files += [f"/proc/{pid}/task/{task}/schedstat" for task in tasks]
        self.threads = len(files)
        return None if self.many else files

    def wait_s(self) -> float | None:
        """Seconds that the group's threads could have run so far and had no processor.

        Read in the kernel's run queues; None where it does not say, or with many threads.
        """
        try:
            fields = [Path(file).read_text(encoding="ascii").split() for file in self._waits or ()]
        except OSError:
            return None
        return sum(int(row[1]) for row in fields) / 1e9 if fields else None

    def cpu_s(self) -> float:
        """Seconds of processor time of all members, and of children that have ended.

        The latter in ticks of 10 ms, and not with many threads: the kernel would add them all up.
        """
        ended_s = 0.0 if self.many else sum(map(cpu.ended_s, self._members))
        return ended_s + sum(cpu.total_clock(pid) or 0.0 for pid in self._members)
