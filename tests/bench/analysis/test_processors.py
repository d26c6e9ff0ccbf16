"""What more than one processor gains, from records: rows, ratios, and what was not tried."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

import numpy as np
import pytest

from bench.analysis import processors
from bench.analysis.analysis import Analysis
from bench.analysis.processors import Processors
from bench.report import findings
from bench.report.charts import processors as chart
from bench.report.charts import story_of
from bench.report.charts.design import Design, Skip
from bench.report.tables import markdown
from bench.report.tables.processors import processors as table
from bench.schema import AnyRecord, CampaignRecord, Interpreter, TrialRecord
from tests.bench.synthetic import MODELS, analysed, campaign, gathered, rungs

NAMES = (*MODELS, "processes")
TWO: Mapping[str, tuple[list[int], list[int]]] = {
    "apart": ([1], [0]),
    "shared": ([0, 1], [0, 1]),
}
EIGHT: Mapping[str, tuple[list[int], list[int]]] = {
    "apart": (list(range(1, 8)), [0]),
    "shared": (list(range(8)), list(range(8))),
}


def made(
    rates: Mapping[str, float], places: Mapping[str, tuple[list[int], list[int]]] = TWO
) -> list[AnyRecord]:
    """A campaign whose throughput trials become those of both points, at given rates.

    ``rates`` is by the point's place of the server for ``processes``; the models keep theirs.
    """
    lines: list[AnyRecord] = []
    rng = np.random.default_rng(3)
    for line in campaign(
        backends=NAMES,
        base="callbacks",
        blocks=6,
        samples=20,
        workloads=("throughput",),
        ladder=rungs(NAMES),
    ):
        if not isinstance(line, TrialRecord):
            lines.append(line)
            continue
        if line.point != "throughput-100":
            continue
        for how, (client, server) in places.items():
            rate = {"processes": rates[how]}.get(line.label, 20_000.0)
            rate *= math.exp(rng.normal(0, 0.01))
            wide = line.label == "processes"
            lines.append(
                line.model_copy(
                    update={
                        "workload": "processors",
                        "point": f"processors-{how}",
                        "params": {**line.params, "processors": how.lstrip("124")},
                        "pages_per_s": rate,
                        "pinning": {
                            "client": client if wide else [1],
                            "server": server if wide else [0],
                            "reason": None,
                        },
                    }
                )
            )
    return lines


def found(lines: list[AnyRecord]) -> Processors:
    result = processors.processors(gathered(lines))
    assert result is not None
    return result


def test_rows_say_which_processors_each_side_had() -> None:
    result = found(made({"apart": 12_000.0, "shared": 14_000.0}))
    assert result.usable == 2
    places = {(row.how, row.label): (row.client, row.server) for row in result.rows}
    assert places["apart", "callbacks"] == places["shared", "callbacks"] == ((1,), (0,))
    assert places["apart", "processes"] == ((1,), (0,))
    assert places["shared", "processes"] == ((0, 1), (0, 1))
    assert {row.label for row in result.rows} == set(NAMES)  # no twin


def test_ratios_are_to_the_base_in_the_same_blocks() -> None:
    rows = found(made({"apart": 12_000.0, "shared": 14_000.0})).rows
    ratios = {(row.how, row.label): row.ratio for row in rows}
    assert ratios["apart", "callbacks"] is None
    for how, expected in (("apart", 0.6), ("shared", 0.7)):
        ratio = ratios[how, "processes"]
        assert ratio is not None
        assert ratio.low is not None
        assert ratio.high is not None
        assert ratio.value == pytest.approx(expected, rel=0.03)
        assert ratio.low <= expected <= ratio.high


@pytest.mark.parametrize(
    ("rate", "head"),
    [
        (14_000.0, "nothing is shown to crawl more pages per second than `callbacks` on one"),
        (
            26_000.0,
            r"`processes` crawls (29|30|31) % more pages per second than `callbacks` on one",
        ),
        (
            50_000.0,
            r"`processes` crawls 2\.\d times as many pages per second as `callbacks` on one",
        ),
    ],
)
def test_the_headline_is_what_gains_most_from_all_processors(rate: float, head: str) -> None:
    text = processors.finding(found(made({"apart": 60_000.0, "shared": rate})))
    assert text is not None
    assert re.match(rf"\*\*On all of 2 processors, {head}\.\*\* With the server", text)


def test_two_processors_are_not_said_to_show_a_gain() -> None:
    text = processors.finding(found(made({"apart": 12_000.0, "shared": 14_000.0})))
    assert text is not None
    assert "all of 2 processors" in text
    assert "`processes` on 1 processor crawls 40 % fewer pages per second than `callbacks`" in text
    assert "`processes` on 2 processors crawls 30 % fewer" in text
    assert "Two processors cannot show" in text


def test_a_larger_machine_shows_its_gain() -> None:
    text = processors.finding(found(made({"apart": 90_000.0, "shared": 80_000.0}, EIGHT)))
    assert text is not None
    assert "`processes` on 7 processors crawls 4.5 times as many pages per second as" in text
    assert "Two processors cannot" not in text


def test_what_did_not_run_has_a_reason() -> None:
    lines = made({"apart": 12_000.0, "shared": 14_000.0})
    first = lines[0]
    assert isinstance(first, CampaignRecord)
    absent = first.rungs[-1].model_copy(update={"name": "subinterpreters", "missing": None})
    lines[0] = first.model_copy(update={"rungs": [*first.rungs, absent]})
    reasons = dict(found(lines).not_tried)
    assert "not among the backends" in reasons["`subinterpreters`"]
    assert "lock" in reasons["`threads` without the interpreter lock"]
    assert "`loop_per_thread`" not in reasons  # the campaign is older than the backend
    missing = absent.model_copy(update={"missing": "needs 3.14"})
    lines[0] = first.model_copy(update={"rungs": [*first.rungs, missing]})
    assert dict(found(lines).not_tried)["`subinterpreters`"] == "needs 3.14"


def test_threads_without_a_lock_use_every_processor_and_are_compared_on_their_interpreter() -> None:
    lines: list[AnyRecord] = []
    for line in made({"apart": 12_000.0, "shared": 14_000.0}):
        if isinstance(line, CampaignRecord):
            names = [f"{name}@3.14.0t" for name in NAMES]
            free = Interpreter(name="3.14.0t", build={"gil": False})
            line = line.model_copy(
                update={"interpreters": [free], "backends": names, "base": "callbacks@3.14.0t"}
            )
        elif isinstance(line, TrialRecord):
            label = line.backend + "@3.14.0t" + line.label.removeprefix(line.backend)
            update: dict[str, object] = {"label": label, "backend": f"{line.backend}@3.14.0t"}
            if line.backend == "threads" and line.point.endswith("shared"):
                update |= {"pages_per_s": 30_000.0, "pinning": {"client": [0, 1], "server": [0, 1]}}
            line = line.model_copy(update=update)
        lines.append(line)
    result = found(lines)
    text = processors.finding(result)
    assert text is not None
    assert "`threads@3.14.0t` on 2 processors crawls" in text
    assert "without the interpreter lock" not in text
    assert all(row.base == "callbacks@3.14.0t" for row in result.rows)


def test_the_table_and_the_findings_have_it() -> None:
    analysis = analysed(made({"apart": 12_000.0, "shared": 14_000.0}))
    text = "\n".join(markdown.section(table(analysis)))
    assert "| processes | 0, 1 | 0, 1 |" in text
    assert "server sleeps" in text
    assert "Not tried: threads without the interpreter lock" in text
    assert any("On all of 2 processors" in each for each in findings.findings(analysis))


STEPS: Mapping[str, tuple[list[int], list[int]]] = {
    "1apart": ([1], [0]),
    "2apart": ([1, 2], [0]),
    "4apart": ([1, 2, 3, 4], [0]),
    **EIGHT,
}
SCALING = {"1apart": 15e3, "2apart": 28e3, "4apart": 50e3, "apart": 80e3, "shared": 70e3}


def test_every_number_of_processors_is_a_point_of_the_chart() -> None:
    analysis = analysed(made(SCALING, STEPS))
    rows = [row for row in analysis.processors.rows if row.spreads] if analysis.processors else []
    apart = [(len(row.client), row.how) for row in rows if row.how == "apart"]
    assert sorted(apart) == [(1, "apart"), (2, "apart"), (4, "apart"), (7, "apart")]
    design = chart.design(analysis)
    assert isinstance(design, Design)
    assert "this machine has 8" in design.subtitle
    assert "processors" in dict(story_of(analysis))
    assert "processes 0.7" in design.alt
    assert design.finding is not None
    assert "as many pages per second on 7 processors as callbacks on one" in design.finding


def test_the_chart_claims_no_gain_where_none_is_shown() -> None:
    design = chart.design(analysed(made({"apart": 12_000.0, "shared": 14_000.0})))
    assert isinstance(design, Design)
    assert design.finding is None
    assert "this machine has 2" in design.subtitle
    assert any("Not tried: threads without the interpreter lock" in note for note in design.notes)


def test_without_the_point_nothing_is_said() -> None:
    analysis: Analysis = analysed(campaign(blocks=2, samples=20, workloads=("throughput",)))
    assert analysis.processors is None
    assert isinstance(chart.design(analysis), Skip)
    assert "processors" not in dict(story_of(analysis))
    assert table(analysis).rows == []
    assert processors.finding(None) is None
