"""Many pages over few connections, recounted from a made-up record; and a real, small one."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from rich.console import Console

from bench.micro import pool, report, study
from bench.micro.pool import WAYS, PoolRecord, Sample
from bench.micro.report import Found
from bench.micro.study import MicroError
from bench.run.process import Child
from bench.run.servers import Server
from tests.bench.synthetic import environment

PAGES, LIMIT = 60, 5
INSTALLED = [
    way
    for way, (backend, _) in WAYS.items()
    if not (library := backend.partition(".")[2]) or find_spec(library)
]


def made(repeats: int = 6, gap: float = 20) -> PoolRecord:
    """The second way of a client costs ``gap`` µs less for a page; each repeat costs 1 µs more."""
    samples = {
        way: [
            Sample(
                pages=10_000,
                cpu_s=(100 + repeat - (gap if "workers" in way else 0)) / 1e6,
                waiting_bytes=None if "threads" in way else 2048.0,
                late=7.0,
                connections=100,
                cancel_s=0.25,
                left={"socket": 2} if "executor" in way else {},
            )
            for repeat in range(repeats)
        ]
        for way in WAYS
        if not way.startswith("trio")
    }
    return PoolRecord(
        created="2026-11-25T02:00:00.000+00:00",
        command=["bench", "micro"],
        environment=environment(),
        samples=samples,
        void={"asyncio with workers": ["/p has other bytes than on the site"]},
        absent={"trio with workers": "trio is not installed"},
    )


def test_every_measure_has_its_unit() -> None:
    found = pool.measured(made())
    assert {key: found.median("aiohttp with its limit", key) for key in pool.MEASURES} == {
        "cpu": pytest.approx(102.5), "memory": 2.0, "late": 7.0,
        "opened": 100, "cancel": 250.0,
    }  # fmt: skip
    assert found.spread("threads in an executor", "memory") is None


def test_the_headline_compares_two_ways_of_one_client() -> None:
    record = made()
    samples = [each.model_copy(update={"cpu_s": 2 * each.cpu_s}) for each in record.samples[HTTPX]]
    worse = record.model_copy(update={"samples": record.samples | {HTTPX: samples}})
    words = "A page costs 205 µs by httpx with its limit and 82.5 µs by httpx with workers"
    assert pool.headline(pool.measured(worse)) == words
    assert len(words.split()) <= 20
    assert (pool.headline(pool.measured(made(2))) or "").endswith(", in 2 trials each")
    even = "A page costs about as much with a semaphore, workers or the client's own limit"
    assert pool.headline(pool.measured(made(gap=0))) == even
    assert pool.headline(pool.measured(made().model_copy(update={"samples": {}}))) is None


HTTPX = "httpx with its limit"


def test_table_summary_and_json_say_it(tmp_path: Path) -> None:
    table = pool.table(made())
    assert {row[0]: row[2] for row in table.texts}["threads in an executor"] == "–"
    assert table.notes == [
        "trio with workers: trio is not installed",
        "asyncio with workers, void: /p has other bytes than on the site",
        "threads in an executor leaves behind: socket",
    ]
    found = Found(pool=made())
    report.write(found, tmp_path, Console(quiet=True))
    summary = (tmp_path / "summary.md").read_text()
    assert "\nPool: 2026-11-25, CPython 3.11.9.\n" in summary
    assert f"## {pool.TITLE}" in summary
    assert "\nA page costs 102 µs by " in summary


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
        with pytest.raises(MicroError, match="pages came"):
            pool.check(came, PLAYED, 2)
    with pytest.raises(MicroError, match="/b has other bytes"):
        pool.check([(1, 1)], PLAYED, 1)


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with Server(f"tree:{PAGES}:10:2048", seed=1, cores=[]) as server:
        yield server


@pytest.fixture(scope="module")
def pages(server: Server) -> list[tuple[str, int]]:
    site = server.ask("GET", "/site")["expected"].items()
    return [(target, int(crc, 16)) for target, (status, crc) in site if status == 200]


@pytest.mark.parametrize("way", INSTALLED)
def test_every_way_has_equal_work_and_leaves_nothing_when_cancelled(
    way: str, server: Server, pages: list[tuple[str, int]]
) -> None:
    found = pool.sample(way, server, pages, LIMIT)
    assert (found.pages, found.left) == (PAGES, {})
    assert found.connections == LIMIT or (way.startswith("httpx") and found.connections > LIMIT)
    assert found.cpu_s > 0
    assert 0 <= found.late < PAGES
    assert found.cancel_s > 0


def test_more_connections_than_allowed_do_not_count(
    server: Server, pages: list[tuple[str, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    one_more = ["-m", pool.CHILD, "threads", "executor", str(LIMIT + 1)]
    monkeypatch.setattr(pool, "Child", lambda what, _: Child(what, one_more))
    with pytest.raises(MicroError, match=f"saw {LIMIT + 1} connections at once"):
        pool.sample("threads in an executor", server, pages, LIMIT)


def test_other_bytes_and_a_process_that_fails_do_not_count(
    server: Server, pages: list[tuple[str, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = [*pages[:-1], (pages[-1][0], 0)]
    with pytest.raises(MicroError, match="has other bytes"):
        pool.sample("asyncio with workers", server, wrong, LIMIT)
    monkeypatch.setitem(pool.WAYS, "none", ("no_such_backend", "workers"))
    with pytest.raises(MicroError, match=r"No module named 'crawlers\.no_such_backend'"):
        pool.sample("none", server, pages, LIMIT)


def test_a_process_that_does_not_come_to_rest_is_given_up(
    server: Server, pages: list[tuple[str, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "PATIENCE_S", 0.0)
    with pytest.raises(MicroError, match="did not ask for all pages"):
        pool.sample("asyncio with workers", server, pages, LIMIT)


def test_a_real_run_is_kept_with_what_is_void(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ways = {"asyncio with workers": WAYS["asyncio with workers"], "x": ("variants.no_such", "x")}
    monkeypatch.setattr(pool, "WAYS", ways | {"broken": ("no_such_backend", "workers")})
    found = pool.run(tmp_path, 1, Console(quiet=True), PAGES, LIMIT)
    assert study.load(tmp_path, pool.FILE_NAME, PoolRecord) == found
    assert {way: len(samples) for way, samples in found.samples.items()} == {
        "asyncio with workers": 1, "broken": 0,
    }  # fmt: skip
    assert found.absent == {"x": "no_such is not installed"}
    assert "no_such_backend" in found.void["broken"][0]
