"""Partition: processes as in ``processes``, each with a share of the frontier of its own.

Within a process, the things that wait and that switch are those of ``callbacks``. A
connection costs the same as there, and each process costs an interpreter and a part of
the frontier. Changed against ``processes``: a URL belongs to one process, by a stable
hash, as the kernel deals connections out to processes that listen with SO_REUSEPORT.
The process fetches it, parses it, and keeps its outcome to the end. Only links that
belong to another process cross a socket, through the parent, once from each process
that finds them. A list without links is dealt out like cards, and nothing crosses.

A hash is fair only on average. So a process whose slots are idle is given URLs of one
that has no slot for them; this happens where there is little left to fetch. The
crawl is over when all processes have told the parent that they have nothing left, and
have heard everything that it passed on to them.

The clock starts when all processes are ready, and stops when the parent has every
outcome: to collect them is part of the price. The processor time of the start is in the
report, as in ``processes``. The server sees no difference. On one processor there is one
process. On other machines, all URLs of a server belong to one process, which keeps the
time between requests. A limit of pages is divided among the processes, so a crawl may
end below it.
"""

from __future__ import annotations

from functools import partial
from selectors import EVENT_READ
from socket import socketpair
from time import monotonic

from crawlers.frontier import Frontier
from crawlers.job import CrawlReport, Job, JobError
from crawlers.loop import Loop
from crawlers.recorder import Recorder
from crawlers.stop import Stop
from crawlers.variants._channel import CANCEL, Channel, Ready
from crawlers.variants._share import OVER, Ask, Begin, Result, Times, Told
from crawlers.variants.processes import Process, mechanism, processors

START = "import sys; from crawlers.variants._share import main; main(int(sys.argv[1]))"
"""What a process runs."""


class Whole(Frontier):
    """The frontier of the whole crawl: it refuses bad jobs, and has all outcomes in the end."""

    missed = 0

    @property
    def left(self) -> int:
        """How many URLs were found but not fetched, in all processes."""
        return self.missed

    def add(self, part: Result) -> None:
        """Add the outcomes of a process."""
        self.rows |= part.rows
        self._spent |= part.spent
        self.retries += part.retries
        self.missed += part.left
        self._beyond += part.beyond

    def end(self, now: float) -> None:
        """Stop the clock."""
        self._now = now


class Worker:
    """A process as the parent sees it.

    ``sent`` parcels have gone there, ``told`` is the last that it said, ``idle`` its slots
    without work, and ``asked`` whether it owes an answer.
    """

    def __init__(self, shared: Shared, number: int, slots: int, count: int) -> None:
        ours, theirs = socketpair()
        with theirs:
            self.place = Process(theirs, START)
        self.number = number
        self.sent = 0
        self.idle = 0
        self.asked = False
        self.told: Told | None = None
        self.result: Result | None = None
        self.channel = Channel(shared.loop, ours, partial(received, shared, self))
        self.channel.send(Begin(shared.job, number, count, slots))

    @property
    def quiet(self) -> bool:
        """Whether it has nothing left, and nothing is under way to it."""
        return self.told is not None and self.told.quiet and self.told.heard == self.sent

    def close(self) -> None:
        """Let the process end, and wait for it."""
        self.channel.sock.close()
        self.place.close()


class Shared:
    """What the parent keeps."""

    def __init__(self, job: Job, recorder: Recorder, loop: Loop) -> None:
        self.job = job
        self.recorder = recorder
        self.frontier = Whole(job)
        self.loop = loop
        self.workers: list[Worker] = []
        self.starts: list[Ready] = []
        self.over = False


def received(
    shared: Shared, worker: Worker, message: Ready | Told | list[Times] | Result | None
) -> None:
    """A process is ready, tells something, sends times or its result, or has ended."""
    if isinstance(message, Told):
        told(shared, worker, message)
    elif isinstance(message, list):
        record(shared, worker, message)
    elif isinstance(message, Ready):
        shared.starts.append(message)
        if len(shared.starts) == len(shared.workers):
            shared.loop.stop()
    elif message is not None:
        record(shared, worker, message.times)
        shared.frontier.add(message)
        worker.result = message
        if all(each.result for each in shared.workers):
            shared.frontier.end(monotonic())
            shared.loop.stop()
    elif worker.result is None:
        raise RuntimeError(f"{worker.place} of the crawl has ended too early")


def record(shared: Shared, worker: Worker, times: list[Times]) -> None:
    """Give times to the recorder, with slots that are numbered over all processes."""
    for slot, due, started, ended in times:
        number = slot * len(shared.workers) + worker.number
        shared.recorder.record(number, due, started, ended)


def told(shared: Shared, worker: Worker, message: Told) -> None:
    """Pass on what a process has found for others; see whether that was the last."""
    worker.told = message
    worker.idle = message.idle
    if message.answers:
        worker.asked = False
    for number, parcel in message.away.items():
        other = shared.workers[number]
        other.sent += 1
        other.idle = 0  # it will say what is left of them
        other.channel.send(parcel)
    if all(each.quiet for each in shared.workers):
        if not shared.over:
            shared.over = True
            for each in shared.workers:
                each.channel.send(OVER)
    elif shared.frontier.stopped is None:
        balance(shared)


def balance(shared: Shared) -> None:
    """Ask processes that have URLs without a slot to give them to those with idle slots."""
    spare = [each for each in shared.workers if each.told and each.told.spare and not each.asked]
    for worker, other in zip((each for each in shared.workers if each.idle), spare, strict=False):
        other.asked = True
        other.channel.send(Ask(worker.number, worker.idle))


def watch(shared: Shared, stop: Stop) -> None:
    """Check whether the crawl must stop; called at every tick."""
    now = monotonic()
    if shared.frontier.stopped is None and not shared.over and (reason := stop.reason(now)):
        shared.frontier.stop(reason)
        for worker in shared.workers:
            worker.channel.send(CANCEL)
    shared.loop.call_at(now + stop.tick_s, partial(watch, shared, stop))


def crawl(job: Job, recorder: Recorder) -> CrawlReport:
    """Crawl with one process for each processor that this one may use.

    Raises :class:`JobError` for a job with a limit of depth: a process does not know how
    deep another one has found a link.
    """
    if job.max_depth is not None:
        raise JobError("backend partition has no max_depth: its processes go on without a depth")
    count = min(job.slots, processors())
    starting, loop = Loop(), Loop()
    shared = Shared(job, recorder, starting)
    try:
        for number in range(count):
            slots = len(range(number, job.slots, count))
            shared.workers.append(Worker(shared, number, slots, count))
        starting.run()
        shared.loop = loop
        with Stop(job) as stop:
            start = monotonic()
            shared.frontier.start(start)
            for worker in shared.workers:
                worker.channel.loop = loop
                loop.selector.register(worker.channel.sock, EVENT_READ, worker.channel.turn)
                worker.channel.send(start)
            watch(shared, stop)
            loop.run()
    finally:
        for worker in shared.workers:
            worker.close()
        starting.close()
        loop.close()
    return shared.frontier.report("partition", mechanism("processes", loop, shared.starts))
