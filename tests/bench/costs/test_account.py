"""Costs per page, their record and their tables."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.costs import account, record, report
from bench.costs.record import Costs, CostsError
from tests.bench.costs.samples import PAGES, costs, header, sample


@given(st.floats(0, 1e6), st.integers(0, 10**9))
def test_what_both_crawls_took_cancels(page: float, start: int) -> None:
    small, large = start + round(page * PAGES), start + 2 * round(page * PAGES)
    found = account.per_page(sample(counts={"instructions": (small, large)}), PAGES)
    assert found["instructions"] == pytest.approx(page, abs=1 / PAGES)


def test_ranges_are_over_seeds() -> None:
    (made,) = account.accounts(costs(90.0, 100.0, 130.0))
    assert made.costs["instructions"] == account.Cost(100.0, 90.0, 130.0)
    assert made.costs["instructions"].spread == pytest.approx(0.4)


def test_a_system_call_that_one_seed_did_not_make_counts_as_none() -> None:
    samples = (
        sample("system calls", 1, page={"system_calls": 2.0, "system_call.futex": 1.0}),
        sample("system calls", 2, page={"system_calls": 2.0}),
    )
    (made,) = account.accounts(Costs(header(), samples))
    assert made.costs["system_call.futex"] == account.Cost(0.5, 0.0, 1.0)
    assert list(made.calls()) == ["futex"]


def test_bad_samples_are_named_and_never_counted() -> None:
    bad = sample(seed=2, status="void", reason="wrong digest", counts={})
    made = account.accounts(Costs(header(), (sample(), bad)))
    assert made[0].bad == ("instructions, seed 2: void: wrong digest",)
    assert made[0].costs["instructions"].high == pytest.approx(87_000)
    summary = report.summary(Costs(header(), (bad,)), account.accounts(Costs(header(), (bad,))))
    assert "- fetch, callbacks: instructions, seed 2: void: wrong digest" in summary


def test_a_record_survives_its_file(tmp_path: Path) -> None:
    written = costs(1.0, 2.0, missing={"allocations": "valgrind is not installed"})
    record.save(written, tmp_path)
    assert record.load(tmp_path) == written
    assert record.load(tmp_path / record.FILE_NAME) == written
    assert record.is_costs(tmp_path)


@pytest.mark.parametrize("text", ["", "{}", "[]", "no JSON", '{"kind": "campaign"}\n'])
def test_what_is_no_record_is_refused_in_one_line(text: str, tmp_path: Path) -> None:
    file = tmp_path / record.FILE_NAME
    file.write_text(text)
    assert not record.is_costs(file)
    with pytest.raises(CostsError, match="not a record of costs") as found:
        record.load(file)
    assert "\n" not in str(found.value)


def test_the_summary_has_every_cost_and_every_call() -> None:
    calls = {"system_calls": 2.1, "system_call.sendto": 1.0, "system_call.recvfrom": 1.0}
    whole = Costs(
        header(missing={"allocations": "valgrind is not installed"}),
        (
            sample(seed=1, page={"instructions": 86_950.0}),
            sample(seed=2, page={"instructions": 87_010.0}),
            sample("system calls", page=calls),
        ),
    )
    text = report.summary(whole, account.accounts(whole))
    assert "| callbacks | 86,980 [86,950–87,010] | 2.1 |" in text
    assert "| backend | sendto | recvfrom |" in text
    assert "- allocations: valgrind is not installed" in text
    assert "not speed" in text


@given(st.floats(0, 1e9))
def test_a_figure_is_never_far_from_its_value(value: float) -> None:
    assert float(report.figure(value).replace(",", "")) == pytest.approx(value, rel=0.01, abs=0.006)


def test_a_sample_may_have_pages_of_its_own() -> None:
    """A control goes through its list several times."""
    found = sample(pages=4 * PAGES, page={"instructions": 80_000.0})
    assert account.per_page(found, PAGES) == {"instructions": 20_000.0}


def test_the_table_has_multiples_of_the_floor() -> None:
    rows = [("bare", 20_000.0), ("callbacks", 50_000.0)]
    made = account.accounts(
        Costs(header(), tuple(sample(backend=who, page={"instructions": n}) for who, n in rows))
    )
    table = report.costs_table(made, "fetch")
    assert table.header[:2] == ["backend", "× bare"]
    assert [row[:2] for row in table.texts] == [["bare", "1.00"], ["callbacks", "2.50"]]
    alone = report.costs_table(made[1:], "fetch")
    assert "× bare" not in alone.header


def test_the_words_say_over_how_many_seeds_a_range_is() -> None:
    three = costs(1.0, 2.0, 3.0)
    assert record.seed_words(three) == "3 hash seeds"
    mixed = Costs(header(), (*three.samples, sample(backend="generators")))
    assert record.seed_words(mixed) == "1 to 3 hash seeds"
    assert record.seed_words(Costs(header(), ())) == "0 hash seeds"
