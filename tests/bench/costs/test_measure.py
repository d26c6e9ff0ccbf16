"""Real counts of real, small crawls, and the programs that they are divided into."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from bench.__main__ import main
from bench.controls import REPEATS
from bench.costs import measure
from bench.costs.accounts import STUDY, Counted
from bench.costs.measure import Lane
from bench.machine import instruments
from bench.machine.instruments import Counts, Instrument
from bench.plan import backends, workloads
from bench.plan.participants import only
from bench.study import runner
from bench.study.record import SampleRecord
from bench.study.runner import Lost
from crawlers.catalogue import OURS

PAGES, SLOTS = 60, 5


def usable(name: str) -> Instrument:
    (found,) = instruments.find([name])
    if found.missing is not None:
        pytest.skip(found.missing)
    return found


def taken(
    names: Sequence[str], workload: str, tool: Instrument, pages: int = PAGES
) -> list[SampleRecord[Counted]]:
    with ExitStack() as stack:
        made = measure.programs(Lane(pages, SLOTS, stack), names, [workload], [tool])
        return [runner.take("test", 0, each) for each in made]


def added(sample: SampleRecord[Counted], workload: str, cost: str) -> int:
    """What the second of two crawls took more than the first."""
    assert sample.part is not None, sample.reason
    small, large = sample.part.crawls[workload].counts[cost]
    return large - small


def test_system_calls_of_a_page() -> None:
    (sample,) = taken(["callbacks"], "fetch", usable("system calls"))
    assert (sample.program, sample.status) == ("callbacks/system calls", "ok"), sample.reason
    assert added(sample, "fetch", "system_call.sendto") == PAGES, "one for each page"


@pytest.mark.slow
def test_a_server_is_counted_under_a_load_that_stops_by_itself() -> None:
    names = ["callbacks", "bare", "aiohttp_web"]
    found = taken(names, "serve", usable("system calls"))
    assert {sample.program for sample in found} == {f"{n}/serve/system calls" for n in names}
    for sample in found:
        assert (sample.status, sample.reason) == ("ok", None)
        assert sample.part is not None
        pages = sample.part.crawls["serve"].pages
        assert added(sample, "serve", "system_call.sendto") == pages, "one for each request"


@pytest.mark.slow
def test_instructions_of_a_page() -> None:
    (sample,) = taken(["callbacks"], "fetch", usable("instructions"), pages=200)
    assert 10_000 < added(sample, "fetch", "instructions") / 200 < 1_000_000


def test_a_wrong_crawl_is_void_and_gives_no_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bench.costs.measure.judge.void_reason", lambda *_, **__: "wrong digest")
    (sample,) = taken(["callbacks"], "fetch", usable("system calls"))
    assert (sample.status, sample.reason) == ("void", "fetch: wrong digest")
    assert sample.part == Counted()


def test_the_command_counts_writes_and_redraws(tmp_path: Path) -> None:
    usable("system calls")
    out = tmp_path / "costs"
    asked = ["study", "costs", "--backends", "callbacks", "--workload", "fetch"]
    asked += ["--count", "system calls", "--pages", "40", "--slots", "4", "--repeats", "2"]
    assert main([*asked, "--out", str(out)]) == 0
    run = STUDY.last(out)
    assert {repeat for found in run.by_program().values() for repeat in found} == {0, 1}
    text = (out / "summary.md").read_text()
    (out / "summary.md").unlink()
    assert main(["study", "costs", "--redraw", "--out", str(out)]) == 0
    assert (out / "summary.md").read_text() == text
    assert "# What a page costs" in text


# --- one process ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def lane() -> Iterator[Lane]:
    with ExitStack() as stack:
        yield Lane(PAGES, SLOTS, stack)


@pytest.fixture
def crawler(lane: Lane) -> Iterator[measure.Crawler]:
    made = measure.Crawler("callbacks", usable("system calls"), 1, lane)
    yield made
    made.close()


def page(lane: Lane, backend: str, workload: str = "fetch") -> Counts:
    """What a page takes, in system calls."""
    made = measure.Crawler(backend, usable("system calls"), 1, lane)
    try:
        found = made.pair(workload, PAGES)
    finally:
        made.close()
    return {cost: (more - less) / PAGES for cost, (less, more) in found.counts.items()}  # type: ignore[misc]


def test_the_floor_is_counted_as_a_control(lane: Lane) -> None:
    assert page(lane, "bare")["system_call.sendto"] == REPEATS, "it goes through its list again"


def test_each_page_of_churn_has_a_connection_of_its_own(lane: Lane) -> None:
    assert page(lane, "callbacks", "churn")["system_call.connect"] == 1


def test_asyncio_is_counted_in_the_state_of_malloc_in_which_it_is_measured(lane: Lane) -> None:
    """Once each page had three calls for the memory of a receive, which no trial has."""
    assert page(lane, "async_await").get("system_call.mremap", 0) < 0.1


def test_after_a_failure_another_process_is_started(
    lane: Lane, crawler: measure.Crawler, monkeypatch: pytest.MonkeyPatch
) -> None:
    point, server = workloads.fetch(SLOTS, PAGES, only(("threads",), 1)), lane.server
    sites = {str(point.site): f"list:{PAGES - 1}:2048"}
    with monkeypatch.context() as patched:
        patched.setattr(lane, "server", lambda site: server(sites.get(site) or site))
        with pytest.raises(Lost, match="wrong digest") as lost:
            crawler.count(point)
    assert lost.value.status == "void"
    assert crawler.count(point)["system_call.sendto"] >= PAGES


def test_a_backend_that_cannot_be_loaded_is_a_failure_with_a_reason(lane: Lane) -> None:
    with pytest.raises(Lost, match="nonesuch") as found:
        page(lane, "nonesuch")
    assert found.value.status == "failed"


# --- the programs -----------------------------------------------------------------------------


def test_what_is_counted_of_whom(monkeypatch: pytest.MonkeyPatch) -> None:
    gone = replace(OURS["trio"], missing="no trio")
    monkeypatch.setattr(backends, "look_up", lambda *_: [OURS["callbacks"], OURS["httpx"], gone])
    calls, none = Instrument("calls", "strace"), Instrument("heap", "", missing="no valgrind")
    crawled: dict[str, Sequence[str]] = {}

    def crawl(name: str, _: object, workloads: Sequence[str], __: int) -> Counted:
        crawled[name] = workloads
        return Counted()

    with ExitStack() as stack:
        lane = Lane(PAGES, SLOTS, stack)
        monkeypatch.setattr(lane, "crawl", crawl)
        made = list(measure.programs(lane, None, measure.COUNTED, [calls, none]))
        for program in made:
            if program.refused is None and "/serve/" not in program.name:
                program.measure(0)
    assert crawled == {
        "bare": ["fetch"],  # it has no links
        "callbacks": ["fetch", "crawl", "churn"],
        "httpx": ["fetch", "crawl"],  # churn is counted where readers look first
    }
    assert {one.name: one.refused for one in made if one.refused} == {
        "heap": "no valgrind",
        "trio": "no trio",
    }
    assert "callbacks/serve/calls" in {one.name for one in made}
