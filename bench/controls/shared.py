"""The shared parts alone: frontier, exchange and links, fed from memory without a socket.

Takes each fetch from the frontier, gives the exchange the bytes of an answer that was
received before, reads the page and settles it. The order is that of a crawl with
``slots`` exchanges in flight, so caches see what they see in a crawl.
"""

from __future__ import annotations

import socket
from collections import deque
from collections.abc import Callable
from time import monotonic, process_time

from bench.controls import REPEATS
from crawlers.frontier import Frontier
from crawlers.http import RECV_SIZE, Exchange
from crawlers.job import CrawlReport, Fetch, Job
from crawlers.page import read_page
from crawlers.sockets import new_socket


def fetch_all(job: Job) -> dict[str, bytes]:
    """The raw answer to each URL of the job, in one blocking crawl before the clock starts."""
    answers: dict[str, bytes] = {}
    frontier = Frontier(job)
    frontier.start(monotonic())
    sock: socket.socket | None = None
    while (item := frontier.take()) is not None:
        if sock is None:
            sock = new_socket(item.address)
            sock.connect(item.address.sockaddr)
        exchange = Exchange(item, job.max_body)
        sock.sendall(exchange.request)
        received = b""
        while not exchange.done:
            data = sock.recv(RECV_SIZE)
            received += data
            exchange.feed(data)
        answers[item.url] = received
        if not exchange.keep_alive:
            sock.close()
            sock = None
        frontier.settle(item, read_page(item, exchange, job.follow), monotonic())
    if sock is not None:
        sock.close()
    return answers


def crawl(job: Job, count: Callable[[], None], answers: dict[str, bytes]) -> CrawlReport:
    """Run the whole job from ``answers``, :data:`REPEATS` times; ``count`` is called per page.

    ``cpu_us`` in the report's mechanism is the processor time of the loop alone.
    """
    in_flight: deque[tuple[Fetch, Exchange]] = deque()
    before = process_time()
    for _ in range(REPEATS):
        frontier = Frontier(job)
        frontier.start(monotonic())
        while not frontier.finished:
            while len(in_flight) < job.slots and (item := frontier.take()) is not None:
                in_flight.append((item, Exchange(item, job.max_body)))
            item, exchange = in_flight.popleft()
            exchange.feed(answers[item.url])
            ended = monotonic()
            frontier.settle(item, read_page(item, exchange, job.follow), ended)
            count()
    spent = process_time() - before
    return frontier.report("shared", {"cpu_us": round(1e6 * spent)})
