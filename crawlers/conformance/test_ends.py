"""How a crawl ends before its work is done, in every backend."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator

import pytest

from crawlers.conformance.crawling import crawl, outcomes
from crawlers.conformance.scripted import (
    Connection,
    ScriptedServer,
    page,
)
from crawlers.recorder import NullRecorder
from crawlers.registry import Backend

pytestmark = [pytest.mark.timeout(300)]


@pytest.fixture
def interruptible() -> Iterator[None]:
    """A shell starts what is in the background with SIGINT ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_a_deadline_ends_the_crawl_with_what_there_is(
    backend: Backend, server: ScriptedServer, nothing_left: None
) -> None:
    server.script["/"] = page("/hang", "/never", "/never2")
    server.script["/hang"] = Connection.hang
    for deadline_s in (0.5, 2.0, 8.0, 32.0):  # a busy machine needs longer for the first page
        # A stack that cannot end a call waits for its timeout, so that must not be long.
        timeout_s = deadline_s + 5.0
        report = crawl(backend, server, slots=1, deadline_s=deadline_s, timeout_s=timeout_s)
        if server.requests["/hang"]:
            break
    assert report.stopped == "deadline"
    assert outcomes(report) == {"/": 200, "/hang": "cancelled"}
    assert report.left == 2


def test_an_interrupt_ends_the_crawl_with_what_there_is(
    backend: Backend, server: ScriptedServer, nothing_left: None, interruptible: None
) -> None:
    before = signal.getsignal(signal.SIGINT)

    def interrupt(connection: Connection) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        connection.hang()

    server.script["/"] = page("/0", "/1", "/2", "/3")
    server.script["/0"] = page()
    server.script["/1"] = interrupt
    server.script["/2"] = server.script["/3"] = Connection.hang
    report = crawl(backend, server, slots=3, timeout_s=8.0)
    assert report.stopped == "interrupted"
    assert report.pages >= 1
    assert report.errors["cancelled"] >= 1
    assert len(outcomes(report)) + report.left == 5, "every page is reported, or left"
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.slow  # twenty seconds with a stack that cannot end a call
def test_an_interrupt_closes_every_connection_in_flight(
    backend: Backend, server: ScriptedServer, nothing_left: None, interruptible: None
) -> None:
    slots = min(backend.most or 12, 12)
    waiting = threading.Semaphore(0)

    def hang(connection: Connection) -> None:
        waiting.release()
        connection.hang()

    def interrupt(connection: Connection) -> None:
        for _ in range(slots - 1):
            assert waiting.acquire(timeout=60)
        os.kill(os.getpid(), signal.SIGINT)
        connection.hang()

    links = [f"/{number}" for number in range(slots)]
    server.script["/"] = page(*links)
    server.script |= dict.fromkeys(links[1:], hang) | {links[0]: interrupt}
    # A stack that cannot end a call waits for its timeout.
    report = crawl(backend, server, slots=slots, timeout_s=20.0)
    assert report.stopped == "interrupted"
    assert outcomes(report) == {"/": 200, **dict.fromkeys(links, "cancelled")}
    give_up = time.monotonic() + 100
    while server.open_now and time.monotonic() < give_up:
        time.sleep(0.01)
    assert server.open_now == 0


def test_a_retry_that_waits_is_dropped_at_the_deadline(
    backend: Backend, server: ScriptedServer, nothing_left: None
) -> None:
    server.script["/"] = Connection.reset
    began = time.monotonic()
    report = crawl(backend, server, slots=2, deadline_s=0.5, max_tries=30)
    assert report.stopped == "deadline"
    assert time.monotonic() - began < 100


def test_an_error_of_the_recorder_reaches_the_caller(
    backend: Backend, server: ScriptedServer, nothing_left: None
) -> None:
    class Broken(NullRecorder):
        def record(self, slot: int, due: float, started: float, ended: float) -> None:
            raise ZeroDivisionError("recorder")

    server.script["/"] = page("/a", "/b")
    with pytest.raises(ZeroDivisionError, match="recorder"):
        crawl(backend, server, Broken(), slots=4)
