"""The slides: in order, from records alone, and with every number counted again."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from math import exp, log
from pathlib import Path
from statistics import mean, median

import numpy as np
import pytest

from bench import store
from bench.analysis.stats import MEMORY_PARTS, OVER_TLS, memory_growth
from bench.capacity.fixture import measured
from bench.capacity.need import EXAMPLE
from bench.claims import definition
from bench.costs import record as costs_record
from bench.exhibits.models import all_metrics
from bench.fleet import store as fleet_store
from bench.schema import TrialRecord
from bench.talk import opening, slideshow
from bench.talk.material import Inputs, Material, TalkError
from bench.talk.slides import Grid, Talk, TalkSlide
from bench.talk.story import STORY, tell
from bench.text import KIB, number, significant, size_words, times
from crawlers.registry import MODELS
from tests.bench.synthetic import analysed, campaign
from tests.bench.talk.samples import FLEET, REFERENCE, committed, made

WRITTEN = Path(opening.__file__).parent
TYPED = re.compile(r"\d")


def slide(talk: Talk, name: str) -> TalkSlide:
    return next(one for one in talk.slides if one.name == name)


def spoken(one: TalkSlide) -> str:
    return " ".join([one.title, *one.notes, one.answer])


@pytest.fixture(scope="module")
def trials() -> list[TrialRecord]:
    """The valid trials of the committed campaign, without the twins."""
    records = store.load(REFERENCE)
    return [t for t in records.trials if t.status == "ok" and t.label == t.backend]


# --- the order ----------------------------------------------------------------------------


def test_the_reference_fills_every_slide_in_the_order_of_the_story() -> None:
    talk = committed()
    assert talk.gaps == []
    assert [one.name for one in talk.slides] == [make.__name__ for make in STORY]
    assert len(talk.slides) == 12
    for one in talk.slides:
        assert one.title
        assert one.notes
        assert one.question.endswith("?")
        assert one.answer.endswith(".")
        assert one.sources
    campaign_id = store.load(REFERENCE).campaign.campaign
    fleet_id = fleet_store.load(FLEET).fleet.fleet
    for name in ("connection", "tested", "page", "wait", "overload", "https", "choice"):
        assert campaign_id in " ".join(slide(talk, name).sources)
    assert fleet_id in " ".join(slide(talk, "million").sources)


def test_what_was_not_measured_is_left_out_with_the_reason() -> None:
    talk = made(workloads=("throughput", "waiting"))
    missing = {gap.name: gap.reason for gap in talk.gaps}
    assert set(missing) == {
        *("connection", "tested", "counted", "overload", "https", "million"),
    }
    assert "--fleet" in missing["million"]
    assert "costs.jsonl" in missing["counted"]
    assert [one.name for one in talk.slides] == [
        *("claim", "code", "page", "wait", "traceback", "choice"),
    ]
    for gap in talk.gaps:
        assert gap.reason in slideshow.missing(gap)


def test_a_campaign_of_one_workload_still_has_a_talk() -> None:
    for workload in ("throughput", "c10k", "openloop"):
        talk = made(workloads=(workload,), blocks=1)
        assert {"claim", "code", "traceback"} <= {one.name for one in talk.slides}


def test_https_turns_the_order_over_only_where_it_does() -> None:
    talk = made(over_tls=True)
    assert slide(talk, "https").kicker == "HTTPS turns it over"
    assert "HTTPS" in [gap.kicker for gap in made(workloads=("c10k",)).gaps]


def test_a_campaign_across_interpreters_is_refused_by_name() -> None:
    with pytest.raises(TalkError, match="compares interpreters"):
        Material.load(REFERENCE.parent / "interpreters")


# --- the numbers --------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["opening", "middle", "ending"])
def test_no_number_is_typed(name: str) -> None:
    """Words are typed, numbers come from records."""
    tree = ast.parse((WRITTEN / f"{name}.py").read_text())
    names = {id(node) for each in ast.walk(tree) for node in docstrings(each)}
    typed = [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and id(node) not in names
        and TYPED.search(node.value.replace("500 Lines or Less", ""))
        and node.value not in (*opening.QUOTED, *opening.TESTED, ".0f")
    ]
    assert typed == []


def docstrings(node: ast.AST) -> list[ast.expr]:
    """The strings that stand alone in a module, class or function."""
    body = getattr(node, "body", None)
    if not isinstance(body, list):
        return []
    return [each.value for each in body if isinstance(each, ast.Expr)]


def slope(trials: list[TrialRecord], label: str, workload: str) -> float:
    """Bytes per connection: the median slope of all pairs of trials, part by part."""
    mine = [t for t in trials if t.label == label and t.workload == workload and t.memory]
    total = 0.0
    for part in MEMORY_PARTS:
        points = [
            (t.memory.connections, float(value))
            for t in mine
            if t.memory and (value := (memory_growth(t) or {}).get(part)) is not None
        ]
        slopes = [
            (y - v) / (x - u)
            for place, (x, y) in enumerate(points)
            for u, v in points[:place]
            if x != u
        ]
        total += max(float(np.median(slopes)), 0.0) if slopes else 0.0
    return total


def test_the_memory_of_a_connection_is_counted_again(trials: list[TrialRecord]) -> None:
    sums = {label: slope(trials, label, "c10k") for label in MODELS}
    told = spoken(slide(committed(), "connection"))
    for label, value in sums.items():
        found = re.search(rf"`{label}` ([\d.]+) \(", told)
        assert found, label
        assert float(found[1]) == pytest.approx(value / KIB, rel=0.02, abs=0.06)
    most, least = max(sums.values()), min(sums.values())
    assert significant(most / KIB, 2) in slide(committed(), "connection").title
    assert significant(least / KIB, 2) in slide(committed(), "connection").title
    row = choices()["memory of an idle connection"]
    assert [cell.partition(":")[0].replace("async/await", "async_await") for cell in row] == [
        min(sums, key=lambda label: sums[label]),
        max(sums, key=lambda label: sums[label]),
    ]


def choices() -> dict[str, list[str]]:
    body = slide(committed(), "choice").body
    assert isinstance(body, Grid)
    return {row[0]: list(row[1:]) for row in body.rows}


def test_the_memory_of_a_program_is_that_of_the_advice() -> None:
    """From the slopes, which the tests beside this one count again, and the processes."""
    material = Material.load(REFERENCE)
    costs = measured(material.analysis)
    assert costs is not None
    assert material.advice is not None
    (cells,) = (row for what, row in choices().items() if what.startswith("memory of a program"))
    told = slide(committed(), "choice").notes[1]
    for row in material.advice.rows:
        held = costs.of(row.name).encrypted
        assert held is not None
        if row.can != "yes" or row.processes is None:
            assert f"`{row.name}` is left out: " in told
            continue
        total = row.processes * (held.fixed_user + held.fixed_kernel)
        total += EXAMPLE.connections * (held.user + held.kernel)
        assert f"`{row.name}` {row.processes} process" in told
        assert size_words(total, opening.DIGITS) in told
    for cell in cells:
        assert cell.partition(": ")[2] in told


def test_the_memory_over_tls_is_counted_again(trials: list[TrialRecord]) -> None:
    told = spoken(slide(committed(), "https"))
    for label in MODELS:
        found = re.search(rf"`{label}` ([\d.]+) \(([\d.]+)\)", told)
        assert found, label
        for text, workload in zip(found.groups(), (OVER_TLS, "c10k"), strict=True):
            value = slope(trials, label, workload) / KIB
            assert float(text) == pytest.approx(value, rel=0.02, abs=0.06)


@pytest.mark.parametrize(("place", "point"), [(1, "fetch-100"), (2, "throughput-100")])
def test_the_processor_time_of_a_page_is_counted_again(
    place: int, point: str, trials: list[TrialRecord]
) -> None:
    blocks: dict[str, dict[int, float]] = defaultdict(dict)
    for t in trials:
        if t.point == point and t.cpu and t.pages:
            spent = (t.cpu.client_user_s + t.cpu.client_system_s) / t.pages
            if t.turns and t.turns.exchanges:
                answered = sum(t.statuses.values()) / t.pages
                spent = t.turns.cpu_s / t.turns.exchanges * answered
            blocks[t.label][t.block] = spent
    base = blocks[store.load(REFERENCE).campaign.base]
    note = slide(committed(), "page").notes[place]
    found = re.findall(r"`(\w+)` (?:([\d.]+) % (more|less)|([\d.]+) times as much)", note)
    assert found
    for label, percent, way, multiple in found:
        shared = base.keys() & blocks[label].keys()
        ratio = exp(mean(log(blocks[label][b] / base[b]) for b in shared))
        sign = 1 if way == "more" else -1
        told = float(multiple) if multiple else 1 + sign * float(percent) / 100
        assert told == pytest.approx(ratio, rel=0.03)


def test_the_counts_are_counted_again() -> None:
    record = costs_record.load(REFERENCE)
    pages: dict[str, list[float]] = defaultdict(list)
    for sample in record.samples:
        if sample.status == "ok" and sample.workload == "fetch" and "instructions" in sample.counts:
            small, large = sample.counts["instructions"]
            pages[sample.backend].append((large - small) / (sample.pages or record.header.pages))
    medians = {label: median(pages[label]) for label in MODELS}
    title = slide(committed(), "counted").title
    assert number(min(medians.values())) in title
    assert times(max(medians.values()) / min(medians.values())) in title


def test_the_trials_the_fleet_and_the_readings_are_counted_again() -> None:
    records, fleet = store.load(REFERENCE), fleet_store.load(FLEET)
    usable = sum(t.status == "ok" for t in records.trials)
    told = slide(committed(), "code")
    assert f"{len(records.trials):,} trials" in told.answer
    assert f"{usable:,} gave every page" in told.answer
    for found in all_metrics().values():
        assert str(found.code_lines) in told.notes[-1]
    held = [t for t in fleet.trials if t.workload == "hold" and t.status == "ok"]
    assert f"{max(t.connections for t in held):,}" in slide(committed(), "million").title
    body = slide(committed(), "tested").body
    assert isinstance(body, Grid)
    holding = sum(row[body.strong] == opening.WORDS["inside"] for row in body.rows)
    assert f"{holding} of {len(body.rows)} readings" in slide(committed(), "tested").title


def test_the_claim_is_the_one_that_the_claims_quote() -> None:
    claims = {claim.name: claim for claim in definition.load_all()}
    title = slide(committed(), "claim").title
    for name in opening.TESTED:
        (then,) = {reading.then for reading in claims[name].reading if reading.then is not None}
        assert f"{then:g} KiB" in title
    assert claims[opening.TESTED[0]].date in title


def test_one_number_is_not_said_in_two_ways() -> None:
    """A size in the table of choices has the digits that it has in a headline."""
    talk = committed()
    heads = " ".join(one.title for one in talk.slides)
    for name in ("memory of an idle connection", "the same, over TLS"):
        for cell in choices()[name]:
            assert cell.partition(": ")[2] in heads


def test_void_trials_and_hostile_names_change_nothing_but_the_counts() -> None:
    talk = tell(Material(Inputs(analysed(campaign(workloads=("throughput",), voids=1)), [])))
    assert "gave every page right" in slide(talk, "code").answer
