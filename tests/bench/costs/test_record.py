"""Costs per page and their record; a run that ends early is finished by another."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.costs import measure, record, report
from bench.costs.measure import CostsOptions, Task
from bench.costs.record import FILE_NAME, PART_NAME, Cost, Costs, CostsError, Sample
from bench.errors import BenchError
from bench.machine import instruments
from bench.machine.instruments import SYSCALLS, Instrument
from tests.bench.costs.samples import PAGES, costs, header, sample

TRACED = header(tools={"system calls": "strace 6.1"})
CALLS = {"system_calls": 28.2, "system_call.futex": 25.2}


@given(st.floats(0, 1e6), st.integers(0, 10**9))
def test_what_both_crawls_took_cancels(page: float, start: int) -> None:
    small, large = start + round(page * PAGES), start + 2 * round(page * PAGES)
    found = record.per_page(sample(counts={"instructions": (small, large)}), PAGES)
    assert found["instructions"] == pytest.approx(page, abs=1 / PAGES)


def test_a_sample_may_have_pages_of_its_own() -> None:
    """A control goes through its list several times."""
    found = sample(pages=4 * PAGES, page={"instructions": 80_000.0})
    assert record.per_page(found, PAGES) == {"instructions": 20_000.0}


def test_ranges_are_over_seeds_and_bad_samples_never_count() -> None:
    good = costs(90.0, 100.0, 130.0)
    bad = sample(seed=4, status="void", reason="wrong digest", counts={})
    (made,) = record.accounts(Costs(good.header, (*good.samples, bad)))
    assert made.costs["instructions"] == Cost(100.0, 90.0, 130.0)
    assert made.bad == ("instructions, seed 4: void: wrong digest",)
    assert made.python == good.header.environment.python


def test_a_system_call_that_one_seed_did_not_make_counts_as_none() -> None:
    samples = (
        sample("system calls", 1, page={"system_calls": 2.0, "system_call.connect": 1.0}),
        sample("system calls", 2, page={"system_calls": 2.0}),
    )
    (made,) = record.accounts(Costs(TRACED, samples))
    assert made.costs["system_call.connect"] == Cost(0.5, 0.0, 1.0)
    assert list(made.calls()) == ["connect"]


@pytest.mark.parametrize(
    ("tool", "futex", "shown"),
    [("strace 6.1", 25.2, False), ("strace 6.1", 0.02, True), ("a tracepoint", 25.2, True)],
)
def test_no_system_calls_of_threads_that_a_tracer_stopped(
    tool: str, futex: float, shown: bool
) -> None:
    """They met at the lock 25 times a page, and once at full speed."""
    traced = sample("system calls", backend="threads", page=CALLS | {"system_call.futex": futex})
    counted = Costs(header(tools={"system calls": tool}), (traced, sample(backend="threads")))
    made = record.accounts(counted)
    assert (SYSCALLS in made[0].costs) == shown
    assert (made[0].untold is None) == shown
    text = report.summary(counted, made)
    assert ("28.2" in text) == shown
    assert text.count("No system calls of threads: strace stops a thread") == (not shown)
    told = report.as_json(made)["fetch"]["threads"]
    assert (told[SYSCALLS] is None) == (not shown)


def test_a_record_survives_its_file(tmp_path: Path) -> None:
    written = costs(1.0, 2.0, missing={"allocations": "valgrind is not installed"})
    record.save(written, tmp_path)
    assert record.load(tmp_path) == record.load(tmp_path / FILE_NAME) == written


@pytest.mark.parametrize("text", ["", "[]", "no JSON", '{"kind": "campaign"}\n'])
def test_what_is_no_record_is_refused_in_one_line(text: str, tmp_path: Path) -> None:
    file = tmp_path / FILE_NAME
    file.write_text(text)
    with pytest.raises(BenchError, match=FILE_NAME):
        record.load(file)


def test_the_words_say_over_how_many_seeds_a_range_is() -> None:
    three = costs(1.0, 2.0, 3.0)
    assert record.seed_words(three) == "3 hash seeds"
    mixed = Costs(header(), (*three.samples, sample(backend="generators")))
    assert record.seed_words(mixed) == "1 to 3 hash seeds"


# --- resuming --------------------------------------------------------------------------------

OPTIONS = CostsOptions(backends=["bare"], workloads=("fetch",), seeds=(1, 2, 3, 4))
TRACER = Instrument("system calls", "strace 7.2")


class Counting:
    """Stands for the lanes: gives a sample for each task, and stops at a given one."""

    def __init__(self, stop_after: int | None = None, bad: tuple[int, ...] = ()) -> None:
        self.stop_after, self.bad = stop_after, bad
        self.seeds: list[int] = []
        self.done: list[int] = []

    def count(self, tasks: Iterable[Task]) -> Iterator[list[Sample]]:
        for task in tasks:
            if len(self.seeds) == self.stop_after:
                raise KeyboardInterrupt
            self.seeds.append(task.seed)
            failed = {"status": "failed", "reason": "lost", "counts": {}}
            found = sample(
                TRACER.name, task.seed, backend="bare", page={"system_calls": task.seed},
                **(failed if task.seed in self.bad else {}),
            )  # fmt: skip
            yield [found]

    def run(self, folder: Path, *, resume: bool = False) -> Costs:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(instruments, "find", lambda _: [TRACER])
            patch.setattr(measure.Lanes, "count", lambda _, tasks: self.count(tasks))
            return measure.run(
                OPTIONS, lambda _, done, __: self.done.append(done), folder=folder, resume=resume
            )


def test_an_interrupted_run_keeps_its_samples_and_is_finished_by_another(tmp_path: Path) -> None:
    early, late = Counting(stop_after=2), Counting()
    assert [each.seed for each in early.run(tmp_path).samples] == [1, 2]
    assert [file.name for file in tmp_path.iterdir()] == [PART_NAME]
    second = late.run(tmp_path, resume=True)
    assert late.seeds == [3, 4]
    assert [each.seed for each in second.samples] == [1, 2, 3, 4]
    assert [file.name for file in tmp_path.iterdir()] == [FILE_NAME]
    assert record.load(tmp_path) == second
    assert [*early.done, *late.done] == [1, 2, 3, 4]


def test_a_torn_line_and_a_failed_sample_are_counted_again(tmp_path: Path) -> None:
    Counting(stop_after=3, bad=(2,)).run(tmp_path)
    part = tmp_path / PART_NAME
    part.write_bytes(part.read_bytes()[:-40])
    counting = Counting(bad=(4,))
    found = counting.run(tmp_path, resume=True)
    assert counting.seeds == [2, 3, 4]
    assert [each.reason for each in found.samples] == [None, None, None, "lost"]


def test_an_unfinished_record_is_never_overwritten(tmp_path: Path) -> None:
    Counting(stop_after=1).run(tmp_path)
    before = (tmp_path / PART_NAME).read_bytes()
    with pytest.raises(CostsError, match="continue with --resume, or delete it"):
        Counting().run(tmp_path)
    assert (tmp_path / PART_NAME).read_bytes() == before


def test_only_what_was_counted_alike_is_resumed(tmp_path: Path) -> None:
    with pytest.raises(CostsError, match="nothing to resume"):
        Counting().run(tmp_path, resume=True)
    Counting(stop_after=1).run(tmp_path)
    part = tmp_path / PART_NAME
    part.write_text(part.read_text().replace('"pages":500', '"pages":400', 1))
    with pytest.raises(CostsError, match=r"counted differently \(pages\)"):
        Counting().run(tmp_path, resume=True)
