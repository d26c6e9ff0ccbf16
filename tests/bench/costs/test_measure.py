"""Real counts of real, small crawls, and the tasks that they are divided into."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from bench.__main__ import main
from bench.controls import REPEATS
from bench.costs import measure, record
from bench.costs.measure import CostsOptions, Counted, Sites, Task
from bench.costs.record import CrawlError, Sample
from bench.machine import instruments
from bench.machine.instruments import Counts, Instrument

SMALL = CostsOptions(backends=["callbacks"], workloads=("fetch",), pages=60, slots=5, seeds=[1])


def run(options: CostsOptions) -> list[Sample]:
    """The samples; each was reported."""
    seen: list[Sample] = []
    found = measure.run(options, lambda sample, done, planned: seen.append(sample))
    assert {sample.key for sample in found.samples} == {sample.key for sample in seen}
    return list(found.samples)


def usable(name: str) -> Instrument:
    (found,) = instruments.find([name])
    if found.missing is not None:
        pytest.skip(found.missing)
    return found


def test_system_calls_of_a_page() -> None:
    usable("system calls")
    (sample,) = run(replace(SMALL, instruments=("system calls",)))
    assert sample.status == "ok", sample.reason
    small, large = sample.counts["system_call.sendto"]
    assert large - small == 60, "one for each page"


@pytest.mark.slow
def test_a_server_is_counted_under_a_load_that_stops_by_itself() -> None:
    usable("system calls")
    options = replace(SMALL, workloads=("serve",), backends=["callbacks", "bare", "aiohttp_web"])
    found = run(replace(options, instruments=("system calls",)))
    assert {sample.backend for sample in found} == {"callbacks", "bare", "aiohttp_web"}
    for sample in found:
        assert (sample.status, sample.reason) == ("ok", None)
        small, large = sample.counts["system_call.sendto"]
        assert large - small == sample.pages, "one for each request"


@pytest.mark.slow
def test_instructions_of_a_page() -> None:
    usable("instructions")
    (sample,) = run(replace(SMALL, instruments=("instructions",), pages=200))
    assert sample.status == "ok", sample.reason
    small, large = sample.counts["instructions"]
    assert 10_000 < (large - small) / 200 < 1_000_000


def test_a_wrong_crawl_is_void_and_gives_no_count(monkeypatch: pytest.MonkeyPatch) -> None:
    usable("system calls")
    monkeypatch.setattr(
        "bench.costs.measure.judge.void_reason", lambda *_: "wrong digest of 60 URLs"
    )
    (sample,) = run(replace(SMALL, instruments=("system calls",)))
    assert (sample.status, sample.reason) == ("void", "wrong digest of 60 URLs")
    assert sample.counts == {}


def test_the_command_counts_writes_and_redraws(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    usable("system calls")
    out = tmp_path / "costs"
    asked = [
        "study",
        "costs",
        "--backends",
        "callbacks",
        "--workload",
        "fetch",
        "--count",
        "system calls",
    ]
    asked += ["--pages", "40", "--slots", "4", "--seeds", "1", "--out", str(out), "--json"]
    assert main(asked) == 0
    told = json.loads(capsys.readouterr().out)
    assert set(told) == {"fetch"}
    assert "system_calls" in told["fetch"]["callbacks"]
    assert len(record.load(out).samples) == 1
    (out / "summary.md").unlink()
    assert main(["study", "costs", "--redraw", "--out", str(out), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == told
    assert "# What a page costs" in (out / "summary.md").read_text()


PAGES, SLOTS = 60, 5


@pytest.fixture(scope="module")
def sites() -> Iterator[Sites]:
    with Sites(SLOTS) as running:
        yield running


def page(sites: Sites, folder: Path, instrument: Instrument, backend: str, pages: int) -> Counts:
    """What a page takes."""
    with Counted(backend, instrument, 1, sites, folder) as counted:
        small, large = map(counted.count, sites.pair("fetch", pages))
    return {cost: (large[cost] - small[cost]) / pages for cost in small if cost in large}  # type: ignore[misc]


def test_the_floor_is_counted_as_a_control(sites: Sites, tmp_path: Path) -> None:
    found = page(sites, tmp_path, usable("system calls"), "bare", PAGES)
    assert found["system_call.sendto"] == 4, "it goes through its list four times"


def test_each_page_of_churn_has_a_connection_of_its_own(sites: Sites, tmp_path: Path) -> None:
    with Counted("callbacks", usable("system calls"), 1, sites, tmp_path) as counted:
        small, large = map(counted.count, sites.pair("churn", PAGES))
    assert large["system_call.connect"] - small["system_call.connect"] == PAGES


def test_asyncio_is_counted_in_the_state_of_malloc_in_which_it_is_measured(
    sites: Sites, tmp_path: Path
) -> None:
    """Once each page had three calls for the memory of a receive, which no trial has."""
    found = page(sites, tmp_path, usable("system calls"), "async_await", PAGES)
    assert found.get("system_call.mremap", 0) < PAGES / 10


def test_after_a_failure_another_process_is_started(sites: Sites, tmp_path: Path) -> None:
    strace = usable("system calls")
    site, _ = sites.pair("fetch", PAGES)
    with Counted("callbacks", strace, 1, sites, tmp_path) as counted:
        with pytest.raises(CrawlError, match="wrong digest") as found:
            counted.count(replace(site, point=replace(site.point, site=f"list:{PAGES - 1}:2048")))
        assert found.value.void
        assert counted.count(site)["system_call.sendto"] >= PAGES


def test_a_backend_that_cannot_be_loaded_is_a_failure_with_a_reason(
    sites: Sites, tmp_path: Path
) -> None:
    site, _ = sites.pair("fetch", PAGES)
    with (
        Counted("nonesuch", usable("system calls"), 1, sites, tmp_path) as counted,
        pytest.raises(CrawlError, match="nonesuch") as found,
    ):
        counted.count(site)
    assert not found.value.void


def test_a_stopped_one_starts_nothing(sites: Sites, tmp_path: Path) -> None:
    site, _ = sites.pair("fetch", PAGES)
    counted = Counted("callbacks", instruments.strace(), 1, sites, tmp_path)
    counted.stop()
    with counted, pytest.raises(CrawlError, match="stopped"):
        counted.count(site)


NAMES = ["bare", "callbacks", "httpx"]
BOTH = ("fetch", "crawl")
CALLS = Instrument("system calls", "strace")


def planned(*seeds: int) -> list[Task]:
    return measure.plan(NAMES, [CALLS], seeds, BOTH, 500)


def test_each_seed_has_all_backends_before_the_next() -> None:
    assert [(task.seed, task.backend) for task in planned(1, 2)] == [
        (seed, name) for seed in (1, 2) for name in NAMES
    ]


def test_the_floor_has_no_links_and_goes_through_its_list_several_times() -> None:
    floor, callbacks, _ = planned(1)
    assert (floor.workloads, callbacks.workloads) == (("fetch",), BOTH)
    assert (floor.repeats, callbacks.repeats) == (REPEATS, 1)
    assert measure.plan(["bare"], [CALLS], [1], ("crawl",), 500) == []


def test_a_connection_for_each_page_is_counted_where_readers_look_first() -> None:
    found = measure.plan(NAMES, [CALLS], [1], ("fetch", "churn"), 500)
    assert [(task.backend, task.workloads) for task in found] == [
        ("bare", ("fetch",)),
        ("callbacks", ("fetch", "churn")),
        ("httpx", ("fetch",)),
    ]


def test_what_is_done_is_left_out() -> None:
    found = planned(1)
    done = {("bare", "fetch", "system calls", 1), ("httpx", "crawl", "system calls", 1)}
    left = measure.without(found, done)
    assert [(task.backend, task.workloads) for task in left] == [
        ("callbacks", BOTH),
        ("httpx", ("fetch",)),
    ]
