"""Costs per page, from totals of two crawls; their tables and charts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from bench.analysis.stats import Spread
from bench.costs import report
from bench.costs.report import STUDY, Counted, Crawled
from bench.machine.instruments import SYSCALLS
from bench.show.figures import Figure
from bench.show.pictures import alt
from bench.study import Run, SampleRecord
from tests.bench.study import made
from tests.bench.synthetic import environment

PAGES = 500
TOOLS = {"instructions": "valgrind 3.19.0", "system calls": "strace 6.1"}


def crawls(page: dict[str, float], pages: int = PAGES) -> Crawled:
    """What pages took that took this each, above a start that cancels."""
    counts = {
        name: (1_000_000 + round(each * pages), 1_000_000 + round(2 * each * pages))
        for name, each in page.items()
    }
    return Crawled(pages=pages, counts=counts)


def sample(
    instrument: str = "instructions",
    seed: int = 1,
    *,
    backend: str = "callbacks",
    lost: str | None = None,
    **workloads: dict[str, float],
) -> SampleRecord[Counted]:
    """A sample: what a page of each workload took."""
    return SampleRecord(
        run="one",
        program=f"{backend}/{instrument}",
        repeat=seed - 1,
        status="void" if lost else "ok",
        reason=lost,
        part=Counted(crawls={name: crawls(page) for name, page in workloads.items()}),
    )


def run(*samples: SampleRecord[Counted], **changes: Any) -> Run[Counted]:
    settings = {"pages": PAGES, "slots": 100, **TOOLS}
    created = "2026-11-22T02:00:00.000+00:00"
    return made.run(STUDY, samples, created=created, settings=settings, **changes)


def counted(values: Sequence[float], backend: str = "callbacks") -> list[SampleRecord[Counted]]:
    """Instructions of a fetched page: a sample for each value, with a seed of its own."""
    return [
        sample(seed=seed, backend=backend, fetch={"instructions": value})
        for seed, value in enumerate(values, 1)
    ]


COUNTED = environment(python="CPython 3.11.2")
"""Another interpreter than the campaign's."""

WHOLE = run(
    *(
        sample(
            instrument,
            seed,
            backend=backend,
            fetch={cost: page},
            crawl={cost: 2 * page},
            churn={cost: 3 * page},
        )
        for backend, instructions in (("callbacks", 74_000.0), ("async_await", 113_000.0))
        for instrument, cost, page in (
            ("instructions", "instructions", instructions),
            ("system calls", "system_calls", 2.0),
        )
        for seed in (1, 2)
    ),
    environment=COUNTED,
)


def drawn(found: Run[Counted]) -> Figure:
    made = report.design(found)
    assert isinstance(made, Figure)
    return made


def test_the_headline_names_the_models_that_are_apart() -> None:
    made = drawn(WHOLE)
    assert made.headline == (
        "A fetched page needs 74k instructions with callbacks, 1.53 times as many with async_await"
    )
    assert "a crawled page: links too: callbacks 148k; async_await 226k." in alt(
        made.title, made.data
    )
    costs = {name: Spread(n, n, n, 1) for n, name in enumerate(("callbacks", "threads"), 1)}
    assert (report.finding("crawl", costs) or "").startswith("A crawled page needs 1 instructions")
    same = [*counted([1000.0, 2000.0]), *counted([1000.0, 2000.0], "threads")]
    assert drawn(run(*same)).headline is None, "their ranges overlap"


def test_of_many_backends_the_main_ones_are_drawn() -> None:
    """With fifty, no label could be read."""
    names = ("callbacks", "threads", "trio", *(f"mine{n}" for n in range(report.MOST)))
    many: list[SampleRecord[Counted]] = [each for name in names for each in counted([9000.0], name)]
    words = alt("", drawn(run(*many)).data)
    assert "trio 9,000" in words
    assert "mine" not in words
    left_out = "The models and the main variants; the tables have all 19."
    assert left_out in " ".join(drawn(run(*many)).notes)
    assert left_out not in " ".join(drawn(run(*many[3:])).notes)


def test_what_was_not_counted_has_no_chart() -> None:
    assert isinstance(report.design(run(sample("kernel", fetch={"switches": 0.1}))), str)


def test_every_table_chart_and_block_names_its_interpreter(tmp_path: Path) -> None:
    """Documents show them beside measurements on another one."""
    whole = report.report(WHOLE)
    for table in whole.tables:
        assert table.caption.endswith("(CPython 3.11.2)")
    assert "CPython 3.11.2" in drawn(WHOLE).subtitle
    assert "CPython 3.11.2" in drawn(WHOLE).footer[0]
    quoted = report.excerpt(WHOLE, "costs.svg")
    for text in (quoted, whole.summary()):
        assert "Counted on 2026-11-22 with CPython 3.11.2" in text
    assert quoted.startswith("![A fetched page needs 74k")
    whole.write(tmp_path, Console(quiet=True))
    assert "CPython 3.11.2" in (tmp_path / "charts" / "costs.svg").read_text()
    assert "| async_await | 339,000 | 6 |" in (tmp_path / "summary.md").read_text()


def test_the_summary_has_every_cost_every_call_and_what_is_missing() -> None:
    calls = {"system_calls": 2.1, "system_call.sendto": 1.0, "system_call.recvfrom": 1.0}
    gone = SampleRecord[Counted](
        run="one", program="allocations", repeat=0, status="refused", reason="no valgrind"
    )
    bad = sample(seed=3, lost="fetch: wrong digest")
    found = run(*counted([86_950.0, 87_010.0]), sample("system calls", fetch=calls), bad, gone)
    text = report.report(found).summary()
    assert "| callbacks | 86,980 [86,950–87,010] | 2.1 |" in text
    assert "| backend | sendto | recvfrom |" in text
    assert "- allocations: no valgrind" in text
    assert "- callbacks/instructions: void: fetch: wrong digest" in text
    assert "not speed" in text


def test_the_table_has_multiples_of_the_floor() -> None:
    found = run(*counted([20_000.0], "bare"), *counted([50_000.0]))
    made = report.accounts(found)
    table = report.costs_table(made, "fetch")
    assert table.header[:2] == ["backend", "× bare"]
    assert [row[:2] for row in table.rows] == [["bare", "1.00"], ["callbacks", "2.50"]]
    assert "× bare" not in report.costs_table(made[1:], "fetch").header


@given(st.floats(0, 1e9))
def test_a_figure_is_never_far_from_its_value(value: float) -> None:
    assert float(report.figure(value).replace(",", "")) == pytest.approx(value, rel=0.01, abs=0.006)


# --- accounts ---------------------------------------------------------------------------------

CALLS = {"system_calls": 28.2, "system_call.futex": 25.2}


def test_ranges_are_over_seeds_and_bad_samples_never_count() -> None:
    good = counted([90.0, 100.0, 130.0])
    bad = sample(seed=4, lost="fetch: wrong digest", crawl={"instructions": 200.0})
    fetch, crawl = report.accounts(run(*good, bad))
    assert fetch.costs["instructions"] == Spread(100.0, 90.0, 130.0, 3)
    assert crawl.costs["instructions"] == Spread(200.0, 200.0, 200.0, 1), "its crawl was right"
    assert fetch.python == "CPython 3.11.9"


def test_a_system_call_that_one_seed_did_not_make_counts_as_none() -> None:
    both = {"system_calls": 2.0, "system_call.connect": 1.0}
    samples = (
        sample("system calls", 1, fetch=both),
        sample("system calls", 2, fetch={"system_calls": 2.0}),
    )
    (made,) = report.accounts(run(*samples))
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
    (made,) = report.accounts(found)
    assert (SYSCALLS in made.costs) == shown
    assert made.untold != shown
    text = report.report(found).summary()
    assert ("28.2" in text) == shown
    assert text.count("No system calls of threads: strace stops a thread") == (not shown)


def test_what_is_shown_has_its_own_number_of_seeds() -> None:
    """Others, counted with one seed, made the two of each shown backend "1 to 2"."""
    main = [each for name in report.CHOSEN[:10] for each in counted([1.0, 2.0], name)]
    others = [each for n in range(20) for each in counted([1.0], f"other_{n}")]
    found = run(*main, *others)
    assert "over 2 hash seeds, and" in report.excerpt(found)
    assert "range of 2 hash seeds" in drawn(found).notes[0]
    assert "over 1 to 2 hash seeds" in report.report(found).about


def test_a_count_below_0_is_explained() -> None:
    """trio "made" -0.128 mmap calls a page."""
    more, fewer = (
        sample("system calls", backend=who, fetch={"system_calls": 2.0, "system_call.mmap": calls})
        for who, calls in (("gevent", 0.064), ("trio", -0.128))
    )
    text = report.report(run(more, fewer)).summary()
    assert "-0.128" in text
    assert report.BELOW in text
    assert report.BELOW not in report.report(run(more)).summary()


@pytest.mark.parametrize(("workload", "lacks"), [("fetch", "no frontier"), ("serve", "no limits")])
def test_the_floor_of_servers_is_that_of_no_client(workload: str, lacks: str) -> None:
    """The table of servers spoke of a control without a frontier."""
    bare = sample(backend="bare", fetch={"instructions": 1.0}, serve={"instructions": 1.0})
    (note,) = report.costs_table(report.accounts(run(bare)), workload).notes
    assert lacks in note


def test_a_server_is_apart_from_the_client_of_its_name() -> None:
    served = sample("serve/instructions", serve={"instructions": 7.0})
    found = run(*counted([9.0]), served.model_copy(update={"part": served.part}))
    assert {(one.backend, one.workload) for one in report.accounts(found)} == {
        ("callbacks", "fetch"),
        ("callbacks", "serve"),
    }
    assert crawls({"instructions": 7.0}).per_page() == {"instructions": 7.0}
