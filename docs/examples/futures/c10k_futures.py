"""futures: the main thread keeps the frontier, a pool of threads does the exchanges."""

from __future__ import annotations

import socket
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from threading import Event
from time import monotonic

from crawlers.backend import Backend
from crawlers.frontier import Frontier
from crawlers.http import RECV_SIZE, Exchange
from crawlers.job import CrawlReport, Fetch, Job, Origin
from crawlers.page import read_page
from crawlers.recorder import Recorder
from crawlers.sockets import new_socket, unasked
from crawlers.stop import Stop


class Slot:
    """At most one connection, at most one exchange in flight."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.origin: Origin | None = None  # where the open connection leads
        self.sock: socket.socket | None = None
        self.started = self.deadline = 0.0
        self.aborted: str | None = None


def disconnect(slot: Slot) -> None:
    """Close the slot's connection, if it has one."""
    if slot.sock is not None:
        slot.sock.close()
    slot.sock = slot.origin = None


def fetch(slot: Slot, item: Fetch, job: Job, over: Event) -> Exchange:
    """One exchange, in a thread of the pool."""
    exchange = Exchange(item, job.max_body)
    try:
        if item.due and over.wait(item.due - monotonic()):
            exchange.abort("cancelled")
            return exchange
        slot.started = monotonic()
        if slot.sock and slot.origin is item.origin and not unasked(slot.sock):
            exchange.reused = True
        else:
            disconnect(slot)
            slot.sock = new_socket(item.address)
            slot.origin = item.origin
            slot.sock.connect(item.address.sockaddr)
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


def abort(slot: Slot, kind: str) -> None:
    """Wake the thread that waits on the slot's socket."""
    slot.aborted = slot.aborted or kind
    if slot.sock is not None:
        with suppress(OSError):
            slot.sock.shutdown(socket.SHUT_RDWR)


def crawl(job: Job, recorder: Recorder) -> CrawlReport:
    """Crawl with a pool of as many threads as there are slots."""
    frontier = Frontier(job)
    slots = [Slot(number) for number in range(job.slots)]
    free = list(slots)
    busy: dict[Future[Exchange], tuple[Slot, Fetch]] = {}
    over = Event()
    with Stop(job) as stop, ThreadPoolExecutor(job.slots) as pool:
        frontier.start(monotonic())
        try:
            while True:
                while free and (item := frontier.take()):
                    slot = free.pop()
                    slot.aborted = None
                    slot.deadline = max(monotonic(), item.due) + job.timeout_s
                    busy[pool.submit(fetch, slot, item, job, over)] = slot, item
                if not busy and frontier.finished:
                    break
                for future in wait(busy, stop.tick_s, FIRST_COMPLETED).done:
                    slot, item = busy.pop(future)
                    exchange = future.result()
                    page = read_page(item, exchange, job.follow)
                    if not exchange.keep_alive:
                        disconnect(slot)
                    ended = monotonic()
                    if exchange.error is None:
                        recorder.record(slot.number, item.intended, slot.started, ended)
                    frontier.settle(item, page, ended)
                    free.append(slot)
                now = monotonic()
                if reason := stop.reason(now):
                    frontier.stop(reason)
                    over.set()
                for slot, _ in busy.values():
                    if now > slot.deadline or frontier.stopped:
                        abort(slot, "cancelled" if frontier.stopped else "timeout")
        finally:
            over.set()
            while wait(busy, 0.05).not_done:
                for slot, _ in busy.values():
                    abort(slot, "cancelled")
            for slot in slots:
                disconnect(slot)
    return frontier.report("futures", {"threads": 1 + job.slots})


BACKEND = Backend(
    name="futures",
    family="threads",
    rung=13,
    summary="a ThreadPoolExecutor, fed by the main thread",
    changes="against threads: no lock; one thread keeps the frontier and waits for the others",
    crawl=crawl,
    no_https="it keeps this example short; see docs/https.md for what TLS needs",
)
