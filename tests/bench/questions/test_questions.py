"""Every question, by the same rules: what it says can be quoted, drawn and left out."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Final

import numpy as np
import pytest

from bench.analysis import stats
from bench.analysis.analysis import Analysis
from bench.analysis.stats import MIN_BLOCKS
from bench.cli.commands.list import question as listed
from bench.plan import profiles
from bench.questions import QUESTIONS, STORY, analysis_of, asked, crossover, pairs
from bench.questions.question import (
    Answer,
    Headline,
    Question,
    UnprovenError,
    bars,
    contrast,
    of_models,
    paragraph,
)
from bench.report import findings, summary
from bench.report.charts import story
from bench.report.tables import section
from bench.show.figures import Bars, Figure
from bench.show.measured import US, Measure, Measured
from bench.show.pictures import alt, contradiction
from tests.bench import synthetic
from tests.bench.questions.campaigns import BACKENDS, CASES, MEASURED, kept
from tests.bench.report.looks import draw_in_every_look
from tests.bench.sure import sure
from tests.bench.synthetic import MODELS, analysed, gathered

SILENT = tuple(synthetic.campaign(blocks=2, workloads=["cost"]))
"""The records of a campaign that answers none."""

MOST_WORDS = 20
RATIO_OF_RATIOS = re.compile(r"\btimes the\b|\btakes? [\d.]+ times\b")
HOW_MANY = re.compile(r"\b(one trial|[135] (trials?|blocks?)|\d+ runs?|\d+ independent pairs?)\b")


@cache
def campaign_of(name: str, blocks: int) -> Analysis:
    """Its analysis, which keeps what was once calculated; several tests of a question share it."""
    return analysis_of(gathered(MEASURED[name](backends=BACKENDS, blocks=blocks)))


@cache
def answer_of(name: str, blocks: int = 5) -> Answer | None:
    """What its question says of it."""
    (question,) = (each for each in QUESTIONS if name == each.NAME)
    return question.answer(campaign_of(name, blocks))


def named(question: Question) -> str:
    return question.NAME


CLAIM_NOTHING: Final = ("variants", "glance", "against")
"""Fifty crawls share the caches of one processor, so their ratios are not those of a crawl; and
what stands in a glance is claimed by the question that it belongs to. Against asyncio each ratio
has a finding of its own."""

every = pytest.mark.parametrize("question", QUESTIONS, ids=named)


def test_they_are_called_like_their_modules() -> None:
    assert [question.NAME for question in QUESTIONS] == [*STORY]


@every
def test_bench_list_has_it_and_points_that_there_are(question: Question) -> None:
    source = Path(str(getattr(question, "__file__", ""))).read_text()
    only, asks = sure(listed(question.NAME, source))
    assert asks == question.ASKS
    assert asks.endswith("?")
    if only and " " not in only:  # a whole profile or a study
        profiles.profile("smoke", only.split(","))  # raises where there is no such point
    drawn = {figure.name for figure in sure(answer_of(question.NAME)).figures}
    assert not drawn or question.NAME in drawn, "a chart has the name of its question"


@every
def test_its_headline_is_short_and_has_an_interval_or_says_how_few(question: Question) -> None:
    for blocks in (1, 3, 5):
        answer = answer_of(question.NAME, blocks)
        assert answer, f"a campaign of {blocks} has an answer, if without a headline"
        if answer.headline is None:  # nothing is claimed
            assert blocks < MIN_BLOCKS or question.NAME in CLAIM_NOTHING
            continue
        words = answer.headline.text.replace("CPython ", "CPython-").split()
        assert len(words) <= MOST_WORDS, answer.headline.text
        assert not RATIO_OF_RATIOS.search(answer.headline.text), answer.headline.text
        said = f"{answer.headline.text} {answer.headline.behind}"
        assert HOW_MANY.search(said), said


@every
def test_report_and_findings_have_it(question: Question) -> None:
    analysis = campaign_of(question.NAME, 5)
    answer = sure(asked(analysis, question.NAME))
    found = answer.findings(question.NAME)
    assert found or question.NAME in CLAIM_NOTHING
    assert set(found) <= set(findings.named(analysis))
    assert all(table.caption in summary.to_markdown(analysis) for table in answer.tables)
    assert {figure.name for figure in answer.figures} <= set(story(analysis))


GOLDEN: Final = Path(__file__).with_name("golden")
"""What each question says of its made-up campaign, and what else it says in the cases of its tests.
REWRITE=1 writes it: read the difference."""


def marks(figure: Figure) -> Iterator[str]:
    """What a picture in words leaves out: hollow bars, and what is shaded."""
    if isinstance(figure.data, Bars):
        hollow = {panel.axis: [*panel.hollow] for panel in figure.data.panels if panel.hollow}
        yield from (f"Hollow: {axis}: {', '.join(labels)}" for axis, labels in hollow.items())
        around = {panel.axis: panel.around for panel in figure.data.panels if panel.around}
        yield from (f"Shaded: {axis}: ±{log:.4f}" for axis, log in around.items())
    else:
        shaded = {plot.title: plot.shade for plot in figure.data.plots if plot.shade}
        yield from (f"Shaded: {title}: {shade}" for title, shade in shaded.items())
        beyond = {plot.title: plot.beyond for plot in figure.data.plots if plot.beyond}
        yield from (f"From {x:g} on: {title}: {why}" for title, (x, why) in beyond.items())
    assert contradiction(figure.headline or "", figure.data, figure.title) is None


def told(question: Question, answer: Answer) -> str:
    """Everything that an answer says: findings, tables, pictures in words, remarks."""
    found = answer.findings(question.NAME)
    parts = [f"## {name}\n\n{paragraph(*finding)}" for name, finding in found.items()]
    parts += ["\n".join(section(table)).rstrip() for table in answer.tables]
    for figure in answer.figures:
        title = f"## {figure.name}: {figure.title}"
        words = (figure.headline, figure.subtitle, alt(figure.title, figure.data))
        parts += ["\n".join(filter(None, (title, *words, *figure.notes, *marks(figure))))]
    return "\n\n".join([*parts, *answer.warnings, *answer.method]) + "\n"


def otherwise(case: str, usual: str, said: str) -> Iterator[str]:
    """What a case says and the usual campaign does not, and the headings that it leaves out.

    Of tables and pictures it has threads, and whomever the name of the case names.
    """
    mine = re.compile(rf"(backend|threads|{'|'.join(re.findall(r'[a-z_]+', case))})\b")
    old, new = usual.splitlines(), said.splitlines()
    yield from (f"- {line}" for line in old if line not in new and line.startswith("## "))
    for line in new:
        if line in old or (line.startswith("| ") and not mine.match(line, 2)):
            continue
        first, *others = line.split("; ") if "chart: " in line else [line]
        yield "; ".join([first, *filter(mine.match, others), *["…"] * bool(others)])


@every
def test_it_says_what_it_said(question: Question) -> None:
    """Its numbers follow from what things cost in a made-up campaign."""
    usual = told(question, sure(answer_of(question.NAME)))
    parts = [usual]
    for case, made in CASES.get(question.NAME, {}).items():
        answer = question.answer(analysed(tuple(made())))
        lines = otherwise(case, usual, told(question, answer)) if answer else ["Nothing is said."]
        parts.append("\n".join([f"=== {case}", "", *lines, ""]))
    said = "\n".join(parts)
    file = GOLDEN / f"{question.NAME}.txt"
    if "REWRITE" in os.environ:
        file.write_text(said)
    assert file.is_file(), f"REWRITE=1 writes {file}: read it"
    assert said == file.read_text(), "REWRITE=1 writes it: read the difference"


@every
def test_its_figures_are_drawn_in_every_look(question: Question) -> None:
    names = [figure.name for figure in sure(answer_of(question.NAME)).figures]
    draw_in_every_look(campaign_of(question.NAME, 5), *names)


@every
def test_a_campaign_without_it_says_nothing(question: Question) -> None:
    answer = question.answer(analysed(SILENT))
    # Every campaign can be asked about itself.
    assert answer is None or answer.method


def test_without_threads_it_is_not_said_that_blocks_are_too_few() -> None:
    """It was "0 blocks, and an interval needs 5" of a campaign of five."""
    lines = kept(MEASURED["crossover"](), lambda trial: trial.label != "threads")
    assert crossover.answer(analysed(lines)) is None


@pytest.mark.parametrize(
    ("name", "place"),
    [("memory", "tls-fetch"), ("churn", "churn"), ("cancel", "cancel"), ("page", "no such point")],
)
def test_what_one_question_reads_is_in_no_table_of_others(name: str, place: str) -> None:
    """Neither its points nor its controls."""
    analysis = campaign_of(name, 5)
    lines = kept([*analysis.records.all], lambda t: t.kind == "trial" and place not in t.point)
    plain = analysed(lines)
    own, others = (summary.closed_loop(each).rows for each in (analysis, plain))
    assert [row[:2] for row in own] == [row[:2] for row in others]
    assert place == "cancel" or not any(place in point for point in analysis.equal_work.points)
    assert analysis.memory == plain.memory
    assert analysis.labels == plain.labels


def test_the_pairs_of_all_questions_are_one_family() -> None:
    analysis = analysed(MEASURED["variants"](backends=BACKENDS, blocks=5, samples=30))
    records, metric = analysis.records, stats.CPU_PER_1000
    places = {(t.point, t.label) for t in stats.trials_of(records)}
    by_questions = pairs(records, metric)
    declared = [p for p in by_questions if {(p[0], p[1]), (p[0], p[2])} <= places]
    everything = [*stats.star(records, metric), *declared]
    assert declared
    compared = analysis.family(metric).compared
    assert len(compared) == len({(point, frozenset(two)) for point, *two in everything})


# --- the rule of the headline, on made-up measurements ----------------------------------


def cost(threads: Sequence[float], callbacks: Sequence[float]) -> Measured:
    rows = {"threads": threads, "callbacks": callbacks}
    return Measured(
        {"cost": Measure("cost", "a cost", US)},
        {label: {"cost": dict(enumerate(values))} for label, values in rows.items()},
    )


NEAR = (10, 10.1, 9.9, 10, 10.05)
APART = ((20, 21, 19, 20, 22), (10, 9, 11, 12, 9.5))


@pytest.mark.parametrize(
    ("threads", "callbacks", "text", "behind"),
    [
        (
            NEAR,
            NEAR[::-1],
            "It costs about as much with every model",
            "the whole interval lies within ±2 %, 5 blocks",
        ),
        # It said "about as much" of two that nobody could tell apart.
        (
            (10, 14, 8, 10, 13),
            (10, 9, 12, 14, 9.5),
            "It costs 10.8 µs with the models; no difference is shown",
            "the interval includes 1, 5 blocks",
        ),
        (
            *APART,
            "It costs 20.4 µs with threads and 10.2 µs with callbacks",
            "19.0 µs to 22.0 µs and 9.00 µs to 12.0 µs: lowest and highest of 5 blocks; "
            "tested among 1 pair, without an A/A pair",
        ),
        # A cost that is nearly nothing: it was "-0.200 µs with callbacks".
        (
            (12, 11, 13, 12, 12),
            (-0.2, 0.1, -0.3, 0, -0.2),
            "It costs 12.0 µs with threads and about nothing with callbacks",
            "11.0 µs to 13.0 µs and -0.300 µs to 0.100 µs: lowest and highest of 5 blocks; "
            "tested among 1 pair, without an A/A pair",
        ),
        (
            [20],
            [10],
            "It costs 20.0 µs with threads and 10.0 µs with callbacks, in one trial",
            "no interval",
        ),
        # It was "5.40 µs with threads and 5.40 µs with callbacks".
        (
            [5.401],
            [5.4],
            "It costs 5.40 µs with the models; no difference is shown",
            "1 of at least 5 blocks",
        ),
    ],
    ids=["equivalent", "undecided", "apart", "nearly nothing", "one trial", "alike"],
)
def test_the_headline_of_two_models_follows_from_their_verdict(
    threads: Sequence[float], callbacks: Sequence[float], text: str, behind: str
) -> None:
    found = sure(of_models(cost(threads, callbacks), "cost", "It costs"))
    assert (found.text, found.behind) == (text, behind)
    assert {pair.metric.title for pair in found.pairs} <= {"a cost"}


def test_one_model_alone_or_whose_server_slept_is_compared_with_no_others() -> None:
    whole = cost(*APART)
    alone = replace(whole, values={"threads": whole.values["threads"]})
    found = replace(whole, asleep=frozenset({"threads"}))
    assert of_models(alone, "cost", "It costs") is of_models(found, "cost", "It costs") is None
    assert found.table("A", "Costs.").notes == [
        "The server slept for threads, and polled for the others."
    ]


def test_a_model_that_was_compared_with_none_is_not_among_those_of_the_sentence() -> None:
    """ "1.10 to 1.19 with the models" stood over a bar of threads at 1.30."""
    rows = {"threads": (13, 14, 12, 13, 13), "callbacks": NEAR, "generators": (8, 12, 10, 9, 13)}
    every = replace(cost(*APART), values={x: {"cost": dict(enumerate(v))} for x, v in rows.items()})
    found = sure(of_models(replace(every, asleep=frozenset({"threads"})), "cost", "It costs"))
    words = "It costs 10.0 µs to 10.2 µs with all models but threads; no difference is shown"
    assert found.text == words


def test_a_subtitle_that_ends_with_a_full_stop_goes_on_with_a_capital() -> None:
    """It was "threads as well.; median of 5 blocks"."""
    made = cost(NEAR, NEAR)
    subtitles = [bars(made, None, "a", "A", of, {"a": ["cost"]}).subtitle for of in ("In.", "In")]
    assert subtitles == ["In. Geometric mean of 5 blocks", "In; geometric mean of 5 blocks"]


def test_the_strongest_of_equal_ones_is_seldom_a_headline() -> None:
    """Of six equal ones the highest and the lowest differ; the correction is for that choice."""
    rng = np.random.default_rng(3)
    contrasted = 0
    for _ in range(60):
        values = {m: {"cost": dict(enumerate(rng.normal(10, 0.5, 5)))} for m in MODELS}
        found = of_models(
            Measured({"cost": Measure("cost", "a cost", US)}, values), "cost", "It is"
        )
        contrasted += bool(sure(found).pairs)
    assert contrasted <= 6


def test_a_table_says_once_that_all_its_cells_are_of_one_trial() -> None:
    once, mixed = cost([20], [10]).table("A", "Costs."), cost([20], [10, 11]).table("A", "Costs.")
    assert (once.about, once.rows[0]) == ("Costs. One trial each.", ["threads", "20"])
    assert mixed.about == "Costs. Geometric mean of the blocks, and their range."
    assert mixed.rows == [["threads", "20 (one trial)"], ["callbacks", "10.5 [10.0–11.0]"]]


def pair(values: Sequence[float]) -> stats.Comparison:
    """Threads over callbacks."""
    (found,) = cost(values, [10.0] * len(values)).compared("cost", [("callbacks", "threads")])
    return found


SLOWER = pair([20, 21, 19, 20, 22])
MORE = "Threads need more than callbacks"


@pytest.mark.parametrize(
    ("text", "pairs", "builds"),
    [
        (MORE, [], False),
        (MORE, [pair([10, 11, 9, 10.5, 9.6])], False),
        (MORE, [pair([20, 21])], False),
        ("Threads need more than async/await", [SLOWER], False),
        ("On one processor, `threads` need more than `callbacks` on two", [], False),
        (f"{MORE}, and generators more than both", [SLOWER], False),
        (MORE, [SLOWER], True),
        (f"{MORE}, in one trial", [], True),
        (f"{MORE} (3 of 3 trials)", [], True),
        ("Threads starve some of 200 slots in every block", [], True),
    ],
)
def test_a_headline_about_two_backends_builds_only_with_a_significant_pair(
    text: str, pairs: list[stats.Comparison], *, builds: bool
) -> None:
    with nullcontext() if builds else pytest.raises(UnprovenError):
        assert Headline(text, "", pairs).text == text


def test_a_difference_in_a_sentence() -> None:
    head = sure(contrast(SLOWER, "need", "processor time for a page"))
    assert head.text == "Threads need 2.0 times as much processor time for a page as callbacks"
    behind = "95 % interval of 5 blocks; 20.4 and 10.0 µs, without an A/A pair"
    assert head.behind.endswith(behind)
    assert contrast(pair([10, 11, 9, 10.5, 9.6]), "need", "time") is None
