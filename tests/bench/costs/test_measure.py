"""Real counts of real, small crawls, and the programs that they are divided into."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from bench.__main__ import main
from bench.controls import CONTROLS
from bench.costs import measure
from bench.costs.measure import Lane
from bench.costs.report import STUDY, Counted
from bench.machine import instruments
from bench.machine.instruments import Instrument
from bench.plan import backends
from bench.study import SampleRecord, runner
from bench.study.runner import Lost
from crawlers.backend import Backend
from crawlers.catalogue import OURS

PAGES, SLOTS = 60, 5


def usable(name: str) -> Instrument:
    (found,) = instruments.find([name])
    if found.missing is not None:
        pytest.skip(found.missing)
    return found


def taken(names: Sequence[str], workload: str, tool: Instrument) -> list[SampleRecord[Counted]]:
    with ExitStack() as stack:
        made = measure.programs(Lane(PAGES, SLOTS, stack), names, [workload], [tool])
        return [runner.take("test", 0, each) for each in made]


def added(sample: SampleRecord[Counted], workload: str, cost: str) -> int:
    """What the second of two crawls took more than the first."""
    assert sample.part is not None, sample.reason
    small, large = sample.part.crawls[workload].counts[cost]
    return large - small


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
    (sample,) = taken(["callbacks"], "fetch", usable("instructions"))
    assert 10_000 < added(sample, "fetch", "instructions") / PAGES < 1_000_000


def test_the_command_counts_writes_and_redraws(tmp_path: Path) -> None:
    usable("system calls")
    out = tmp_path / "costs"
    asked = ["study", "costs", "--backends", "callbacks", "--workload", "fetch"]
    asked += ["--count", "system calls", "--pages", "40", "--slots", "4", "--repeats", "2"]
    assert main([*asked, "--out", str(out)]) == 0
    run = STUDY.last(out)
    assert [(one.program, one.repeat, one.status) for one in run.samples] == [
        ("callbacks/system calls", repeat, "ok") for repeat in (0, 1)
    ]
    for sample in run.samples:
        assert added(sample, "fetch", "system_call.sendto") == 40, "one for each page"
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


@pytest.mark.parametrize(
    ("backend", "workload", "call", "least", "most"),
    [
        (CONTROLS["bare"], "fetch", "sendto", 1, 1),  # although it goes through its list again
        (OURS["callbacks"], "churn", "connect", 1, 1),
        # In its trials' state of malloc. Once each page had three calls for the memory of a
        # receive, which no trial has.
        (OURS["async_await"], "fetch", "mremap", 0, 0.1),
    ],
    ids=["the floor", "churn", "malloc"],
)
def test_a_backend_is_counted_as_it_is_measured(
    lane: Lane, backend: Backend, workload: str, call: str, least: float, most: float
) -> None:
    crawled = lane.count(backend, usable("system calls"), [workload], 0).crawls[workload]
    assert least <= crawled.per_page().get(f"system_call.{call}", 0) <= most


def test_a_wrong_crawl_is_void_and_gives_no_count(
    lane: Lane, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = lane.server
    other: dict[str | None, str] = {f"list:{PAGES}:2048": f"list:{PAGES - 1}:2048"}
    monkeypatch.setattr(lane, "server", lambda site: server(other.get(site) or site))
    with pytest.raises(Lost, match="fetch: wrong digest") as lost:
        lane.count(OURS["callbacks"], usable("system calls"), ["fetch"], 0)
    assert (lost.value.status, lost.value.part) == ("void", Counted())


def test_a_backend_that_cannot_be_loaded_is_a_failure_with_a_reason(lane: Lane) -> None:
    with pytest.raises(Lost, match="nonesuch") as lost:
        lane.count(Backend("nonesuch", "", ""), usable("system calls"), ["fetch"], 0)
    assert lost.value.status == "failed"


# --- the programs -----------------------------------------------------------------------------


def test_what_is_counted_of_whom(monkeypatch: pytest.MonkeyPatch) -> None:
    gone = replace(OURS["trio"], missing="no trio")
    monkeypatch.setattr(backends, "look_up", lambda *_: [OURS["callbacks"], OURS["httpx"], gone])
    calls, none = Instrument("calls", "strace"), Instrument("heap", "", missing="no valgrind")
    crawled: dict[str, Sequence[str]] = {}

    def count(backend: Backend, _: object, workloads: Sequence[str], __: int) -> Counted:
        crawled[backend.name] = workloads
        return Counted()

    with ExitStack() as stack:
        lane = Lane(PAGES, SLOTS, stack)
        monkeypatch.setattr(lane, "count", count)
        made = list(measure.programs(lane, None, [*measure.WORKLOADS], [calls, none]))
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
