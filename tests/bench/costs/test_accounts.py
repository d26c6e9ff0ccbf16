"""Costs per page, from totals of two crawls."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.analysis.stats import Spread
from bench.costs import accounts, report
from bench.costs.accounts import Crawled
from bench.machine.instruments import SYSCALLS
from tests.bench.costs.samples import PAGES, counted, crawls, run, sample

CALLS = {"system_calls": 28.2, "system_call.futex": 25.2}


@given(st.floats(0, 1e6), st.integers(0, 10**9))
def test_what_both_crawls_took_cancels(page: float, start: int) -> None:
    small, large = start + round(page * PAGES), start + 2 * round(page * PAGES)
    found = Crawled(pages=PAGES, counts={"instructions": (small, large)}).per_page()
    assert found["instructions"] == pytest.approx(page, abs=1 / PAGES)


def test_ranges_are_over_seeds_and_bad_samples_never_count() -> None:
    good = counted([90.0, 100.0, 130.0])
    bad = sample(seed=4, lost="fetch: wrong digest", crawl={"instructions": 200.0})
    fetch, crawl = accounts.accounts(run(*good, bad))
    assert fetch.costs["instructions"] == Spread(100.0, 90.0, 130.0, 3)
    assert crawl.costs["instructions"] == Spread(200.0, 200.0, 200.0, 1), "its crawl was right"
    assert fetch.python == "CPython 3.11.9"


def test_a_system_call_that_one_seed_did_not_make_counts_as_none() -> None:
    both = {"system_calls": 2.0, "system_call.connect": 1.0}
    samples = (
        sample("system calls", 1, fetch=both),
        sample("system calls", 2, fetch={"system_calls": 2.0}),
    )
    (made,) = accounts.accounts(run(*samples))
    assert made.costs["system_call.connect"] == Spread(0.5, 0.0, 1.0, 2)
    assert list(made.calls()) == ["connect"]


@pytest.mark.parametrize(
    ("tool", "futex", "shown"),
    [("strace 6.1", 25.2, False), ("strace 6.1", 0.02, True), ("a tracepoint", 25.2, True)],
)
def test_no_system_calls_of_threads_that_a_tracer_stopped(
    tool: str, futex: float, shown: bool
) -> None:
    """They met at the lock 25 times a page, and once at full speed."""
    traced = sample("system calls", backend="threads", fetch=CALLS | {"system_call.futex": futex})
    (untraced,) = counted([1.0], "threads")
    found = run(traced, untraced)
    found.head.settings["system calls"] = tool
    (made,) = accounts.accounts(found)
    assert (SYSCALLS in made.costs) == shown
    assert (made.untold is None) == shown
    text = report.report(found).summary()
    assert ("28.2" in text) == shown
    assert text.count("No system calls of threads: strace stops a thread") == (not shown)


def test_the_words_say_over_how_many_seeds_a_range_is() -> None:
    three = counted([1.0, 2.0, 3.0])
    assert accounts.seed_words(accounts.accounts(run(*three))) == "3 hash seeds"
    mixed = accounts.accounts(run(*three, *counted([1.0], "generators")))
    assert accounts.seed_words(mixed) == "1 to 3 hash seeds"


def test_a_server_is_apart_from_the_client_of_its_name() -> None:
    served = sample("serve/instructions", serve={"instructions": 7.0})
    found = run(*counted([9.0]), served.model_copy(update={"part": served.part}))
    assert {(one.backend, one.workload) for one in accounts.accounts(found)} == {
        ("callbacks", "fetch"),
        ("callbacks", "serve"),
    }
    assert crawls({"instructions": 7.0}).per_page() == {"instructions": 7.0}
