"""Headlines: true, about the models first, and silent where the data show nothing."""

from __future__ import annotations

import re

import pytest

from bench.analysis import stats
from bench.analysis.stats import Comparison, Metric, Ratio
from bench.show.pictures import alt
from bench.show.words import difference, leading, of_blocks, sentence, silence
from crawlers.registry import MODELS
from tests.bench import synthetic
from tests.bench.report.charts.campaigns import made, standard

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
