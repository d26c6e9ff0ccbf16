"""Crawls leave nothing behind, however and whenever they end.

``python -m tests.torture.leaks`` tries every installed backend, each in its own process,
with endings and moments that Hypothesis picks.
"""

from __future__ import annotations

import argparse
import json
import signal
import subprocess
import sys
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from types import FrameType
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bench.launch import ROOT
from bench.run import leftovers
from crawlers import registry
from crawlers.job import Job
from crawlers.recorder import NullRecorder
from crawlers.registry import Backend, BackendError
from tests.server.fixture_server import running
from tests.torture import keep

SITE = ("--site", "tree:60:5:1024", "--delay", "exponential:4")
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


@contextmanager
def no_warnings() -> Iterator[None]:
    """Fail if there is a warning inside, or an error that cannot be caught (in ``__del__``)."""
    unraised: list[str] = []
    before = sys.unraisablehook
    sys.unraisablehook = lambda hook: unraised.append(repr(hook.exc_value))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            yield
    finally:
        sys.unraisablehook = before
    assert not unraised, f"from objects that were not closed: {unraised}"


def try_backend(name: str, count: int) -> dict[str, int]:
    """Count the crawls of a backend by outcome; raises AssertionError for a leak."""
    backend = registry.load(name)
    outcomes: Counter[str] = Counter()
    with running(*SITE) as server:
        url = f"http://{server.ready['listening']}/"
        warm(backend, url)

        @settings(
            max_examples=count,
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
        )
        @given(cases)
        def every_case(case: Case) -> None:
            outcomes[check(backend, url, case)] += 1

        with no_warnings():
            every_case()
    return dict(sorted(outcomes.items()))


def in_a_process(name: str, count: int) -> dict[str, Any]:
    """Try a backend in its own process; the counts, or why it failed."""
    command = [sys.executable, "-m", "tests.torture.leaks", "--only", name, "--cases", str(count)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if done.returncode == SKIPPED:
        return {"skipped": done.stderr.strip()}
    if done.returncode:
        failed = [line for line in done.stderr.splitlines() if "AssertionError" in line]
        return {"failed": (failed or done.stderr.splitlines() or ["no reason given"])[-1]}
    counted: dict[str, Any] = json.loads(done.stdout)
    return counted


SKIPPED = 3


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.torture.leaks", description=__doc__)
    parser.add_argument("--cases", type=int, default=100, help="crawls of each backend")
    parser.add_argument(
        "--only", metavar="BACKEND", help="only this one, in this process; prints JSON"
    )
    options = parser.parse_args()
    if options.only:
        try:
            print(json.dumps(try_backend(options.only, options.cases)))
        except BackendError as error:
            print(error, file=sys.stderr)
            return SKIPPED
        return 0
    found = {}
    for name in registry.names():
        found[name] = in_a_process(name, options.cases)
        print(f"{name}: {found[name]}", flush=True)
    keep("leaks", found)
    return int(any("failed" in outcome for outcome in found.values()))


if __name__ == "__main__":
    raise SystemExit(main())
