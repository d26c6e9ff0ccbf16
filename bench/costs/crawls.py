"""Crawls under an instrument, each checked like any trial."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from bench import controls
from bench.launch import OWN_PYTHON
from bench.machine.instruments import Counts, Instrument
from bench.plan.labels import Label
from bench.plan.tls import Way
from bench.plan.workloads import Point
from bench.run import judge
from bench.run.process import ProcessError
from bench.run.protocol import Command, Result
from bench.run.servers import Server, ServerError
from bench.run.workers import WorkerError, WorkerProcess

READY_S = 20.0
"""How long a worker may take to start and warm up, for an instrument that does not slow it."""

CRAWL_S = 20.0
"""How long a crawl may take, by the same standard: a hundred times what it should."""

ENDING_S = 60.0
"""An instrument writes its counts when the worker ends."""


class CrawlError(Exception):
    """A crawl gave no counts; the message says why. ``void``: it was wrong, it did not fail."""

    def __init__(self, reason: str, *, void: bool = False) -> None:
        super().__init__(reason)
        self.void = void


@dataclass(frozen=True, slots=True)
class Place:
    """Where a crawl runs: the servers of its site and of the warm-up, and a folder for files."""

    server: Server
    warmup: Server
    scratch: Path


class Counted:
    """One backend with one hash seed under one instrument.

    With an instrument that wraps the worker, each crawl runs in a fork of one process
    (:mod:`bench.costs.forking`); otherwise in a fresh worker.
    """

    def __init__(
        self,
        backend: str,
        instrument: Instrument,
        seed: int,
        scratch: Path,
        python: Sequence[str] = OWN_PYTHON,
    ) -> None:
        self._backend, self._instrument, self._seed = backend, instrument, seed
        self._scratch, self._python = scratch, python
        self._worker: WorkerProcess | None = None
        self._stopped = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._close()

    def stop(self) -> None:
        """Kill what runs; for another thread."""
        self._stopped = True
        self._kill()

    def count(self, point: Point, place: Place) -> Counts:
        """What one crawl took.

        Raises :class:`CrawlError` when the crawl failed, or was not correct. The process is then
        gone, and the next crawl starts another.
        """
        try:
            return (
                self._forked(point, place) if self._instrument.forks else self._fresh(point, place)
            )
        except TimeoutError:
            if self._worker is not None:
                self._worker.abort()
            self._close()
            raise CrawlError("no result in time; the worker was ended") from None
        except (ProcessError, WorkerError, ServerError, ValueError) as error:
            last = self._last_words()
            self._close()
            raise CrawlError(": ".join([str(error), *last])) from None
        except CrawlError:
            self._close()
            raise

    def _fresh(self, point: Point, place: Place) -> Counts:
        """A crawl in a worker of its own."""
        worker = self._worker = self._start("bench.run.worker")
        try:
            worker.command(self._command(point, place))
            result, counts = self._crawl(point, place)
            worker.end(ENDING_S)
            if self._instrument.name == "kernel":
                return {**of_the_kernel(result), **place.server.traffic()}
            return counts or self._instrument.results(self._scratch)
        finally:
            if sys.exc_info()[0] is None:
                self._close()

    def _forked(self, point: Point, place: Place) -> Counts:
        """A crawl in a fork of the process, which is started by the first."""
        command = self._command(point, place)
        if self._worker is None:
            self._worker = self._start("bench.costs.forking")
            self._worker.command(command)
            self._worker.ready(READY_S * self._instrument.slowness)
        others = self._instrument.files(self._scratch)
        self._worker.command(command)
        self._crawl(point, place)
        self._worker.ready(ENDING_S * self._instrument.slowness)
        return self._instrument.results(self._scratch, others)

    def _start(self, module: str) -> WorkerProcess:
        tool = self._instrument.tool
        if self._stopped:
            raise CrawlError("stopped")
        for left in self._instrument.files(self._scratch):
            left.unlink()
        return WorkerProcess(
            f"the worker under {tool}" if self._instrument.slowness > 1 else "the worker",
            python=[*self._instrument.wrap(self._scratch), *self._python],
            hash_seed=self._seed,
            extra_environment=self._instrument.environment,
            module=module,
        )

    def _command(self, point: Point, place: Place) -> Command:
        return Command(
            backend=self._backend,
            prefix=place.server.prefix,
            warmup_prefix=place.warmup.prefix,
            urls=point.urls,
            slots=point.slots,
            timeout_s=CRAWL_S * self._instrument.slowness,
            schedule=None,
            switch_interval_s=switch_interval_s(self._instrument),
            recorder="times",
            out=str(place.scratch / "times"),
            watch_parent=sys.platform != "linux",
            keep_alive=self._way(point).keep_alive,
        )

    def _crawl(self, point: Point, place: Place) -> tuple[Result, Counts]:
        """Wait for the worker, start the crawl, check it; with what an attached counter counted."""
        worker, instrument = self._worker, self._instrument
        assert worker is not None, "nothing was started"
        worker.ready(READY_S * instrument.slowness)
        place.server.reset()
        with instrument.attach(worker.pid) if instrument.attach else nullcontext() as counter:
            worker.go()
            result = worker.result(time.monotonic() + CRAWL_S * instrument.slowness)
            counts = {"instructions": counter.read()} if counter else {}
        control = self._backend if self._backend in controls.CONTROLS else None
        ledger = place.server.ledger()
        digest, way = place.server.digest, self._way(point)
        if reason := judge.void_reason(point, result, ledger, digest, control, way):
            raise CrawlError(reason, void=True)
        return result, counts

    def _way(self, point: Point) -> Way:
        """How the pages are fetched: a workload that is counted has one mode at most."""
        return point.way(Label(self._backend, mode=next(iter(point.modes), "")))

    def _last_words(self) -> list[str]:
        """The last line of what the worker said, if it said anything."""
        if self._worker is None:
            return []
        self._worker.end(0.5)
        return (self._worker.stderr_tail() or "").splitlines()[-1:]

    def _kill(self) -> None:
        """Kill the worker, its forks and its tool: they are one group of processes."""
        if self._worker is not None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._worker.pid, signal.SIGKILL)

    def _close(self) -> None:
        worker, self._worker = self._worker, None
        if worker is not None:
            worker.end()
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(worker.pid, signal.SIGKILL)  # a fork that hangs
            worker.close(0.0)


def switch_interval_s(instrument: Instrument) -> float | None:
    """How long a thread waits for the interpreter's lock before it asks for it; None: as usual.

    The 5 ms are a time, which a tool does not slow. A hundred threads that wait for one that is
    40 times slower would ask 40 times as often for each page.
    """
    return None if instrument.slowness == 1 else sys.getswitchinterval() * instrument.slowness


def of_the_kernel(result: Result) -> Counts:
    """What the worker read about itself."""
    return {"switches": result.switches_voluntary, "page_faults": result.page_faults}
