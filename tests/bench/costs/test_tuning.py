"""The table of docs/fairness.md: every question has its row, and every gap its reason."""

from __future__ import annotations

import pytest

from bench.analysis.analysis import Analysis
from bench.costs import tuning
from bench.costs.account import accounts
from bench.costs.record import Costs
from bench.costs.tuning import SECTIONS, Row
from bench.plan import plan, profiles
from crawlers import registry
from crawlers.catalogue import OURS
from tests.bench.costs.samples import header, sample
from tests.bench.synthetic import analysed, campaign, rungs

ROWS = [row for section in SECTIONS for row in section.rows]
NAMES = ("callbacks", "generators", "async_await", "trio", "threads", "trio_sockets")


def climbed() -> Analysis:
    """A small campaign whose trio_sockets is its own rung."""
    lines = campaign(
        backends=NAMES,
        base="callbacks",
        blocks=6,
        samples=20,
        workloads=("ladder",),
        ladder=rungs(NAMES),
    )
    return analysed(lines)


def made(counted: Costs | None = None) -> list[str]:
    """The lines of its table."""
    return tuning.markdown(climbed(), accounts(counted) if counted else []).splitlines()


def cells(lines: list[str], plain: str, form: str) -> list[str]:
    """The cells of the first row that compares these two."""
    found = next(line for line in lines if f"| `{plain}` | `{form}`:" in line)
    return [cell.strip() for cell in found.strip("|").split("|")]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.form}-{row.point}")
def test_every_form_is_a_rung_that_the_full_profile_measures_at_that_point(row: Row) -> None:
    names = {backend.name for backend in OURS.values()}
    assert {row.plain, row.form} <= names
    point = next(p for p in profiles.profile("full").points if p.id == row.point)
    taking = {label.name for label in plan.cast(point, registry.names())}
    assert {row.plain, row.form} <= taking


def test_stacks_and_models_are_in_tables_of_their_own() -> None:
    families = {backend.name: backend.family for backend in OURS.values()}
    models, stacks = SECTIONS
    assert {families[n] for row in stacks.rows for n in (row.plain, row.form)} == {"stack"}
    assert "stack" not in {families[n] for row in models.rows for n in (row.plain, row.form)}


def test_ratios_come_from_the_campaign() -> None:
    row = cells(made(), "async_await", "trio")
    assert row[3].startswith("1.")
    assert "–" in row[3]
    assert row[4].startswith("0.")
    assert row[5:] == ["–", "–", "–"]


def test_instructions_come_from_the_counted_costs() -> None:
    samples = [
        sample(backend=name, workload="crawl", page={"instructions": each})
        for name, each in (("async_await", 200_000.0), ("trio", 350_000.0))
    ]
    failed = sample(backend="trio_sockets", workload="crawl", status="void", reason="x", counts={})
    lines = made(Costs(header(), (*samples, failed)))
    assert cells(lines, "async_await", "trio")[5:] == ["200", "350", "1.75"]
    assert cells(lines, "trio", "trio_sockets")[5:] == ["350", "–", "–"]
    assert any("`trio_sockets` was not counted" in line for line in lines)


def test_every_gap_has_a_reason() -> None:
    lines = made()
    assert cells(lines, "urllib3", "urllib3_tuned")[3:] == ["–"] * 5
    text = "\n".join(lines)
    assert "no trials of `urllib3` and `urllib3_tuned` at ladder-100" in text
    assert "no record of counted costs" in text
    assert "no trials of `callbacks` and `processes` at processors-shared" in text


def test_the_same_pair_has_the_verdict_of_the_ladder() -> None:
    """One family of comparisons for one question: what the ladder says is said here."""
    analysis = climbed()
    row = next(row for row in ROWS if (row.plain, row.form) == ("trio", "trio_sockets"))
    mine = tuning.Tuning(analysis, []).compared(row, tuning.METRICS[0])
    everywhere = analysis.compare(tuning.METRICS[0], row.plain)
    assert mine in [c for c in everywhere if (c.point, c.label) == (row.point, row.form)]
    known = analysis.family(tuning.METRICS[0]).get((row.point, row.plain, row.form))
    assert known is None or mine == known
