"""No chart of any campaign contradicts its title, hides its words or says nothing.

Headlines are true, about the models first, and silent where the data show nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache, partial

import pytest
from matplotlib.collections import LineCollection

from bench.analysis import stats
from bench.analysis.analysis import Analysis
from bench.analysis.stats import Comparison, Metric, Ratio
from bench.launch import RESULTS
from bench.questions import answers
from bench.report.charts import designed, laid_out, placed
from bench.report.charts.look import Look, style
from bench.schema import AnyRecord, TrialRecord
from bench.show.figures import Bars, Figure, Lines, Stack
from bench.show.pictures import alt, contradiction, labels_of, names_in
from bench.show.words import BY_SERVER, difference, footer, leading, of_blocks, sentence, silence
from tests.bench import committed, synthetic
from tests.bench.questions.campaigns import for_users
from tests.bench.report.charts.campaigns import designs_of, made, standard, unequal
from tests.bench.report.looks import crowded
from tests.bench.sure import sure
from tests.bench.synthetic import MODELS, altered, analysed, replaced

LATEST = f"headlines/{max(file.name for file in (RESULTS / 'headlines').iterdir())}"


@lru_cache(maxsize=1)
def of_a_user() -> tuple[AnyRecord, ...]:
    return tuple(for_users(made()))


CAMPAIGNS = pytest.mark.parametrize(
    "made_of",
    [
        lambda: analysed(of_a_user()),
        lambda: analysed(made(blocks=1)),
        lambda: analysed(unequal()),
        pytest.param(committed.analysis, marks=pytest.mark.slow),
        pytest.param(partial(committed.analysis, LATEST), marks=pytest.mark.slow),
    ],
    ids=["of-a-user", "one-trial", "whole", "reference", "headlines"],
)
Made = Callable[[], Analysis]


@lru_cache(maxsize=8)
def figures(analysis: Analysis) -> list[Figure]:
    """Every figure that is drawn."""
    drawn = designs_of(analysis)
    found = [figure for _, answer in answers(analysis) for figure in answer.figures]
    return [figure for figure in found if figure.name in drawn]


@CAMPAIGNS
def test_a_title_says_what_its_picture_shows(made_of: Made) -> None:
    """The drawing would drop such a title; a question should not offer one."""
    for figure in figures(made_of()):
        assert contradiction(figure.headline or "", figure.data, figure.title) is None, figure.name


@CAMPAIGNS
def test_names_in_titles_are_names_on_axes(made_of: Made) -> None:
    for name, design in designs_of(made_of()).items():
        assert "async/await" not in design.heading.lower(), name


@CAMPAIGNS
def test_a_bar_ends_at_what_its_parts_add_up_to(made_of: Made) -> None:
    for figure in figures(made_of()):
        panels = figure.data.panels if isinstance(figure.data, Bars) else ()
        for bar in (bar for panel in panels for row in panel.rows.values() for bar in row):
            if isinstance(bar, Stack):
                assert min(bar.parts.values(), default=0.0) >= 0, figure.name
                assert bar.interval is None or bar.interval[1] >= bar.value > 0, figure.name


@CAMPAIGNS
def test_a_note_names_nobody_who_is_not_there(made_of: Made) -> None:
    analysis = made_of()
    for figure in figures(analysis):
        drawn = labels_of(figure.data)
        for note in placed(designed(figure), analysis, drawn).notes:
            if found := re.match(r"(\w+)[\w ]*: \d+ processors", note):
                assert found[1] in drawn, f"{figure.name}: {note}"
            if found := re.match(r"Not in the bars: ([^:]+):", note):
                assert "user" not in found[1], f"{figure.name}: {note}"


@pytest.mark.slow
def test_charts_of_servers_do_not_say_where_the_crawler_of_that_name_ran() -> None:
    """Below "every server ran on one processor, threads as well" stood "threads: 2 processors"."""
    design = designs_of(committed.analysis())["serve"]
    assert "threads as well" in design.subtitle
    assert not any("threads: " in note for note in design.notes)


OF_MEMORY = ("glance", "memory", "c10k")
"""What of a user's campaign looks otherwise: not all of its memory could be read."""


@pytest.mark.parametrize(
    ("made_of", "names"),
    [
        (lambda: analysed(of_a_user()), OF_MEMORY),
        (lambda: analysed(made(blocks=1)), ()),
        pytest.param(committed.analysis, (), marks=pytest.mark.slow),
        pytest.param(partial(committed.analysis, LATEST), (), marks=pytest.mark.slow),
    ],
    ids=["of-a-user", "one-trial", "reference", "headlines"],
)
def test_no_text_is_clipped_or_lies_on_another(made_of: Made, names: Sequence[str]) -> None:
    """Of a whole campaign: see test_story.py, which draws one."""
    analysis = made_of()
    small_print, story = footer(analysis), designs_of(analysis)
    crowds = [crowded(story[name], analysis.backends, small_print) for name in names or story]
    assert [text for crowd in crowds for text in crowd] == []


def test_one_trial_looks_like_one_trial() -> None:
    found = [each for each in figures(analysed(made(blocks=1))) if isinstance(each.data, Lines)]
    assert found
    for figure in found:
        assert (BY_SERVER in designed(figure).notes) == figure.hollow
    texts = [note for each in designs_of(analysed(made(blocks=1))).values() for note in each.notes]
    assert any("a single trial" in note for note in texts)
    assert not any(
        "a single trial" in n for d in designs_of(analysed(made())).values() for n in d.notes
    )
    assert names_in("Async/await and threads") == {"async/await", "threads"}


def strips(design: Figure) -> list[int]:
    """How many ticks each of its strips has."""
    look = Look("wide", MODELS)
    with style(look):
        axes = laid_out(design, look).figure.axes
        drawn = [each for one in axes for each in one.collections]
        return [len(each.get_segments()) for each in drawn if isinstance(each, LineCollection)]


def test_behind_an_interval_are_as_many_ticks_as_blocks() -> None:
    told = designs_of(analysed(unequal()))
    drawn = {name: set(strips(told[name])) for name in ("glance", "cpu", "against", "memory")}
    # A line through many trials has no value of a block.
    assert drawn == {"glance": {6}, "cpu": {6}, "against": {6}, "memory": set()}
    assert any("tick" in note for note in told["glance"].notes)


def test_a_single_trial_has_no_tick() -> None:
    told = designs_of(analysed(made(blocks=1)))
    assert [name for name, design in told.items() if strips(design)] == []
    assert not any("tick" in note for design in told.values() for note in design.notes)


STACKS = ("aiohttp", "httpx")


def test_headlines_are_about_the_models_and_no_sentence_mixes_them_with_stacks() -> None:
    """Where aiohttp, four times as slow, would make the larger headline."""
    for name, design in standard().items():
        if not name.startswith(("variants-", "against")):
            assert not any(other in design.heading for other in (*STACKS, "uvloop")), name
        words = alt(design.title, design.data)
        texts = (design.heading, design.subtitle, *re.split(r"\. ", words))
        for text in texts:
            both = set(re.findall(r"[a-z_]+", text))
            assert not (both & set(STACKS) and both & set(MODELS)), f"{name}: {text}"


def comparison(value: float, *, limited: bool = False, label: str = "threads") -> Comparison:
    """A shown difference to callbacks."""
    ratio = Ratio(value, 0.95 * value, 1.05 * value, 6, 0.001, (), "faster", "shown")
    point = "throughput-100"
    return Comparison("throughput", point, stats.PAGES_PER_S, "callbacks", label, ratio, limited)


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (comparison(0.65), "35 % fewer pages than callbacks"),
        (comparison(1.4), "40 % more pages than callbacks"),
        (comparison(1.4, limited=True), "at least 40 % more pages than callbacks"),
        (comparison(2.42), "2.4 times as many pages as callbacks"),
        (comparison(0.4, limited=True), "60 % fewer pages than callbacks"),
    ],
)
def test_differences_in_words(found: Comparison, words: str) -> None:
    assert difference(found, "pages", "fewer") == words


def test_a_sentence_begins_with_a_capital_but_not_a_name() -> None:
    assert sentence("async/await takes less") == "Async/await takes less"
    assert sentence("aiohttp takes more") == "aiohttp takes more"


@pytest.mark.parametrize("metric", [stats.PAGES_PER_S, stats.CPU_PER_1000])
def test_a_headline_or_a_reason_for_none(metric: Metric) -> None:
    for records in (made(), made(blocks=2), made(effects=False, noise=0.03)):
        analysis = synthetic.analysed(records)
        best = leading(analysis, metric, "throughput")
        assert (best is None) == (silence(analysis, metric, "throughput") is not None)


def test_a_headline_is_about_no_difference_that_would_be_called_equivalent() -> None:
    """ "Threads fetch 0.1 % fewer pages at 100 slots", said a campaign of slow servers alone."""
    rates = {"waiting-100": 999.0, "waiting-1000": 500.0}

    def exact(trial: TrialRecord) -> TrialRecord:
        rate = rates.get(trial.point, 1000.0) if trial.label == "threads" else 1000.0
        return altered(trial, pages_per_s=rate * (1 + trial.block / 1e5))

    made = synthetic.campaign(base="callbacks", workloads=("waiting",), samples=30)
    analysis = synthetic.analysed(replaced(made, exact))
    here = [c for c in analysis.compare(stats.PAGES_PER_S) if c.label == "threads"]
    assert all(c.ratio.shown for c in here if c.point in rates)
    assert sure(leading(analysis, stats.PAGES_PER_S, "waiting")).point == "waiting-1000"


@pytest.mark.parametrize(
    ("counts", "words"),
    [
        ([6, 6], "6 blocks"),
        ([2], "2 blocks (indicative)"),
        ([1], "one block (indicative)"),
        ([2, 10], "2 to 10 blocks (indicative below 5)"),
        ([5, 10], "5 to 10 blocks"),
    ],
)
def test_few_blocks_are_called_indicative(counts: list[int], words: str) -> None:
    assert of_blocks(counts) == words
