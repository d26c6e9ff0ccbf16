"""The other side of ``partition``: what runs in each process, with its share of the frontier.

The slots are those of ``callbacks``, on the frontier below, which keeps the URLs of this
process and collects those of the others for the parent to pass on.
"""

from __future__ import annotations

import resource
import signal
import socket
from collections import Counter, deque
from contextlib import suppress
from dataclasses import replace
from typing import NamedTuple
from zlib import crc32

from crawlers import callbacks, http
from crawlers.frontier import Frontier, Step
from crawlers.job import Fetch, Job, Origin, PageResult
from crawlers.loop import Loop
from crawlers.origins import make_origin
from crawlers.stop import Stop
from crawlers.variants._channel import CANCEL, Channel, Ready

OVER = "over"
"""The parent's message after which a process sends its result and ends."""

AT_ONCE = 64
"""Times are sent so many at once, because each message wakes the parent."""

Times = tuple[int, float, float, float]
"""The arguments for a recorder."""


class Begin(NamedTuple):
    """The first message to a process: the job, its number of so many, and its slots."""

    job: Job
    number: int
    processes: int
    slots: int


class Parcel(NamedTuple):
    """URLs for another process.

    The receiver fetches ``links`` if they are new, and takes ``steps`` of redirects as
    its frontier takes its own. It fetches ``given`` for the sender, which knows that
    they are new and has no slot for them.
    """

    links: list[str]
    steps: list[Step]
    given: list[str]


class Ask(NamedTuple):
    """A process is asked to give up to so many URLs to another one, whose slots are idle."""

    number: int
    most: int


class Told(NamedTuple):
    """What changed in a process, after ``heard`` parcels had come.

    ``quiet`` means that it has nothing left to fetch; ``idle`` slots have nothing to do;
    ``spare`` URLs wait for a slot. ``answers`` says that this follows the parent's question.
    """

    heard: int
    quiet: bool
    idle: int
    spare: bool
    answers: bool
    away: dict[int, Parcel]


class Result(NamedTuple):
    """All that a process has at the end."""

    rows: dict[str, PageResult]
    spent: dict[str, str]
    retries: int
    left: int
    beyond: Counter[str]
    times: list[Times]


class Share(Frontier):
    """The URLs of one process, found by a stable hash. Sans-IO, as every frontier.

    A list without links is dealt out like cards, and URLs on other machines by their
    server, because only one process can keep the time between requests to it. It never
    ends by itself, because links may come from another process.
    """

    def __init__(self, job: Job, number: int, count: int) -> None:
        self.number = number
        self.count = count
        self.away: dict[int, Parcel] = {}
        self._by_server = job.any_host and job.polite
        super().__init__(job, self._resolve_mine)
        urls, due = list(self._pending), list(self._due)
        mine = [place for place, url in enumerate(urls) if self._dealt(place, url) == number]
        self._pending = deque(urls[place] for place in mine)
        self._due = deque(due[place] for place in mine if place < len(due))
        self._room /= count

    @property
    def finished(self) -> bool:
        """Never: the parent knows when there is nothing left in any process."""
        return False

    @property
    def spare(self) -> int:
        """How many URLs could be given away."""
        return 0 if self._paced or self.stopped else len(self._pending)

    def owner(self, url: str) -> int:
        """The number of the process that this URL belongs to."""
        key = url[: url.find("/", 8)] if self._by_server else url
        return crc32(key.encode("utf-8", "surrogatepass")) % self.count

    def take_in(self, parcel: Parcel) -> None:
        """Take what another process has found."""
        self._follow(PageResult(None, 0, 0), parcel.links)
        for step in parcel.steps:
            self._redirect(*step)
        self._pending.extend(parcel.given)

    def give(self, number: int, count: int) -> int:
        """Give up to so many URLs that wait to another process; returns how many.

        Not those with a reduced budget for redirects, which only their owner knows.
        """
        given: list[str] = []
        for _ in range(self.spare):
            url = self._pending.pop()
            if len(given) < count and url not in self._reduced:
                given.append(url)
            else:
                self._pending.appendleft(url)
            if len(given) == count:
                break
        if given:
            self.parcel(number).given.extend(given)
        return len(given)

    def parcel(self, number: int) -> Parcel:
        """What goes to this process next."""
        return self.away.setdefault(number, Parcel([], [], []))

    def result(self, times: list[Times]) -> Result:
        """All that the parent needs."""
        return Result(self.rows, self._spent, self.retries, self.left, self._beyond, times)

    def _dealt(self, place: int, url: str) -> int:
        dealt = not (self._job.follow or self._by_server)
        return place % self.count if dealt else self.owner(url)

    def _resolve_mine(self, prefix: str, job: Job) -> Origin:
        """The manners of a server are for the process that fetches from it."""
        mine = not self._by_server or self.owner(prefix + "/") == self.number
        return make_origin(prefix, job if mine else replace(job, polite=False))

    def _follow(self, page: PageResult, links: list[str]) -> None:
        """Keep the links of this process; each other link is handed over once."""
        seen = self._seen
        others: list[str] = []
        mine = []
        for url in links:
            if url in seen or self.owner(url) == self.number:
                mine.append(url)
            else:
                seen.add(url)
                others.append(url)
        super()._follow(page, mine)
        others = [url for url in others if self._allowed(url)]
        for url in others:
            self.parcel(self.owner(url)).links.append(url)
        page.links_found = len(links)
        page.links_new += len(others)

    def _redirect_once(self, source: str | None, target: str, budget: int) -> Step | None:
        number = self.owner(target)
        if number == self.number:
            return super()._redirect_once(source, target, budget)
        self.parcel(number).steps.append((source, target, budget))
        return None


class Slots(callbacks.Shared):
    """The slots of this process; it is told when one of them settles, records or gets nothing."""

    def __init__(self, child: Child, job: Job, share: Share) -> None:
        # Not that of callbacks, which would make a frontier of all URLs.
        self.job = job
        self.loop = child.loop
        self.frontier = child  # type: ignore[assignment]
        self.recorder = child
        self.slots = [callbacks.Slot(number, self) for number in range(job.slots)]
        self.idle = []
        self.share = share


class Child:
    """A process: its slots, its share, and what it last told the parent."""

    slots: Slots
    share: Share

    def __init__(self, loop: Loop, sock: socket.socket) -> None:
        self.loop = loop
        self.channel = Channel(loop, sock, self.received)
        self.times: list[Times] = []
        self.heard = 0
        self.telling = False
        self.asked = False
        self.dry = False  # asked, it had nothing that it could give
        self.told: tuple[object, ...] = ()

    def received(self, message: Begin | float | Parcel | Ask | str | None) -> None:
        """First the job, then the time of the start, then parcels and questions."""
        if message is None:
            self.loop.stop()
        elif isinstance(message, Begin):
            self.begin(message)
        elif isinstance(message, float):
            self.share.start(message)
            for slot in self.slots.slots:
                self.loop.call_soon(slot.take)
        elif isinstance(message, Parcel):
            self.heard += 1
            self.dry = False
            self.share.take_in(message)
            callbacks.wake(self.slots, self.share.ready)
            self.changed()
        elif isinstance(message, Ask):
            self.asked = True
            if not self.slots.idle:
                self.dry = not self.share.give(*message)
            self.changed()
        elif message == CANCEL:
            self.share.stop("cancelled")
            for slot in self.slots.slots:
                slot.abort("cancelled")
            self.changed()
        else:
            self.channel.send(self.share.result(self.times))
            self.loop.stop()

    def begin(self, message: Begin) -> None:
        """Make slots and share, and report that they are ready."""
        job = replace(message.job, slots=message.slots, deadline_s=None)
        if job.work is not None:
            from crawlers import work

            work.begin(job)
        self.share = Share(job, message.number, message.processes)
        self.slots = Slots(self, job, self.share)
        callbacks.watch(self.slots, Stop(job))
        spent = resource.getrusage(resource.RUSAGE_SELF)
        self.channel.send(Ready(spent.ru_utime, spent.ru_stime, http.PARSER))

    def changed(self) -> None:
        """Tell the parent in this turn of the loop, if it needs to know."""
        if not self.telling:
            self.telling = True
            self.loop.call_soon(self.tell)

    def tell(self) -> None:
        """Hand over what was found for others; say whether there is too little to do, or too much.

        Nothing is said where nothing has changed, as in most of a crawl.
        """
        self.telling = False
        ready = self.share.ready
        quiet = not (ready or self.share.active)
        # Slots that were woken and have not run yet are not idle, and there is work for them.
        idle = 0 if self.share.stopped else len(self.slots.idle)
        spare = bool(self.share.spare) and not (self.slots.idle or self.dry)
        state = (quiet, bool(idle), spare, self.heard if quiet or idle else 0)
        away, self.share.away = self.share.away, {}
        if away or self.asked or state != self.told:
            self.told, answers, self.asked = state, self.asked, False
            self.channel.send(Told(self.heard, quiet, idle, spare, answers, away))

    def close(self) -> None:
        """Close the connections, and send what is left for the parent."""
        if hasattr(self, "slots"):
            for slot in self.slots.slots:
                slot.disconnect()
        with suppress(BrokenPipeError, ConnectionResetError):
            self.channel.sock.setblocking(True)
            self.channel.sock.sendall(self.channel.outward)

    # The rest is what a slot expects of a frontier and of a recorder.

    @property
    def ready(self) -> int:
        """How many fetches could be taken now."""
        return self.share.ready

    @property
    def finished(self) -> bool:
        """Whether the share will hand out no more fetches: never."""
        return False

    @property
    def stopped(self) -> str | None:
        """Why the crawl was stopped."""
        return self.share.stopped

    def take(self) -> Fetch | None:
        """The next fetch; None when there is none now, and the slot becomes idle."""
        item = self.share.take()
        if item is None:
            self.changed()
        return item

    def settle(self, item: Fetch, page: PageResult, now: float) -> None:
        """Take the outcome of a fetch."""
        self.dry = False
        self.share.settle(item, page, now)
        self.changed()

    def record(self, slot: int, due: float, started: float, ended: float) -> None:
        """Keep the times; the parent gets many at once."""
        self.times.append((slot, due, started, ended))
        if len(self.times) == AT_ONCE:
            self.channel.send(self.times)
            self.times = []


def main(descriptor: int) -> None:
    """Run a process, on the socket that it inherited."""
    # Ctrl-C at a terminal reaches the children too; the parent decides what to do.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with socket.socket(fileno=descriptor) as sock:
        loop = Loop()
        child = Child(loop, sock)
        try:
            loop.run()
        finally:
            child.close()
            loop.close()
