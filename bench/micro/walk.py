"""One crawl of a site with the sans-IO parts only, keeping every answer for replay."""

from __future__ import annotations

import socket
from time import monotonic
from typing import NamedTuple

from crawlers.frontier import Frontier
from crawlers.http import RECV_SIZE, Exchange
from crawlers.job import Fetch, Job, PageResult
from crawlers.page import read_page


class Visit(NamedTuple):
    """One page: the fetch, the raw answer, and what was read from it."""

    fetch: Fetch
    answer: bytes
    exchange: Exchange
    page: PageResult
    links: list[str]


def walk(prefix: str) -> list[Visit]:
    """All pages of a site, in the order of a crawl with one slot."""
    visits = []
    frontier = Frontier(Job((f"{prefix}/",), slots=1))
    frontier.start(monotonic())
    fetch = frontier.take()
    assert fetch is not None
    with socket.create_connection(fetch.address.sockaddr[:2]) as sock:  # type: ignore[arg-type]
        while fetch is not None:
            exchange = Exchange(fetch)
            sock.sendall(exchange.request)
            answer = b""
            while not exchange.done:
                data = sock.recv(RECV_SIZE)
                answer += data
                exchange.feed(data)
            page = read_page(fetch, exchange, follow=True)
            visits.append(Visit(fetch, answer, exchange, page, page.links or []))
            frontier.settle(fetch, page, monotonic())
            fetch = frontier.take()
    return visits
