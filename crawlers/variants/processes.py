"""Processes: one for each processor, each running ``callbacks`` on its share of the slots.

Within a process, the things that wait and that switch are those of
``callbacks``, and the kernel runs the processes at the same time. A connection
costs the same as there, and each process costs an interpreter. Changed against
``callbacks``: sockets, parsing and link extraction are spread over processes.
The frontier stays in the parent, which is the simplest way to fetch no page
twice on any site. So every fetch and every link crosses a socket, pickled.

The clock starts when all processes are ready. The processor time they have used
by then is in the report (``start_user_us``, ``start_system_us``). The server sees
no difference: the number of slots is the same. To measure this backend, count
the children too, because they do the work. A program that may use only one
processor starts one process, and then shows the cost of handing the work over,
not the gain from more processors.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from operator import attrgetter
from selectors import EVENT_READ
from time import monotonic
from typing import Protocol

from crawlers.frontier import Frontier
from crawlers.job import CrawlReport, Fetch, Job, JobError
from crawlers.loop import Loop
from crawlers.recorder import Recorder
from crawlers.stop import Stop
from crawlers.variants._channel import CANCEL, Channel, Order, Outcome, Ready

WAIT_S = 5.0
"""Seconds that a process may take to end after its socket was closed."""

START = "import sys; from crawlers.variants._child import main; main(int(sys.argv[1]))"
"""What a process runs."""

free = attrgetter("free")
"""How many slots of a process are idle."""


class Place(Protocol):
    """A process or interpreter that runs a share of the slots."""

    def close(self) -> None:
        """Wait for its end; its socket is closed at our end."""


class Process:
    """A process of its own; it runs :data:`START`."""

    def __init__(self, theirs: socket.socket) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-c", START, str(theirs.fileno())],
            pass_fds=[theirs.fileno()],
            env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )

    def __str__(self) -> str:
        return f"process {self.process.pid}"

    def close(self) -> None:
        """Wait for its end, and kill it if it takes too long."""
        try:
            self.process.wait(WAIT_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class Worker:
    """A place as the parent sees it; ``free`` is the number of its idle slots."""

    def __init__(
        self, shared: Shared, number: int, slots: int, place: Callable[[socket.socket], Place]
    ) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                self.place = place(theirs)
            except (OSError, RuntimeError):
                ours.close()
                raise
        self.number = number
        self.free = slots
        self.orders: list[Order] = []
        self.channel = Channel(shared.loop, ours, partial(received, shared, self))
        self.channel.send(
            replace(
                shared.job,
                urls=shared.job.urls[:1],
                schedule=None,
                slots=slots,
                deadline_s=None,
                polite=False,  # the frontier has manners, and it is not there
            )
        )

    def close(self) -> None:
        """Let the place end, and wait for it."""
        self.channel.sock.close()
        self.place.close()


class Shared:
    """What the parent keeps."""

    def __init__(self, job: Job, recorder: Recorder, loop: Loop) -> None:
        self.job = job
        self.recorder = recorder
        self.frontier = Frontier(job)
        self.loop = loop
        self.workers: list[Worker] = []
        self.starts: list[Ready] = []
        self.numbers = 0
        self.away: dict[int, Fetch] = {}


def received(shared: Shared, worker: Worker, message: list[Outcome] | Ready | None) -> None:
    """A process is ready, has outcomes, or has ended."""
    if message is None:
        raise ChildProcessError(
            f"{worker.place} of the crawl has ended too early: it ran out of memory, or somebody "
            "ended it"
        )
    if isinstance(message, Ready):
        shared.starts.append(message)
        if len(shared.starts) == len(shared.workers):
            shared.loop.stop()
        return
    for outcome in message:
        assert isinstance(outcome, Outcome)
        worker.free += 1
        finish(shared, worker, outcome)
    take(shared)


def finish(shared: Shared, worker: Worker, outcome: Outcome) -> None:
    """Hand an outcome to the frontier."""
    if outcome.times is not None:
        slot, due, started, ended = outcome.times
        number = slot * len(shared.workers) + worker.number
        shared.recorder.record(number, due, started, ended)
    item = shared.away.pop(outcome.number)
    if not outcome.connected:
        item.place = None
    shared.frontier.settle(item, outcome.page, outcome.ended)


def take(shared: Shared) -> None:
    """Order the next fetches from the least busy processes; stop when the crawl is over."""
    while (worker := max(shared.workers, key=free)).free and (item := shared.frontier.take()):
        shared.numbers += 1
        shared.away[shared.numbers] = item
        worker.free -= 1
        worker.orders.append(
            Order(
                shared.numbers,
                item.url,
                item.origin.prefix,
                item.robots,
                item.address if len(item.origin.addresses) > 1 else None,
                item.stale or item.tries > 1,
                item.due,
                item.intended,
            )
        )
    for worker in shared.workers:
        if worker.orders:
            worker.channel.send(worker.orders)
            worker.orders = []
    if shared.frontier.finished and not shared.away:
        shared.loop.stop()


def watch(shared: Shared, stop: Stop) -> None:
    """Check whether the crawl must stop; called at every tick."""
    now = monotonic()
    if shared.frontier.stopped is None and (reason := stop.reason(now)):
        shared.frontier.stop(reason)
        for worker in shared.workers:
            worker.channel.send(CANCEL)
        take(shared)
    shared.loop.call_at(now + stop.tick_s, partial(watch, shared, stop))


def crawl(job: Job, recorder: Recorder) -> CrawlReport:
    """Crawl with one process for each processor that this one may use."""
    return run("processes", Process, job, recorder)


def run(
    name: str, place: Callable[[socket.socket], Place], job: Job, recorder: Recorder
) -> CrawlReport:
    """Crawl with one place for each processor that this process may use."""
    count = min(job.slots, processors())
    starting, loop = Loop(), Loop()
    shared = Shared(job, recorder, starting)
    try:
        for number in range(count):
            slots = len(range(number, job.slots, count))
            try:
                shared.workers.append(Worker(shared, number, slots, place))
            except (OSError, RuntimeError) as error:
                raise JobError(
                    f"this system starts no {count} {name}: {error}; raise ulimit -u or -v, or "
                    "allow fewer processors (taskset)"
                ) from error
        starting.run()
        shared.loop = loop
        for worker in shared.workers:
            worker.channel.loop = loop
            loop.selector.register(worker.channel.sock, EVENT_READ, worker.channel.turn)
        with Stop(job) as stop:
            shared.frontier.start(monotonic())
            loop.call_soon(partial(take, shared))
            watch(shared, stop)
            loop.run()
    finally:
        for worker in shared.workers:
            worker.close()
        starting.close()
        loop.close()
    starts = shared.starts
    mechanism: dict[str, str | int] = {
        name: len(starts),
        "selector": type(loop.selector).__name__,
        "parser": starts[0].parser,
        "start_user_us": round(1e6 * sum(ready.user_s for ready in starts)),
        "start_system_us": round(1e6 * sum(ready.system_s for ready in starts)),
    }
    return shared.frontier.report(name, mechanism)


def processors() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0))
