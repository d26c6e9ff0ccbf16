"""Many pages over few connections, which of them count; and a real, small run."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from bench.micro import pool
from bench.micro.pool import WAYS
from bench.sides.servers import Server
from bench.study.runner import Lost, Process, missing

PAGES, LIMIT = 60, 5
INSTALLED = [
    way for way, (backend, _) in WAYS.items() if missing(backend.partition(".")[2]) is None
]


def test_a_page_is_late_by_the_places_of_those_that_came_before_it() -> None:
    in_order = [(number, 0) for number in range(1000)]
    assert pool.late(in_order) == 0
    assert pool.late(in_order[::-1]) > 900
    twos = [(number ^ 1, 0) for number in range(1000)]  # every second page is one place late
    assert pool.late(twos) == 1


PLAYED = [("/a", 1), ("/b", 2), ("/c", 3)]


def test_pages_that_are_missing_doubled_or_changed_do_not_count() -> None:
    pool.check([(2, 3), (0, 1), (1, 2)], PLAYED, 3)
    pool.check([(2, 3)], PLAYED, 1)
    for came in ([(0, 1)], [(0, 1), (0, 1)]):
        with pytest.raises(Lost, match="pages came"):
            pool.check(came, PLAYED, 2)
    with pytest.raises(Lost, match="/b has other bytes"):
        pool.check([(1, 1)], PLAYED, 1)


# --- real ones -------------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def few_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "LIMIT", LIMIT)


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with Server(f"tree:{PAGES}:10:2048", seed=1, cores=[]) as server:
        yield server


@pytest.fixture(scope="module")
def pages(server: Server) -> list[tuple[str, int]]:
    return pool.known(server)


@pytest.mark.parametrize("way", INSTALLED)
def test_every_way_has_equal_work_and_leaves_nothing_when_cancelled(
    way: str, server: Server, pages: list[tuple[str, int]]
) -> None:
    found = pool.sample(way, server, pages)
    assert (found.pages, found.left) == (PAGES, {})
    assert found.connections == LIMIT or (way.startswith("httpx") and found.connections > LIMIT)
    assert found.cpu_s > 0
    assert 0 <= found.late < PAGES
    assert found.cancel_s > 0


def test_more_connections_or_other_bytes_or_no_rest_do_not_count(
    server: Server, pages: list[tuple[str, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = [*pages[:-1], (pages[-1][0], 0)]
    with pytest.raises(Lost, match="has other bytes"):
        pool.sample("asyncio with workers", server, wrong)
    one_more = ["-m", pool.CHILD, "threads", "executor", str(LIMIT + 1)]
    with monkeypatch.context() as patched:
        patched.setattr(pool, "Process", lambda way, _, cores: Process(way, one_more, cores))
        with pytest.raises(Lost, match=f"saw {LIMIT + 1} connections at once"):
            pool.sample("threads in an executor", server, pages)
    monkeypatch.setattr(pool, "PATIENCE_S", 0.0)
    with pytest.raises(Lost, match="did not ask for all pages"):
        pool.sample("asyncio with workers", server, pages)
