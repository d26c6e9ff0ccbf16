"""Runs tasks, several at a time: each lane has servers and a folder of its own."""

from __future__ import annotations

import queue
import tempfile
import threading
from collections import deque
from collections.abc import Generator, Sequence
from contextlib import suppress
from pathlib import Path

from bench.costs.crawls import Counted, CrawlError, Place
from bench.costs.record import CostsError, Sample
from bench.costs.sites import Sites
from bench.costs.tasks import Task
from bench.launch import OWN_PYTHON
from bench.run.servers import ServerError


class Lane(threading.Thread):
    """Takes tasks until there are none left, and gives their samples to a queue.

    A task that is done is put there as well, then None when the lane ends, or the error that
    ended it. The children of a lane die with its thread.
    """

    def __init__(
        self,
        tasks: deque[Task],
        slots: int,
        found: queue.Queue[Sample | Task | BaseException | None],
        python: Sequence[str],
    ) -> None:
        super().__init__(daemon=True)
        self._tasks, self._slots, self._found, self._python = tasks, slots, found, python
        self._stopped = threading.Event()
        self._current: Counted | None = None

    def run(self) -> None:
        """Work."""
        try:
            with (
                tempfile.TemporaryDirectory(prefix="c10k-") as folder,
                Sites(self._slots) as sites,
            ):
                while not self._stopped.is_set():
                    try:
                        task = self._tasks.popleft()
                    except IndexError:
                        break
                    self._work(task, sites, Path(folder))
                    self._found.put(task)
        except BaseException as error:
            self._found.put(error)
        else:
            self._found.put(None)

    def stop(self) -> None:
        """End soon; for another thread. What is being counted is lost."""
        self._stopped.set()
        if (current := self._current) is not None:
            current.stop()

    def _work(self, task: Task, sites: Sites, scratch: Path) -> None:
        with Counted(task.backend, task.instrument, task.seed, scratch, self._python) as counted:
            self._current = counted
            if self._stopped.is_set():
                return
            for workload in task.workloads:
                sample = take(task, workload, counted, sites, scratch)
                if self._stopped.is_set():
                    return
                self._found.put(sample)
        self._current = None


def take(task: Task, workload: str, counted: Counted, sites: Sites, scratch: Path) -> Sample:
    """One sample: the counts of N and of 2 N pages, or why there are none."""
    made = Sample(
        backend=task.backend,
        workload=workload,
        instrument=task.instrument.name,
        seed=task.seed,
        pages=task.pages * task.repeats,
        status="ok",
    )
    try:
        small, large = (
            counted.count(site.point, Place(site.server, sites.warmup, scratch))
            for site in sites.pair(workload, task.pages)
        )
    except CrawlError as error:
        status = "void" if error.void else "failed"
        return made.model_copy(update={"status": status, "reason": str(error)})
    costs = {cost: (small.get(cost, 0), large.get(cost, 0)) for cost in {**small, **large}}
    return made.model_copy(update={"counts": costs})


def run(
    tasks: Sequence[Task], slots: int, jobs: int, python: Sequence[str] = OWN_PYTHON
) -> Generator[Sample | Task, None, None]:
    """Every sample as it comes, and each task when it is done.

    Raises :class:`CostsError` without the fixture server. When the generator is closed, or a
    signal comes, what runs is ended.
    """
    waiting = deque(tasks)
    found: queue.Queue[Sample | Task | BaseException | None] = queue.Queue()
    lanes = [Lane(waiting, slots, found, python) for _ in range(min(jobs, len(tasks)))]
    for lane in lanes:
        lane.start()
    left = len(lanes)
    try:
        while left:
            each = found.get()
            if isinstance(each, ServerError):
                raise CostsError(str(each))
            if isinstance(each, BaseException):
                raise each
            if each is None:
                left -= 1
            else:
                yield each
    finally:
        for lane in lanes:
            lane.stop()
        with suppress(KeyboardInterrupt):  # a second one ends the wait
            for lane in lanes:
                lane.join()
