"""A campaign across interpreters: builds are kept apart, and nothing else is drawn of it."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import pytest

from bench.analysis import stats
from bench.analysis.analysis import Analysis
from bench.questions import analysis_of
from bench.questions.interpreters import HELD, MEASURES, STEP, Releases, answer
from bench.report import summary
from bench.schema import Interpreter
from bench.show import words as wording
from bench.show.figures import Lines
from bench.store import Records
from tests.bench import committed, synthetic
from tests.bench.report.looks import draw_in_every_look
from tests.bench.sure import sure


@lru_cache
def made() -> Analysis:
    """Six blocks of four models on five interpreters of two kinds of build."""
    return synthetic.analysed(synthetic.across())


def compared(metric: stats.Metric) -> dict[str, stats.Comparison]:
    """Label -> its comparison with one step before."""
    found = made().family(metric).of(Releases(made().records).pairs(metric))
    return {c.label: c for c in found}


def with_interpreters(interpreters: list[Interpreter]) -> Records:
    """The campaign's head alone, with other interpreters."""
    return Records(made().campaign.model_copy(update={"interpreters": interpreters}))


def test_a_dash_for_memory_has_its_reason() -> None:
    """On the page of 3.13.5t loops had none, and nothing said why."""
    found = sure(answer(committed.analysis("interpreters")))
    said = [note for note in found.tables[0].notes if "made the process smaller" in note]
    assert found.figures[0].notes[-1].endswith("has no mark, the process gave some back.")
    names = "async_await@3.13.5t, callbacks@3.13.5t and generators@3.13.5t"
    assert said[0].startswith(f"No user memory of {names}: ")


@pytest.mark.parametrize(
    ("names", "steps"),
    [
        (["3.11.7", "3.12.1", "3.13.5"], [("3.11.7", "3.12.1"), ("3.12.1", "3.13.5")]),
        (
            ["3.13.0", "3.13.5", "3.13.5t", "3.14.1"],
            [("3.13.0", "3.13.5"), ("3.13.5", "3.14.1"), ("3.13.5", "3.13.5t")],
        ),
        (["3.12.1", "3.13.5t", "3.14.1t"], []),
        (
            ["3.14.10", "3.14.10j", "3.15.1", "3.15.2", "3.15.2j"],
            [
                *(("3.14.10", "3.15.1"), ("3.15.1", "3.15.2")),
                *(("3.14.10", "3.14.10j"), ("3.15.2", "3.15.2j")),
            ],
        ),
    ],
)
def test_a_step_is_to_the_next_release_or_changes_only_the_lock_or_the_jit(
    names: list[str], steps: list[tuple[str, str]]
) -> None:
    plain = [Interpreter(name=name, build=synthetic.PLAIN) for name in names]
    assert Releases(with_interpreters(plain)).steps == steps


def test_no_step_crosses_kinds_of_build() -> None:
    """3.12.1 and 3.13.9 are built in two ways, and 3.13.5t has no 3.13 of its kind."""
    assert Releases(made().records).steps == [("3.11.7", "3.12.1"), ("3.13.9", "3.14.1")]
    found = compared(stats.CPU_PER_1000)
    assert len(found) == 4 * 2
    assert found["threads@3.14.1"].base == "threads@3.13.9"
    without = synthetic.compared(made().records, stats.CPU_PER_1000)
    assert {c.base for c in without} == {"callbacks@3.11.7"}
    assert len(without) == 4 * 5 - 1


def test_memory_is_written_in_ordinary_digits() -> None:
    """It was 7.28e+04 KiB."""
    sizes = map(MEASURES[HELD].unit.ticks, (5.0, 72.8, 72_800.0))
    assert [*sizes] == ["5 KiB", "72.8 KiB", "72,800 KiB"]


def test_a_step_without_a_verdict_is_not_silent() -> None:
    """Threads of 3.13t took other page faults, and their step named three models of four."""
    found = sure(answer(committed.analysis("interpreters")))
    steps = map(str, found.details.values())
    (step,) = (text for text in steps if "page, 3.13.5 → 3.13.5t:**" in text)
    assert step.endswith("no verdict for `threads`: page faults or work differ.")


def test_differing_builds_are_warned_of() -> None:
    built = [
        Interpreter(name="3.13.5", build={**synthetic.PLAIN, "level": level})
        for level in ("-O3", "-O3", "-O2")
    ]
    assert wording.differing_builds(built[:2]) is None
    warned = sure(wording.differing_builds(built))
    assert "GCC 12.2.0, -O2, no PGO" in warned
    assert warned in summary.warnings(analysis_of(with_interpreters(built)))


@pytest.mark.parametrize(
    ("build", "words"),
    [
        ({"compiler": "Clang 18.1.8 (x)", "pgo": False, "lto": True}, "Clang 18.1.8, no PGO, LTO"),
        ({"compiler": None, "pgo": None, "lto": None}, "unknown compiler, PGO and LTO unknown"),
        ({"compiler": "GCC 9.1", "pgo": None, "lto": True, "debug": True}, "GCC 9.1, LTO, debug"),
    ],
)
def test_builds_in_words(build: dict[str, str | bool | None], words: str) -> None:
    assert wording.build_words(build) == words


def test_each_panel_says_what_its_ratios_are_of() -> None:
    """On a phone two pictures had neither a title nor a name at an axis."""
    (figure,) = sure(answer(made())).figures
    assert isinstance(figure.data, Lines)
    titles = [plot.title for plot in figure.data.plots]
    assert titles[2:] == [f"ratio: {title}" for title in titles[:2]]
    assert STEP in figure.notes
    assert figure.data.plots[2].y != figure.data.plots[3].y  # each has a scale of its own


@pytest.mark.parametrize(("blocks", "told"), [(2, False), (5, True)])
def test_intervals_are_named_where_there_are_some(blocks: int, told: bool) -> None:
    (figure,) = sure(answer(synthetic.analysed(synthetic.across(blocks=blocks)))).figures
    assert figure.subtitle.endswith(", bars: 95 % intervals") == told


def test_words_at_ticks_do_not_touch_without_memory() -> None:
    """Of processor time alone there are two rows, and "1×" lay on "1.1×"."""
    lines = synthetic.where(synthetic.across(), bool, memory=None)
    draw_in_every_look(synthetic.analysed(lines), "interpreters")


def test_without_a_step_there_is_no_empty_note() -> None:
    """It was an empty line below the chart."""
    of_each_kind = [i for i in made().campaign.interpreters if i.name in ("3.11.7", "3.13.9")]
    head = with_interpreters(of_each_kind).campaign
    (figure,) = sure(answer(analysis_of(replace(made().records, campaign=head)))).figures
    assert isinstance(figure.data, Lines)
    assert len(figure.data.plots) == 2
    assert all(figure.notes)


def test_what_is_missing_for_one_reason_is_one_sentence() -> None:
    why = dict.fromkeys(("3.11", "3.12"), "not among those given")
    head = made().campaign.model_copy(update={"interpreters_missing": why})
    last = Releases(Records(head)).lines[-1]
    assert last == "Not measured: CPython 3.11 and 3.12: not among those given."


def test_a_card_does_not_begin_with_a_colon() -> None:
    found = sure(answer(made())).details
    assert not any("**: " in text for text in map(str, found.values()))


def test_the_footer_names_every_interpreter() -> None:
    """It named the one that had run the campaign."""
    where, _ = wording.footer(made())
    assert "CPython 3.11.7, 3.12.1, 3.13.5t, 3.13.9 and 3.14.1" in where
