"""What several processors gain, from records: rows and ratios."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from bench.analysis.analysis import Analysis
from bench.questions import processors
from bench.questions.question import Answer
from bench.schema import AnyRecord, CampaignRecord, Interpreter, TrialRecord
from bench.show.figures import Bars
from tests.bench.altered import altered, replaced, where
from tests.bench.sure import sure
from tests.bench.synthetic import MODELS, analysed, campaign, rungs

NAMES = (*MODELS, "processes")
TWO: Mapping[str, tuple[list[int], list[int]]] = {
    "apart": ([1], [0]),
    "shared": ([0, 1], [0, 1]),
}
EIGHT: Mapping[str, tuple[list[int], list[int]]] = {
    "apart": (list(range(1, 8)), [0]),
    "shared": (list(range(8)), list(range(8))),
}


SLOWER = {"apart": 12_000.0, "shared": 14_000.0}


def made(
    rates: Mapping[str, float],
    places: Mapping[str, tuple[list[int], list[int]]] = TWO,
    *,
    backends: Sequence[str] = NAMES,
    blocks: int = 6,
    **options: Any,
) -> list[AnyRecord]:
    """A campaign whose throughput trials become those of both points, at given rates.

    ``rates`` is by the point's place of the server for ``processes``; the models keep theirs.
    """
    rng = np.random.default_rng(3)

    def moved(line: TrialRecord) -> Iterator[TrialRecord]:
        wide = line.label == "processes"
        for how, place in places.items() if line.point == "throughput-100" else ():
            client, server = place if wide else ([1], [0])
            yield altered(
                line,
                workload="processors",
                point=f"processors-{how}",
                params__processors=how.lstrip("124"),
                pages_per_s=(rates[how] if wide else 20_000.0) * math.exp(rng.normal(0, 0.01)),
                pinning={"client": client, "server": server, "reason": None},
            )

    options |= {"base": "callbacks", "samples": 20, "workloads": ("throughput",)}
    lines = campaign(backends=backends, blocks=blocks, ladder=rungs(backends), **options)
    return replaced(lines, moved)


def widened(*, backends: Sequence[str] = NAMES, blocks: int = 5, **options: Any) -> list[AnyRecord]:
    """A campaign in which processes crawl twice as much on two processors."""
    names = (*backends, *(name for name in NAMES if name not in backends))
    rates = {"apart": 12_000.0, "shared": 40_000.0}
    return made(rates, backends=names, blocks=blocks, **options)


def answered(analysis: Analysis) -> Answer:
    found = sure(processors.answer(analysis))
    return found


def test_rows_say_which_processors_the_client_had() -> None:
    analysis = analysed(made(SLOWER))
    rows = processors.rows(analysis)
    assert processors.usable(analysis) == 2
    places = {(row.how, row.label): {*row.client} for row in rows}
    assert places["apart", "callbacks"] == places["shared", "callbacks"] == {1}
    assert places["apart", "processes"] == {1}
    assert places["shared", "processes"] == {0, 1}
    assert {row.label for row in rows} == set(NAMES)  # no twin


def test_ratios_are_to_the_base_in_the_same_blocks() -> None:
    rows = processors.rows(analysed(made(SLOWER)))
    ratios = {(row.how, row.label): row.ratio for row in rows}
    assert ratios["apart", "callbacks"] is None
    for how, expected in (("apart", 0.6), ("shared", 0.7)):
        ratio = sure(ratios[how, "processes"])
        assert ratio.value == pytest.approx(expected, rel=0.03)
        assert sure(ratio.low) <= expected <= sure(ratio.high)


@pytest.mark.parametrize(
    ("rate", "head"),
    [
        (14_000.0, "no backend clearly crawls more pages per second than `callbacks` on one"),
        (26_000.0, "`processes` crawl 29 % more pages per second than `callbacks` on one"),
        (
            50_000.0,
            "`processes` crawl 2.5 times as many pages per second as `callbacks` on one",
        ),
    ],
)
def test_the_headline_is_what_gains_most_from_all_processors(rate: float, head: str) -> None:
    found = answered(analysed(made({"apart": 60_000.0, "shared": rate})))
    assert found.headline is not None
    assert found.headline.text == f"On 2 processors, {head}"
    assert found.headline.behind.endswith("6 blocks")


def test_a_larger_machine_shows_its_gain() -> None:
    answer = answered(analysed(made({"apart": 90_000.0, "shared": 80_000.0}, EIGHT)))
    (row,) = (
        row for row in answer.tables[0].texts if row[:3] == ["processes", "server apart", "7"]
    )
    assert row[4].startswith("4.4")
    assert "Two processors cannot" not in answer.prose


def test_threads_without_a_lock_use_every_processor_and_are_compared_on_their_interpreter() -> None:
    lines: list[AnyRecord] = []
    for line in made(SLOWER):
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
    analysis = analysed(lines)
    (table,) = answered(analysis).tables
    (row,) = (row for row in table.texts if row[:3] == ["threads@3.14.0t", "server shared", "2"])
    assert row[4].startswith("1.4")
    bases = {row.compared.base for row in processors.rows(analysis) if row.compared}
    assert bases == {"callbacks@3.14.0t"}


def test_the_table_has_the_number_of_processors() -> None:
    (table,) = answered(analysed(made(SLOWER))).tables
    assert ["processes", "server shared", "2"] in [row[:3] for row in table.texts]
    assert "server sleeps" in table.about


def test_with_one_number_of_processors_there_are_bars() -> None:
    """One mark on an axis of processors was hardly to be seen."""
    (figure,) = answered(analysed(made(SLOWER))).figures
    assert isinstance(figure.data, Bars)
    apart, shared = figure.data.panels
    assert apart.axis == "1 processor, server on another"
    assert shared.axis == "2 processors, server on the same"
    assert len(shared.rows["processes"]) == 1


def test_where_the_server_was_the_limit_the_bar_is_hollow() -> None:
    limited = {"limiter": lambda t: "server" if t.point.endswith("-apart") else "client"}
    lines = where(made(SLOWER, EIGHT), bool, **limited)
    (figure,) = answered(analysed(lines)).figures
    assert isinstance(figure.data, Bars)
    assert [set(panel.hollow) for panel in figure.data.panels] == [{"processes"}, set()]
    assert "this machine has 8" in figure.subtitle
    assert any(note.startswith("Hollow") for note in figure.notes)
