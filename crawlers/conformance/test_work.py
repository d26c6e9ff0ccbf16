"""Pages that need work: each is worked on once, where the backend says, and the rest is as ever."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from multiprocessing import resource_tracker

import pytest

from crawlers import work
from crawlers.conformance.crawling import crawl
from crawlers.conformance.scripted import ScriptedServer, ok
from crawlers.job import Job, Work
from crawlers.recorder import TimesRecorder
from crawlers.registry import Backend

pytestmark = [pytest.mark.timeout(300)]

PAGES = 40
ROUNDS = 3
TEXT = b"<p>a page of words, of words and of pages</p>"


@pytest.fixture
def plain() -> Iterator[ScriptedServer]:
    """A server over plain HTTP: work has nothing to do with what is below it."""
    with ScriptedServer() as server:
        yield server
        work.begin(Job((server.url,)))  # later tests read pages as ever


@pytest.fixture
def tracker() -> None:
    """Python starts this process with the first pool, and keeps it as long as it lives."""
    resource_tracker.ensure_running()


@pytest.mark.parametrize("slots", [1, 8])
def test_the_pages_that_need_work_are_worked_on_once(
    backend: Backend, plain: ScriptedServer, slots: int, tracker: None, nothing_left: None
) -> None:
    bodies = {f"/{n}": TEXT + b"%d" % n for n in range(PAGES)}
    for path, body in bodies.items():
        plain.script[path] = ok(body)
    paths = list(bodies)
    wanted = {f"{plain.url.rstrip('/')}{paths[n]}": bodies[paths[n]] for n in (3, 7, 19, 39)}
    job = Job(
        tuple(f"{plain.url.rstrip('/')}{path}" for path in paths),
        slots=slots,
        follow=False,
        schedule=tuple(0.001 * n for n in range(PAGES)),
        work=Work(frozenset(wanted), ROUNDS),
    )
    work.begin(job)
    recorder = TimesRecorder()
    report = backend.crawl(job, recorder)
    assert report.pages == PAGES
    assert len(recorder.response) == PAGES
    pages = {url: row for url, row in report.rows.items() if isinstance(row, work.WorkedPage)}
    assert pages.keys() == wanted.keys()
    for url, row in pages.items():
        assert row.done.check == work.fold(work.words(wanted[url]), ROUNDS)
        assert row.done.ended >= row.intended > 0
        assert row.size == len(wanted[url])
    assert not work.elsewhere
    where = {(row.done.process, row.done.thread) for row in pages.values()}
    here = (os.getpid(), threading.get_ident())
    if backend.name in ("async_await_to_thread", "async_await_pool"):
        assert here not in where
    if backend.name == "async_await_pool":
        assert os.getpid() not in {process for process, _ in where}


def test_without_work_pages_are_read_as_ever(backend: Backend, plain: ScriptedServer) -> None:
    plain.script["/"] = ok(TEXT)
    work.begin(Job((plain.url,)))
    report = crawl(backend, plain, slots=1)
    assert not work.worked(report.rows)
