"""A crawl divided by hash gives the same result as one frontier."""

from __future__ import annotations

import subprocess
import sys

from hypothesis import given
from hypothesis import strategies as st

from bench.fleet.partition import Find, Partition, owner
from crawlers.frontier import Frontier
from crawlers.job import Address, Job, Origin, PageResult

PREFIX = "http://site.test:8080"
BUDGET = 3

Graph = dict[int, tuple[list[int], int | None]]
"""Page → its links, or where it redirects to."""


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    """Pages that link and redirect at random; page 0 is the root."""
    size = draw(st.integers(1, 14))
    page = st.integers(0, size - 1)
    return {
        number: (draw(st.lists(page, max_size=4)), draw(st.none() | page)) for number in range(size)
    }


def url(number: int) -> str:
    return f"{PREFIX}/{number}" if number else f"{PREFIX}/"


def number_of(address: str) -> int:
    return int(address.removeprefix(f"{PREFIX}/") or 0)


def answer(graph: Graph, address: str) -> PageResult:
    """What the site says; a page that redirects has no links."""
    links, redirect = graph[number_of(address)]
    page = PageResult(200 if redirect is None else 302, 1, 1)
    if redirect is None:
        page.links = [url(link) for link in links] + ["http://elsewhere.test/"]
    else:
        page.redirect = url(redirect)
    return page


def alone(graph: Graph) -> set[str]:
    """What one frontier fetches."""
    origin = Origin(PREFIX, [Address(2, ("127.0.0.1", 8080))], b"")
    frontier = Frontier(Job((url(0),), max_redirects=BUDGET), lambda *_: origin)
    while item := frontier.take():
        frontier.settle(item, answer(graph, item.url), 0.0)
    return set(frontier.rows)


def shared(graph: Graph, workers: int) -> list[set[str]]:
    """What each of several parts fetches, round by round."""
    parts = [Partition(number, workers, f"{PREFIX}/", BUDGET) for number in range(workers)]
    fetched: list[set[str]] = [set() for _ in parts]
    waiting: list[list[Find]] = [[] for _ in parts]
    waiting[owner(url(0), workers)].append((url(0), BUDGET))
    while any(waiting):
        handed: list[list[Find]] = [[] for _ in parts]
        for part, finds in zip(parts, waiting, strict=True):
            urls, onward = part.take_in(finds)
            assert not fetched[part.number] & set(urls), "fetched twice"
            fetched[part.number] |= set(urls)
            onward += part.settle({address: answer(graph, address) for address in urls})
            for receiver, batch in enumerate(part.by_owner(onward)):
                handed[receiver] += batch
        waiting = handed
    return fetched


@given(graphs(), st.integers(1, 5))
def test_a_shared_crawl_fetches_what_one_crawl_does(graph: Graph, workers: int) -> None:
    fetched = shared(graph, workers)
    assert set().union(*fetched) == alone(graph)
    assert sum(map(len, fetched)) == len(alone(graph))
    for number, urls in enumerate(fetched):
        assert all(owner(address, workers) == number for address in urls)


def test_a_larger_budget_that_comes_later_is_passed_on() -> None:
    # The root links to 1, where a chain begins, and to 5, which links into it.
    graph: Graph = {
        0: ([1, 5], None),
        1: ([], 2),
        2: ([], 3),
        3: ([], 4),
        4: ([], 6),
        5: ([3], None),
        6: ([], None),
    }
    assert url(6) in alone(graph)
    assert set().union(*shared(graph, 3)) == alone(graph)


def test_a_url_has_the_same_owner_in_every_process() -> None:
    code = "from bench.fleet.partition import owner; print(owner('http://a/ü', 1000))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=300
    )
    assert int(done.stdout) == owner("http://a/ü", 1000)
