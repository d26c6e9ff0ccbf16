"""Processes: one for each processor, each running ``callbacks`` on its share of the slots.

What waits and what switches within a process are those of ``callbacks``; the
kernel runs the processes at the same time. What a connection costs is the
same, and each process costs an interpreter. Changed against ``callbacks``:
sockets, parsing and link extraction are spread over processes. The frontier
stays in the parent, which is the simplest way to fetch no page twice however
the site is linked; so every fetch and every link crosses a socket, pickled.

The clock starts when all processes are ready, and what they have spent by then
stands in the report (``start_user_us``, ``start_system_us``). What differs at
the server: nothing; the slots are the same number. What differs for who
measures: the work is done in children of the process that is asked for it. A
program that may use one processor starts one of them, and shows what handing
the work over costs, not what more processors gain.
"""

from __future__ import annotations

import os
import pickle
import resource
import signal
import socket
import struct
import subprocess
import sys
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from copy import copy
from dataclasses import replace
from functools import partial
from selectors import EVENT_READ, EVENT_WRITE
from time import monotonic
from typing import Any, NamedTuple, Protocol

from crawlers import callbacks, http
from crawlers.frontier import Frontier
from crawlers.job import CrawlReport, Fetch, Job, Origin, PageResult
from crawlers.loop import Loop
from crawlers.origins import make_origin
from crawlers.recorder import Recorder
from crawlers.stop import Stop

LENGTH = struct.Struct("!I")
WAIT_S = 5.0
"""How long a process that has been told to end may take, in seconds."""

START = "import sys; from crawlers.variants.processes import main; main(int(sys.argv[1]))"
"""What a process runs: not this file as a script, whose classes would have other names."""

CANCEL = "cancel"


class Ready(NamedTuple):
    """A place can begin: what its start took of a processor, and how it parses."""

    user_s: float
    system_s: float
    parser: str


class Order(NamedTuple):
    """One fetch, on its way to a process; ``number`` is its name there and back."""

    number: int
    url: str
    prefix: str
    tries: int
    due: float
    intended: float


class Outcome(NamedTuple):
    """What came of an order; ``times`` is what is to be recorded, if anything."""

    number: int
    page: PageResult
    times: tuple[int, float, float, float] | None
    ended: float


class Channel:
    """Values to and from another process, over a socket on the loop.

    ``receive`` is called with each, and with None at the end; what is sent
    after that is dropped.
    """

    def __init__(self, loop: Loop, sock: socket.socket, receive: Callable[[Any], None]) -> None:
        self.loop = loop
        self.sock = sock
        self.receive = receive
        self.inward = bytearray()
        self.outward = bytearray()
        self.ended = False
        sock.setblocking(False)
        loop.selector.register(sock, EVENT_READ, self.turn)

    def send(self, value: object) -> None:
        """Send a value; what does not fit goes when there is room."""
        if self.ended:
            return
        data = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
        waiting = bool(self.outward)
        self.outward += LENGTH.pack(len(data)) + data
        if not waiting:
            self.flush()
            if self.outward:
                self.loop.selector.modify(self.sock, EVENT_READ | EVENT_WRITE, self.turn)

    def flush(self) -> None:
        """Send as much as there is room for."""
        with suppress(BlockingIOError, BrokenPipeError, ConnectionResetError):
            while self.outward:
                del self.outward[: self.sock.send(self.outward)]

    def turn(self) -> None:
        """The socket is ready, for one thing or the other."""
        if self.outward:
            self.flush()
            if not self.outward:
                self.loop.selector.modify(self.sock, EVENT_READ, self.turn)
        try:
            data = self.sock.recv(http.RECV_SIZE)
        except BlockingIOError:
            return
        except ConnectionResetError:
            data = b""
        if not data:
            self.ended = True
            self.loop.selector.unregister(self.sock)
            self.receive(None)
            return
        self.inward += data
        while len(self.inward) >= LENGTH.size:
            end = LENGTH.size + LENGTH.unpack_from(self.inward)[0]
            if len(self.inward) < end:
                return
            # From our own child, over a pair of sockets that nobody else has.
            value = pickle.loads(self.inward[LENGTH.size : end])  # nosec B301
            del self.inward[:end]
            self.receive(value)


class Place(Protocol):
    """Where a share of the slots lives, reached over the socket it was made with."""

    def close(self) -> None:
        """See that it ends, now that its socket is closed at our end."""


class Process:
    """A process of its own."""

    def __init__(self, theirs: socket.socket) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", START, str(theirs.fileno())],
            pass_fds=[theirs.fileno()],
            env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )

    def __str__(self) -> str:
        return f"process {self.process.pid}"

    def close(self) -> None:
        """Wait for its end, and kill it when that does not come."""
        try:
            self.process.wait(WAIT_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class Worker:
    """A place, as the parent sees it; ``free`` of its slots have nothing to do."""

    def __init__(
        self, shared: Shared, number: int, slots: int, place: Callable[[socket.socket], Place]
    ) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            self.place = place(theirs)
        self.number = number
        self.free = slots
        self.orders: list[Order] = []
        self.channel = Channel(shared.loop, ours, partial(received, shared, self))
        self.channel.send(
            replace(
                shared.job, urls=shared.job.urls[:1], schedule=None, slots=slots, deadline_s=None
            )
        )

    def close(self) -> None:
        """Let the place end, and see that it does."""
        self.channel.sock.close()
        self.place.close()


class Shared:
    """What the parent knows."""

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
        raise RuntimeError(f"{worker.place} of the crawl has ended too early")
    if isinstance(message, Ready):
        shared.starts.append(message)
        if len(shared.starts) == len(shared.workers):
            shared.loop.stop()
        return
    for outcome in message:
        assert isinstance(outcome, Outcome)
        worker.free += 1
        settle(shared, worker, outcome)
    take(shared)


def settle(shared: Shared, worker: Worker, outcome: Outcome) -> None:
    """Hand an outcome to the frontier."""
    if outcome.times is not None:
        slot, due, started, ended = outcome.times
        number = slot * len(shared.workers) + worker.number
        shared.recorder.record(number, due, started, ended)
    shared.frontier.settle(shared.away.pop(outcome.number), outcome.page, outcome.ended)


def take(shared: Shared) -> None:
    """Order the next fetches, from the least busy processes; stop when the crawl is over."""
    while (worker := max(shared.workers, key=free)).free and (item := shared.frontier.take()):
        shared.numbers += 1
        shared.away[shared.numbers] = item
        worker.free -= 1
        worker.orders.append(
            Order(shared.numbers, item.url, item.origin.prefix, item.tries, item.due, item.intended)
        )
    for worker in shared.workers:
        if worker.orders:
            worker.channel.send(worker.orders)
            worker.orders = []
    if shared.frontier.finished and not shared.away:
        shared.loop.stop()


def free(worker: Worker) -> int:
    """How many slots of a process have nothing to do."""
    return worker.free


def watch(shared: Shared, stop: Stop) -> None:
    """See whether the crawl is to stop; called again and again."""
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
            shared.workers.append(Worker(shared, number, slots, place))
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
    return shared.frontier.report(
        name,
        {
            name: count,
            "selector": type(loop.selector).__name__,
            "parser": shared.starts[0].parser,
            "start_user_us": round(1e6 * sum(ready.user_s for ready in shared.starts)),
            "start_system_us": round(1e6 * sum(ready.system_s for ready in shared.starts)),
        },
    )


def processors() -> int:
    """How many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


# What follows runs in the processes.


class Child:
    """A process's own side: stands for the frontier and the recorder of its slots."""

    def __init__(self, loop: Loop, sock: socket.socket) -> None:
        self.loop = loop
        self.channel = Channel(loop, sock, self.received)
        self.waiting: deque[Fetch] = deque()
        self.numbers: dict[Fetch, int] = {}
        self.origins: dict[str, Origin] = {}
        self.outcomes: list[Outcome] = []
        self.times: tuple[int, float, float, float] | None = None
        self.stopped: str | None = None
        self.finished = False

    job: Job
    slots: callbacks.Shared

    def received(self, message: Job | list[Order] | str | None) -> None:
        """The job comes first, then orders, until the parent closes the socket."""
        if message is None:
            self.loop.stop()
        elif isinstance(message, Job):
            self.begin(message)
        elif isinstance(message, list):
            for order in message:
                self.order(order)
            callbacks.wake(self.slots, len(message))
        else:
            self.stop(message)

    def begin(self, job: Job) -> None:
        """Make the slots, all of them idle; say so by naming the parser that they use."""
        self.job = job
        self.slots = callbacks.Shared(job, self, self.loop)
        self.slots.frontier = self  # type: ignore[assignment]
        self.slots.idle = list(self.slots.slots)
        callbacks.watch(self.slots, Stop(job))
        # This thread: the only one of a process, and the one of an interpreter that is ours.
        spent = resource.getrusage(getattr(resource, "RUSAGE_THREAD", resource.RUSAGE_SELF))
        self.channel.send(Ready(spent.ru_utime, spent.ru_stime, http.PARSER))

    def order(self, order: Order) -> None:
        """Take in an order."""
        if order.prefix not in self.origins:
            self.origins[order.prefix] = make_origin(order.prefix, self.job)
        origin = self.origins[order.prefix]
        if order.due != order.intended:  # another try, on a connection of its own
            origin = copy(origin)
        item = Fetch(order.url, origin, order.url[len(order.prefix) :])
        item.tries, item.due, item.intended = order.tries, order.due, order.intended
        self.numbers[item] = order.number
        self.waiting.append(item)

    def flush(self) -> None:
        """Send the outcomes of this turn of the loop."""
        outcomes, self.outcomes = self.outcomes, []
        self.channel.send(outcomes)

    # What follows is what a slot asks of a frontier and of a recorder.

    @property
    def ready(self) -> int:
        """How many fetches could be taken now."""
        return len(self.waiting)

    def take(self) -> Fetch | None:
        """The next fetch, or None when there is none now."""
        return self.waiting.popleft() if self.waiting else None

    def record(self, slot: int, due: float, started: float, ended: float) -> None:
        """Keep the times until the outcome follows."""
        self.times = slot, due, started, ended

    def settle(self, item: Fetch, page: PageResult, now: float) -> None:
        """Note an outcome, for the parent."""
        times, self.times = self.times, None
        if not self.outcomes:
            self.loop.call_soon(self.flush)
        self.outcomes.append(Outcome(self.numbers.pop(item), page, times, now))

    def stop(self, reason: str) -> None:
        """Cancel what is in flight, and what waits."""
        self.stopped = reason
        while item := self.take():
            page = PageResult(None, 0, 0)
            page.error = "cancelled"
            self.settle(item, page, monotonic())
        for slot in self.slots.slots:
            slot.abort("cancelled")


def main(descriptor: int) -> None:
    """Run a process, on the socket that it was given."""
    # Ctrl-C at a terminal reaches the children too; the parent decides.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with socket.socket(fileno=descriptor) as sock:
        serve(sock)


def serve(sock: socket.socket) -> None:
    """Do as the parent says over this socket, until it is closed."""
    loop = Loop()
    try:
        Child(loop, sock)
        loop.run()
    finally:
        loop.close()
