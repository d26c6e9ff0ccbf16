"""One crawl under an instrument, checked like any trial."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

from bench.costs.instruments import Counts, Instrument
from bench.launch import OWN_PYTHON
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
    python: Sequence[str] = OWN_PYTHON


def count(backend: str, point: Point, instrument: Instrument, seed: int, place: Place) -> Counts:
    """What one crawl took, from the start of the worker to its end.

    Raises :class:`CrawlError` when the crawl failed, or was not correct.
    """
    worker = WorkerProcess(
        f"the worker under {instrument.tool}" if instrument.slowness > 1 else "the worker",
        python=[*instrument.wrap(place.scratch), *place.python],
        hash_seed=seed,
        extra_environment=instrument.environment,
    )
    with worker:
        try:
            result, counts = crawl(worker, backend, point, instrument, place)
            ledger = place.server.ledger()
            if reason := judge.void_reason(point, result, ledger, place.server.digest):
                raise CrawlError(reason, void=True)
            worker.end(ENDING_S)
            if instrument.name == "kernel":
                return {**of_the_kernel(result), **place.server.traffic()}
            return counts or instrument.results(place.scratch)
        except TimeoutError:
            worker.abort()
            raise CrawlError("no result in time; the worker was ended") from None
        except (ProcessError, WorkerError, ServerError, ValueError) as error:
            worker.end(0.5)
            last = (worker.stderr_tail() or "").splitlines()[-1:]
            raise CrawlError(": ".join([str(error), *last])) from None


def crawl(
    worker: WorkerProcess, backend: str, point: Point, instrument: Instrument, place: Place
) -> tuple[Result, Counts]:
    """Run the crawl; with the counts of an instrument that was attached to it."""
    deadline_s = CRAWL_S * instrument.slowness
    worker.command(
        Command(
            backend=backend,
            prefix=place.server.prefix,
            warmup_prefix=place.warmup.prefix,
            urls=point.urls,
            slots=point.slots,
            timeout_s=deadline_s,
            schedule=None,
            switch_interval_s=switch_interval_s(instrument),
            recorder="times",
            out=str(place.scratch / "times"),
            watch_parent=sys.platform != "linux",
        )
    )
    worker.ready(READY_S * instrument.slowness)
    place.server.reset()
    with instrument.attach(worker.pid) if instrument.attach else nullcontext() as counter:
        worker.go()
        result = worker.result(time.monotonic() + deadline_s)
        return result, {"instructions": counter.read()} if counter else {}


def switch_interval_s(instrument: Instrument) -> float | None:
    """How long a thread waits for the interpreter's lock before it asks for it; None: as usual.

    The 5 ms are a time, which a tool does not slow. A hundred threads that wait for one that is
    40 times slower would ask 40 times as often for each page.
    """
    return None if instrument.slowness == 1 else sys.getswitchinterval() * instrument.slowness


def of_the_kernel(result: Result) -> Counts:
    """What the worker read about itself."""
    return {"switches": result.switches_voluntary, "page_faults": result.page_faults}
