"""The findings, and that the documents say what the reference campaign says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from bench.analysis.analysis import Analysis
from bench.questions import answers, page
from bench.questions.question import Answer, Headline
from bench.report import findings
from tests.bench import committed
from tests.bench.synthetic import across, analysed, campaign
from tools import quotes

ROOT = Path(__file__).parents[3]


def test_what_one_campaign_found_is_not_in_bold() -> None:
    recent = analysed(campaign(blocks=6, samples=30, workloads=["throughput"]))
    reference = analysed(campaign(blocks=6, samples=30))
    first, second = quotes.headlines([recent], reference).split("From one campaign:")
    names = {
        text: re.findall(r"^- `([^`]+)`: ", text, flags=re.MULTILINE) for text in (first, second)
    }
    assert [*names[first], "trust"] == [*findings.named(recent)], "it quotes no number"
    assert {*names[first]}.isdisjoint(names[second])
    assert {*names[first], *names[second]} == {*findings.named(reference)}
    assert first.count("**") == 2 * len(names[first])
    assert "**" not in second
    assert ".." not in first + second


def test_a_sentence_over_campaigns_keeps_the_subject_that_most_of_them_chose(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It was about the pair of the newest campaign, so README's sentences changed their subject."""
    recent = analysed(campaign(blocks=6, samples=30, workloads=["throughput"]))
    pairs = iter(["threads and callbacks", "threads and callbacks", "threads and generators"])

    def answered(_: Analysis) -> list[tuple[Any, Answer]]:
        pair = next(pairs)
        head = Headline(f"In one trial, {pair} differ", "", quotes=pair.split(" and "))
        return [(page, Answer(head))]

    monkeypatch.setattr(quotes, "answers", answered)
    (said,) = quotes.over([recent] * 3).values()
    assert said.startswith("**In one trial, threads and callbacks differ**")


def test_nothing_is_said_without_data() -> None:
    assert findings.named(analysed(campaign(blocks=1, samples=1)[:1])) == {}


def test_a_headline_of_the_reference_can_be_read_aloud() -> None:
    for name in ("reference", "interpreters"):
        for _, answer in answers(committed.analysis(name)):
            head = answer.headline.text if answer.headline else ""
            assert len(head.split()) <= 20, head


def test_the_gallery_of_a_campaign_across_interpreters_is_its_chart(tmp_path: Path) -> None:
    (tmp_path / "interpreters.svg").touch()
    shown = quotes.gallery(analysed(across()), "charts", tmp_path)
    assert shown.count("<img ") == 1
    assert 'src="charts/interpreters.svg"' in shown


def test_the_pairs_of_a_campaign_are_told() -> None:
    text = quotes.doubts(analysed(campaign(workloads=("throughput",), samples=30)))
    assert "4 independent pairs" in text
    assert max(map(len, text.splitlines())) <= 100
