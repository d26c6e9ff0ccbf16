"""However a crawl ends, nothing of it is left. The long form: nox -s torture -- leaks."""

from __future__ import annotations

import gc
import signal
import subprocess
import sys
import time
from asyncio import StreamReaderProtocol
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from types import FrameType

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bench.sides import leftovers
from crawlers import registry
from crawlers.conformance.scripted import Connection, ScriptedServer
from crawlers.job import Job
from crawlers.recorder import NullRecorder
from crawlers.registry import Backend
from tests.crawlers.backends import load
from tests.server.fixture_server import Running, running

SITE = ("--site", "tree:60:5:1024", "--delay", "lognormal:4")
LONGEST_S = 0.12
"""About how long a crawl of the site takes with few slots. Moments are drawn up to here."""

ENDINGS = ("whole", "deadline", "interrupt", "failure")


PATIENCE_S = 20.0
"""Ended threads and reaped children may still be listed for a moment."""


def held() -> Counter[str]:
    """Descriptors, threads, children, live objects of tasks and timers, signal handlers."""
    found = leftovers.count()
    for number in (signal.SIGINT, signal.SIGTERM):
        found[f"handler of {number.name}: {signal.getsignal(number)}"] = 1
    return found


def left(before: Counter[str]) -> Counter[str]:
    """What there is more of than ``before``, after a moment for it to go away."""
    give_up = time.monotonic() + PATIENCE_S
    while (more := held() - before) and time.monotonic() < give_up:
        time.sleep(0.02)
    return more


class Failure(Exception):
    """Raised by the recorder."""


class Failing(NullRecorder):
    """A recorder that fails after a number of answers."""

    def __init__(self, answers: int) -> None:
        self.answers = answers

    def record(self, slot: int, due: float, started: float, ended: float) -> None:
        self.answers -= 1
        if self.answers < 0:
            raise Failure


@dataclass(frozen=True, slots=True)
class Case:
    """A crawl and its ending; ``moment`` is a share of :data:`LONGEST_S` or of the pages."""

    ending: str
    moment: float
    slots: int


cases = st.builds(
    Case,
    ending=st.sampled_from(ENDINGS),
    moment=st.floats(0.01, 1.0),
    slots=st.sampled_from((1, 3, 10)),
)


@contextmanager
def interrupted(after_s: float) -> Iterator[None]:
    """Send SIGINT to this process once, after ``after_s``, if the crawl still handles it.

    The kernel's timer does this, because a thread of ours would be counted.
    """

    def strike(number: int, frame: FrameType | None) -> None:
        if signal.getsignal(signal.SIGINT) is not usual:
            signal.raise_signal(signal.SIGINT)

    usual = signal.getsignal(signal.SIGINT)
    before = signal.signal(signal.SIGALRM, strike)
    signal.setitimer(signal.ITIMER_REAL, after_s)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def crawl(backend: Backend, url: str, case: Case) -> str:
    """Crawl with the ending of the case; the outcome in a word."""
    after_s = case.moment * LONGEST_S
    job = Job(
        (url,),
        slots=case.slots,
        timeout_s=0.1,  # looks at the clock, and for signals, four times as often
        deadline_s=after_s if case.ending == "deadline" else None,
    )
    recorder = Failing(int(case.moment * 60)) if case.ending == "failure" else NullRecorder()
    try:
        with interrupted(after_s) if case.ending == "interrupt" else nullcontext():
            report = backend.crawl(job, recorder)
    except Failure:
        return "failed crawl"
    return report.stopped or "whole"


def check(backend: Backend, url: str, case: Case) -> str:
    """Crawl, and check that nothing is left behind; the outcome in a word."""
    before = held()
    outcome = crawl(backend, url, case)
    more = left(before)
    assert not more, f"{backend.name}, {case}: {outcome}, left behind: {dict(more)}"
    return outcome


def warm(backend: Backend, url: str) -> None:
    """Let libraries open whatever they keep for the life of the process (uvloop: a pipe)."""
    for ending in ENDINGS:
        crawl(backend, url, Case(ending, 0.1, 2))


USUAL = ("threads", "async_await")
OTHERS = (*registry.MODELS, "processes", "threads_pool", "trio", "uvloop", "gevent", "twisted")
"""These too have something of their own to leave: threads, loops, a log."""


@pytest.fixture(scope="module")
def small() -> Iterator[Running]:
    with running(*SITE) as server:
        yield server


@pytest.mark.parametrize(
    "name",
    [*USUAL, *(pytest.param(each, marks=pytest.mark.slow) for each in OTHERS if each not in USUAL)],
)
def test_nothing_is_left_of_a_crawl(name: str, small: Running) -> None:
    backend = load(name)
    warm(backend, small.url)

    @settings(
        max_examples=settings().max_examples // (15 if name in registry.MODELS else 30),
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(cases)
    def every_case(case: Case) -> None:
        check(backend, small.url, case)

    every_case()


@pytest.mark.parametrize("name", ["threads", "processes"])
def test_a_second_interrupt_ends_the_process_at_once(name: str) -> None:
    """Threads went on crawling to the end of the site, and the process with them."""
    with running("--site", "tree:6000:6:2048", "--delay", "fixed:50") as server:
        crawler = subprocess.Popen([sys.executable, "-m", "crawlers", name, server.url, "-c", "2"])
        while server.call("/ledger?summary=1")["total"] < 5:
            assert crawler.poll() is None
        # Two that come together are one to the kernel: the second must find the first delivered.
        until = time.monotonic() + 60
        while crawler.poll() is None and time.monotonic() < until:
            crawler.send_signal(signal.SIGINT)
            time.sleep(0.05)
        assert crawler.wait(60) in (-signal.SIGINT, 130)
        # The rest of the site would take longer than this.
        while server.call("/ledger?summary=1")["connections_open"]:
            assert time.monotonic() < until, "somebody goes on crawling"
            time.sleep(0.05)


def test_a_stream_that_was_reset_is_no_garbage() -> None:
    """asyncio logged 1 of 50,000: collected, its Future may come before what silences it."""
    with ScriptedServer() as server:
        server.script["/"] = Connection.reset
        gc.collect()
        gc.disable()
        load("async_await").crawl(Job((server.url,), slots=1, max_tries=1), NullRecorder())
        left = [each for each in gc.get_objects() if type(each) is StreamReaderProtocol]
        gc.enable()
    assert left == []
