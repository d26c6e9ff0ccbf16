"""partition with more processes than this machine may have processors; its shares without any."""

from __future__ import annotations

import pickle
from collections import deque
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawlers.frontier import Frontier
from crawlers.job import CrawlReport, Job
from crawlers.recorder import NullRecorder
from crawlers.variants import partition
from crawlers.variants._share import Parcel, Share
from tests.crawlers.backends import outcomes, slots_meet
from tests.crawlers.conftest import FixtureServer
from tests.crawlers.test_frontier import Site, answer, crawl_on_paper, sites, urls

PROCESSES = 4


@pytest.fixture
def many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(partition, "processors", lambda: PROCESSES)


def crawl(*urls: str, **settings: Any) -> CrawlReport:
    return partition.crawl(Job(urls, **settings), NullRecorder())


@pytest.mark.usefixtures("many")
@pytest.mark.parametrize("slots", [2, PROCESSES, 30])
def test_many_processes_fetch_each_page_once(tree: FixtureServer, slots: int) -> None:
    report = crawl(tree.url, slots=slots)
    assert report.digest == tree.digest
    assert report.mechanism["processes"] == min(slots, PROCESSES)


@pytest.mark.usefixtures("many")
def test_idle_slots_are_given_what_waits_for_a_slot_elsewhere() -> None:
    """As many answers as there are slots wait for each other, whatever shares they are in."""
    slots_meet(crawl, 10, wait_s=200, timeout_s=250.0)


@given(st.integers(1, 40), st.integers(1, 5), st.integers(0, 40))
def test_a_list_is_dealt_out_with_its_schedule(length: int, count: int, due: int) -> None:
    schedule = tuple(float(number) for number in range(min(due, length)))
    job = Job(urls(length), follow=False, schedule=schedule or None)
    whole = Frontier(job)
    whole.start(0.0)
    planned = {item.url: item.intended for item in iter(whole.take, None)}
    found: dict[str, float] = {}
    for number in range(count):
        share = Share(job, number, count)
        share.start(0.0)
        part = [*iter(share.take, None)]
        assert abs(len(part) - length / count) < 1
        assert not found.keys() & {item.url for item in part}
        found |= {item.url: item.intended for item in part}
    assert found == planned


def test_what_has_a_due_time_stays_in_its_share() -> None:
    share = Share(Job(urls(4), follow=False, schedule=(0.0, 1.0, 2.0, 3.0)), 0, 1)
    assert share.spare == share.give(1, 3) == 0


@given(sites(), st.integers(1, 4), st.integers(0, 3), st.integers())
def test_shares_come_to_what_one_frontier_does(
    site: Site, count: int, most: int, seed: int
) -> None:
    """In any order of answers and parcels, and whatever is given away; each URL is taken once."""
    order = Random(seed)
    job = Job((next(iter(site)),), max_redirects=most)
    shares = [Share(job, number, count) for number in range(count)]
    under_way: list[deque[Parcel]] = [deque() for _ in shares]
    fetched: list[str] = []
    while any(share.ready for share in shares) or any(under_way):
        number = order.randrange(count)
        share = shares[number]
        what = order.randrange(3)
        if what == 0 and under_way[number]:
            share.take_in(pickle.loads(pickle.dumps(under_way[number].popleft())))
        elif what == 1 and count > 1:
            share.give((number + 1) % count, order.randrange(3))
        elif item := share.take():
            fetched.append(item.url)
            share.settle(item, answer(site, item.url), 0.0)
        away, share.away = share.away, {}
        for other, parcel in away.items():
            under_way[other].append(parcel)
    whole = partition.Whole(job)
    for share in shares:
        whole.add(share.result([]))
    assert sorted(fetched) == sorted(set(fetched))
    assert outcomes(whole.report("partition", {})) == crawl_on_paper(site, most, seed)
    assert whole.left == 0


def test_other_machines_belong_to_one_share_each() -> None:
    job = Job(urls(2), any_host=True)
    shares = [Share(job, number, 3) for number in range(3)]
    for share in shares:
        assert {share.owner(url) for url in urls(50)} == {share.owner(urls(1)[0])}
        assert share.spare == 0
