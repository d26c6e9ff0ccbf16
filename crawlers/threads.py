"""Threads: every slot is a thread, and the kernel keeps its place.

What waits: a thread, asleep inside ``connect`` or ``recv``. What switches: the
kernel, at every call that blocks; the interpreter releases its lock there. What
a connection costs: the used part of a C stack, a kernel stack, and the kernel's
records of a thread. The slots share one frontier, so every access needs a lock.
"""

from __future__ import annotations

import socket
from collections.abc import Callable
from contextlib import suppress
from math import inf
from threading import Condition, Event, Thread
from time import monotonic
from typing import TypeAlias, TypeVar

from crawlers.frontier import Frontier
from crawlers.http import RECV_SIZE, Exchange
from crawlers.job import CrawlReport, Fetch, Job, JobError, Origin
from crawlers.page import read_page
from crawlers.recorder import Recorder
from crawlers.sockets import encrypt, hang_up, new_socket, shake_hands, unasked
from crawlers.stop import Stop


class Shared:
    """The state that the slots of one crawl share."""

    def __init__(self, job: Job, recorder: Recorder) -> None:
        self.job = job
        self.recorder = recorder
        self.frontier = Frontier(job)
        self.slots = [Slot(number) for number in range(job.slots)]
        self.failure: BaseException | None = None
        self.changed = Condition()  # guards everything above, and the slots' attributes
        self.idle = 0
        self.promised = 0
        self.over = Event()


class Slot:
    """At most one connection, at most one exchange in flight.

    ``origin`` is the server of the open connection ``sock``, None without one.
    ``started`` is the time at which the exchange in flight began, inf without one.
    ``deadline`` is the time at which it times out.
    """

    __slots__ = ("aborted", "deadline", "number", "origin", "sock", "started", "waited")

    sock: socket.socket

    def __init__(self, number: int) -> None:
        self.number = number
        self.origin: Origin | None = None
        self.started = self.deadline = inf
        self.aborted: str | None = None
        self.waited = False  # for something to fetch


SharedT = TypeVar("SharedT", bound=Shared)
Fetcher: TypeAlias = Callable[[SharedT, Slot, Fetch], Exchange]


# The model's own machinery: none. The kernel's scheduler is the event loop.


def connect(shared: Shared, slot: Slot, item: Fetch) -> None:
    """Open the slot's connection; the thread sleeps until it is open."""
    with shared.changed:
        disconnect(slot)
        slot.sock = new_socket(item.address)
        slot.origin = item.origin
    slot.sock.connect(item.address.sockaddr)
    if item.origin.tls is not None:
        secure(shared, slot, item.origin)


def secure(shared: Shared, slot: Slot, origin: Origin) -> None:
    """Encrypt the slot's connection; the thread sleeps during the handshake."""
    with shared.changed:
        slot.sock = encrypt(slot.sock, origin)
    shake_hands(slot.sock)


def disconnect(slot: Slot) -> None:
    """Close the slot's connection, if it has one."""
    if slot.origin is not None:
        if slot.origin.tls is not None:
            hang_up(slot.sock)
        slot.origin = None
        slot.sock.close()


def fetch(shared: Shared, slot: Slot, item: Fetch) -> Exchange:
    """One exchange: connect if needed, send, receive until it is done."""
    exchange = Exchange(item, shared.job.max_body)
    try:
        if item.due and shared.over.wait(item.due - monotonic()):
            exchange.abort("cancelled")
            return exchange
        slot.started = monotonic()
        if slot.origin is item.origin and not ((slot.waited or item.due) and unasked(slot.sock)):
            exchange.reused = True
        else:
            connect(shared, slot, item)
        slot.sock.sendall(exchange.request)
        while not exchange.done:
            data = slot.sock.recv(RECV_SIZE)
            if slot.aborted is not None:
                exchange.abort(slot.aborted)
            exchange.feed(data)
    except OSError as error:
        if slot.aborted is not None:
            exchange.abort(slot.aborted)
        exchange.fail(error)
    return exchange


def finish(shared: Shared, slot: Slot, item: Fetch, exchange: Exchange) -> None:
    """Give the outcome to the frontier; wake as many other slots as there is work for."""
    ended = monotonic()
    page = read_page(item, exchange, shared.job.follow)
    with shared.changed:
        if exchange.error is None:
            shared.recorder.record(slot.number, item.intended, slot.started, ended)
        slot.deadline = slot.started = inf
        if not exchange.keep_alive or slot.aborted is not None:
            disconnect(slot)
        shared.frontier.settle(item, page, ended)
        wake(shared, shared.frontier.ready - shared.promised - 1)


def take(shared: Shared, slot: Slot) -> Fetch | None:
    """The next fetch, asleep until there is one; None when the crawl is over."""
    with shared.changed:
        # Leave the work that was promised to a thread we just woke. Otherwise some
        # threads would never get a turn, nor a connection.
        promised = shared.promised >= shared.frontier.ready
        item = None if promised else shared.frontier.take()
        slot.waited = item is None
        while item is None:
            if shared.frontier.finished:
                shared.changed.notify()  # each wakes the next; all at once would compete
                disconnect(slot)
                return None
            shared.idle += 1
            shared.changed.wait()
            shared.promised -= 1
            item = shared.frontier.take()
        slot.aborted = None
        slot.deadline = max(monotonic(), item.due) + shared.job.timeout_s
    return item


def work(shared: SharedT, slot: Slot, fetch: Fetcher[SharedT]) -> None:
    """The life of a slot: take, fetch, finish, until nothing is left."""
    try:
        while item := take(shared, slot):
            exchange = fetch(shared, slot, item)
            finish(shared, slot, item, exchange)
    except BaseException as error:
        # If a thread died silently, the others would wait for its outcome.
        with shared.changed:
            shared.failure = error
            end(shared, "failed")


def wake(shared: Shared, count: int) -> None:
    """Let up to ``count`` idle slots look for work again."""
    count = min(count, shared.idle)
    if count > 0:
        shared.idle -= count
        shared.promised += count
        shared.changed.notify(count)


def end(shared: Shared, reason: str) -> None:
    """Take no more fetches; let the exchanges in flight end."""
    shared.frontier.stop(reason)
    shared.over.set()
    shared.changed.notify_all()


def watch(shared: Shared, stop: Stop) -> None:
    """Wake the threads that ran out of time: ``shutdown`` ends a blocked call."""
    now = monotonic()
    with shared.changed:
        if reason := stop.reason(now):
            end(shared, reason)
        for slot in shared.slots:
            if now > slot.deadline or shared.over.is_set():
                slot.aborted = slot.aborted or ("cancelled" if shared.over.is_set() else "timeout")
                if slot.origin is not None:
                    with suppress(OSError):
                        # Not the method of an SSLSocket, which would decrypt no more.
                        socket.socket.shutdown(slot.sock, socket.SHUT_RDWR)


def run(name: str, shared: SharedT, fetch: Fetcher[SharedT]) -> CrawlReport:
    """Run one thread for each slot, until all are done; the main thread watches the time."""
    threads: list[Thread] = []
    with Stop(shared.job) as stop:
        shared.frontier.start(monotonic())
        with shared.changed:  # no thread begins before all are there
            for slot in shared.slots:
                thread = Thread(target=work, args=(shared, slot, fetch))
                try:
                    thread.start()
                except RuntimeError:
                    shared.failure = JobError(
                        f"this system starts no more than {len(threads)} threads: lower the number "
                        "of slots, or raise ulimit -u or -v, pids.max or kernel.threads-max"
                    )
                    end(shared, "failed")
                    break
                threads.append(thread)
        for thread in threads:
            while thread.is_alive():
                thread.join(stop.tick_s)
                watch(shared, stop)
    for slot in shared.slots:
        disconnect(slot)
    if shared.failure is not None:
        raise shared.failure
    return shared.frontier.report(name, {"threads": 1 + len(threads)})


def crawl(job: Job, recorder: Recorder) -> CrawlReport:
    """Crawl with one thread for each slot."""
    return run("threads", Shared(job, recorder), fetch)
