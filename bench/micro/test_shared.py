"""The cost of a page in the parts that every backend shares.

Each benchmark replays a whole site like a crawl: many different pages, and a
frontier that grows.
"""

from __future__ import annotations

from copy import copy
from time import monotonic

from bench.micro.conftest import Measure
from bench.micro.walk import Visit
from crawlers.frontier import Frontier
from crawlers.http import Exchange
from crawlers.job import Job, PageResult
from crawlers.links import extract
from crawlers.page import read_page
from crawlers.recorder import TimesRecorder

ROUNDS = 20


def test_exchange(measure: Measure, visits: list[Visit]) -> None:
    """Render the request, parse the answer."""
    asked = [(visit.fetch, visit.answer) for visit in visits]

    def batch() -> None:
        for fetch, answer in asked:
            Exchange(fetch).feed(answer)

    measure(batch, len(asked), rounds=ROUNDS)


def test_read_page(measure: Measure, visits: list[Visit]) -> None:
    """Checksum the body, extract the links."""
    answered = [(visit.fetch, visit.exchange) for visit in visits]

    def batch() -> None:
        for fetch, exchange in answered:
            read_page(fetch, exchange, True)

    measure(batch, len(answered), rounds=ROUNDS)


def test_link_extraction(measure: Measure, visits: list[Visit]) -> None:
    """Extract the links only: a part of the above."""
    pages = [(visit.exchange.body, visit.fetch.url) for visit in visits]

    def batch() -> None:
        for body, url in pages:
            extract(body, url, "utf-8")

    measure(batch, len(pages), rounds=ROUNDS)


def pages_of(visits: list[Visit]) -> list[PageResult]:
    """The result of every visit, as it was before the frontier changed it."""
    pages = []
    for visit in visits:
        page = copy(visit.page)
        page.links = visit.links
        pages.append(page)
    return pages


def test_frontier(measure: Measure, visits: list[Visit]) -> None:
    """Take a fetch and settle it, through a whole crawl."""
    job = Job((visits[0].fetch.url,))

    def batch(given: tuple[Frontier, list[PageResult]]) -> None:
        frontier, pages = given
        for page in pages:
            fetch = frontier.take()
            assert fetch is not None
            frontier.settle(fetch, page, 1.0)

    measure(batch, len(visits), setup=lambda: (Frontier(job), pages_of(visits)), rounds=ROUNDS)


def test_parts_in_turn(measure: Measure, visits: list[Visit]) -> None:
    """All parts of a page in turn, as in a crawl: none finds its caches warm."""
    job = Job((visits[0].fetch.url,))
    answers = [visit.answer for visit in visits]

    def batch(given: tuple[Frontier, TimesRecorder]) -> None:
        frontier, recorder = given
        for answer in answers:
            fetch = frontier.take()
            assert fetch is not None
            exchange = Exchange(fetch)
            exchange.feed(answer)
            page = read_page(fetch, exchange, True)
            recorder.record(0, 0.0, 1.0, 2.0)
            frontier.settle(fetch, page, 1.0)

    measure(batch, len(visits), setup=lambda: (Frontier(job), TimesRecorder()), rounds=ROUNDS)


def test_recorder(measure: Measure) -> None:
    """Record the times of an exchange."""

    def batch(recorder: TimesRecorder) -> None:
        for slot in range(1000):
            recorder.record(slot, 0.0, 1.0, 2.0)

    measure(batch, 1000, setup=TimesRecorder)


def test_clock(measure: Measure) -> None:
    """Read the clock."""

    def batch() -> None:
        for _ in range(1000):
            monotonic()

    measure(batch, 1000)
