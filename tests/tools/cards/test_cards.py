"""Cards: numbers from the records, and nothing where there are none."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from bench.analysis import stats
from bench.analysis.analysis import Analysis
from bench.questions import answers, churn
from bench.show.measured import Measured
from crawlers.catalogue import OURS
from tests.bench import committed
from tests.bench.questions.campaigns import costed
from tests.bench.synthetic import MODELS, analysed, campaign, rungs
from tools.cards import document
from tools.cards.document import BY, ahead, better, numbers

NAMES = (*MODELS, "trio", "asyncio_protocol")


@pytest.fixture(scope="module")
def analysis() -> Analysis:
    """A small campaign in which callbacks is the fastest."""
    return analysed(
        campaign(
            backends=NAMES,
            base="threads",
            blocks=6,
            samples=200,
            workloads=("ladder", "throughput", "c10k", "regime"),
            ladder=rungs(NAMES),
        )
    )


@pytest.fixture(scope="module")
def pages(analysis: Analysis) -> dict[str, str]:
    """The files of docs/cards."""
    return document.pages(analysis, [], "0" * 64)


def rows(analysis: Analysis, label: str) -> dict[str, list[str]]:
    """The rows of its numbers by their first cells."""
    return {texts[0]: texts[1:] for texts in numbers(analysis, label).texts}


def test_every_question_has_its_rows_on_a_card() -> None:
    analysis = analysed(costed(churn.COLUMNS, backends=NAMES, blocks=5, workloads=("ladder",)))
    found = rows(analysis, "callbacks")
    opening = "to open and close a connection, processor time, µs"
    assert found[opening][:2] == ["churn", "10.8"]
    measured = [answer.measured for _, answer in answers(analysis)]
    for one in measured:
        if isinstance(one, Measured):
            measures = [one.measures[key] for key in one.row("callbacks")]
            assert {f"{measure.what}, {measure.unit.symbol}" for measure in measures} <= {*found}


@pytest.mark.parametrize("name", OURS)
def test_a_card_of_the_reference_has_one_number_per_name(name: str) -> None:
    """trio's had a crawled page twice, of different points: 39.4 µs and 43.5."""
    found = numbers(committed.analysis(), name)
    said: dict[tuple[str, str], str] = {}
    head = ""
    for what, _, *values in found.texts:
        # A row that begins with an ellipsis goes on from the one above it.
        head = head if what.startswith("…") else what
        shown = " ".join(values)
        assert said.setdefault((head, what), shown) == shown


def test_an_advantage_is_a_verdict_to_the_better(analysis: Analysis) -> None:
    assert "Compared with `threads`, more pages per second at" in " ".join(
        ahead(analysis, "callbacks")
    )
    for metric, _ in BY:
        for each in analysis.compare(metric):
            assert better(metric, each.ratio) <= each.ratio.shown
            assert not better(metric, replace(each.ratio, verdict=stats.UNDECIDED))
            if each.ratio.shown:
                swapped = each.inverse.ratio
                assert better(metric, swapped) != better(metric, each.ratio)


# --- in docs/cards ------------------------------------------------------------------------


def test_there_is_a_card_for_each_that_people_choose_and_a_table_of_all(
    analysis: Analysis, pages: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "gone.md").write_text("a backend that is no more")
    document.write(tmp_path, pages)
    names = {file.name for file in tmp_path.iterdir()}
    assert names == {document.OVERVIEW, *(f"{name}.md" for name in document.CHOSEN)}
    assert set(document.CHOSEN) < OURS.keys()
    overview = (tmp_path / document.OVERVIEW).read_text()
    for name in OURS:
        shown = f"[`{name}`]({name}.md)" if name in document.CHOSEN else f"`{name}`"
        assert f"| {shown} |" in overview
    rate = rows(analysis, "trio")["a crawl, pages/s"][1].partition(" ")[0]
    (line,) = (line for line in overview.splitlines() if line.startswith("| [`trio`]"))
    assert f"| {rate} |" in line


def test_a_page_is_whole_and_its_links_lead_out_of_the_folder(
    analysis: Analysis, pages: dict[str, str]
) -> None:
    text = pages["trio.md"]
    for title in ("What its documentation recommends", "Numbers", "Where it is ahead", "Limits"):
        assert f"\n## {title}\n" in text
    for address in re.findall(r"\]\(([^)]*)\)", text):
        assert address.startswith(("https://", "../"))
    assert analysis.campaign.campaign in text
    assert "0" * 64 in text
