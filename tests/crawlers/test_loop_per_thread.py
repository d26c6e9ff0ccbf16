"""loop_per_thread with more threads than this machine may have processors."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from crawlers.conformance.scripted import Connection, ScriptedServer, page
from crawlers.job import CrawlReport, Job, JobError
from crawlers.recorder import NullRecorder
from crawlers.variants import loop_per_thread
from tests.crawlers.backends import link
from tests.server.fixture_server import Running

THREADS = 5


@pytest.fixture(autouse=True)
def many(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """So many threads, and none of them is left; another test's thread may still be ending."""
    monkeypatch.setattr(loop_per_thread, "processors", lambda: THREADS)
    before = set(threading.enumerate())
    yield
    assert set(threading.enumerate()) <= before


def crawl(*urls: str, **settings: Any) -> CrawlReport:
    return loop_per_thread.crawl(Job(urls, **settings), NullRecorder())


def test_many_loops_fetch_each_page_once(tree: Running) -> None:
    """With no more threads than slots."""
    for slots in (2, THREADS, 12, 50):
        report = crawl(tree.url, slots=slots)
        assert report.digest == tree.ready["digest"]
        assert report.mechanism["loops"] == min(slots, THREADS)
        assert report.mechanism["threads"] == min(slots, THREADS) + 1


def test_a_slot_wakes_those_of_other_loops() -> None:
    """The first page links to as many as there are slots, and no answer comes before all asked."""
    met = threading.Barrier(10, timeout=60)

    def answer(connection: Connection) -> None:
        met.wait()
        connection.send(page())

    with ScriptedServer() as server:
        link(server, *(paths := [f"/{number}" for number in range(10)]))
        server.script |= dict.fromkeys(paths, answer)
        report = crawl(server.url, slots=10, timeout_s=90.0)
    assert (report.errors, report.pages) == ({}, 11)


class Broken(NullRecorder):
    """Fails at the first answer."""

    def record(self, slot: int, due: float, started: float, ended: float) -> None:
        raise LookupError("no room")


def test_an_error_in_one_thread_ends_all_of_them(tree: Running) -> None:
    with pytest.raises(LookupError, match="no room"):
        loop_per_thread.crawl(Job((tree.url,), slots=20), Broken())


def test_a_thread_that_cannot_start_ends_the_crawl(
    monkeypatch: pytest.MonkeyPatch, tree: Running
) -> None:
    start, started = threading.Thread.start, list[threading.Thread]()

    def fail_at_third(thread: threading.Thread) -> None:
        if len(started) == 2:
            raise RuntimeError("can't start new thread")
        started.append(thread)
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", fail_at_third)
    with pytest.raises(JobError, match="no 5 threads"):
        crawl(tree.url, slots=20)
