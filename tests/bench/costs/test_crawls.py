"""Crawls in forks of one process: the same counts as in processes of their own."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from bench.costs import forking
from bench.costs.crawls import Counted, CrawlError, Place
from bench.costs.sites import Sites
from bench.machine import instruments
from bench.machine.instruments import Counts, Instrument

PAGES, SLOTS = 60, 5


@pytest.fixture(scope="module")
def sites() -> Iterator[Sites]:
    with Sites(SLOTS) as running:
        yield running


def usable(name: str) -> Instrument:
    (found,) = instruments.find([name], "valgrind")
    if found.missing is not None:
        pytest.skip(found.missing)
    return found


def page(sites: Sites, folder: Path, instrument: Instrument, backend: str, pages: int) -> Counts:
    """What a page takes."""
    with Counted(backend, instrument, 1, folder) as counted:
        small, large = (
            counted.count(site.point, Place(site.server, sites.warmup, folder))
            for site in sites.pair("fetch", pages)
        )
    return {cost: (large[cost] - small[cost]) / pages for cost in small if cost in large}  # type: ignore[misc]


def test_a_fork_makes_the_calls_of_a_process_of_its_own(sites: Sites, tmp_path: Path) -> None:
    strace = usable("system calls")
    forked = page(sites, tmp_path, strace, "callbacks", PAGES)
    alone = page(sites, tmp_path, replace(strace, forks=False), "callbacks", PAGES)
    for call in ("system_call.sendto", "system_call.recvfrom"):
        assert forked[call] == alone[call] == 1


@pytest.mark.slow
def test_a_fork_takes_the_instructions_of_a_process_of_its_own(tmp_path: Path) -> None:
    """To a percent, whatever else runs here: a fork takes 0.4 % less.

    With one slot the loop wakes once for each page. With more, the load of the machine decides how
    many pages it takes at a time. That mattered in the warm-up, which forks share and processes do
    not: with five slots they differed by 1.03 % once.
    """
    cachegrind = usable("instructions")
    with Sites(slots=1) as sites:
        forked = page(sites, tmp_path, cachegrind, "callbacks", 300)["instructions"]
        alone = page(sites, tmp_path, replace(cachegrind, forks=False), "callbacks", 300)
    assert forked == pytest.approx(alone["instructions"], rel=0.01)


def test_the_floor_is_counted_as_a_control(sites: Sites, tmp_path: Path) -> None:
    found = page(sites, tmp_path, usable("system calls"), "bare", PAGES)
    assert found["system_call.sendto"] == 4, "it goes through its list four times"


def test_each_page_of_churn_has_a_connection_of_its_own(sites: Sites, tmp_path: Path) -> None:
    with Counted("callbacks", usable("system calls"), 1, tmp_path) as counted:
        small, large = (
            counted.count(site.point, Place(site.server, sites.warmup, tmp_path))
            for site in sites.pair("churn", PAGES)
        )
    assert large["system_call.connect"] - small["system_call.connect"] == PAGES


def test_after_a_failure_another_process_is_started(sites: Sites, tmp_path: Path) -> None:
    strace = usable("system calls")
    site, _ = sites.pair("fetch", PAGES)
    place = Place(site.server, sites.warmup, tmp_path)
    with Counted("callbacks", strace, 1, tmp_path) as counted:
        with pytest.raises(CrawlError, match="wrong digest") as found:
            counted.count(replace(site.point, urls=PAGES - 1), place)
        assert found.value.void
        assert counted.count(site.point, place)["system_call.sendto"] >= PAGES


def test_a_backend_that_cannot_be_loaded_is_a_failure_with_a_reason(
    sites: Sites, tmp_path: Path
) -> None:
    site, _ = sites.pair("fetch", PAGES)
    place = Place(site.server, sites.warmup, tmp_path)
    with (
        Counted("nonesuch", usable("system calls"), 1, tmp_path) as counted,
        pytest.raises(CrawlError, match="nonesuch") as found,
    ):
        counted.count(site.point, place)
    assert not found.value.void


def test_a_stopped_one_starts_nothing(sites: Sites, tmp_path: Path) -> None:
    site, _ = sites.pair("fetch", PAGES)
    counted = Counted("callbacks", instruments.kernel(), 1, tmp_path)
    counted.stop()
    with counted, pytest.raises(CrawlError, match="stopped"):
        counted.count(site.point, Place(site.server, sites.warmup, tmp_path))


def test_without_a_command_there_is_nothing_to_serve() -> None:
    with open(os.devnull, "w", encoding="utf-8") as replies:
        assert forking.serve(io.StringIO(""), replies) == 2
