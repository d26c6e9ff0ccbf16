"""What README.md and docs/which-one.md quote, and how long they are."""

from __future__ import annotations

import re

import pytest

from bench.launch import ROOT
from bench.questions import serve
from bench.schema import TrialRecord
from bench.show.table import MISSING
from tests.bench import committed
from tests.bench.questions.campaigns import costed, holding
from tests.bench.synthetic import analysed
from tools.quotes import CITES, Lock, NotShownError, Numbers, cited

MOST_WORDS = {"README.md": 700, "docs/which-one.md": 2500}
SITUATIONS, PAIRS = 8, 6


@pytest.fixture(scope="module")
def numbers() -> Numbers:
    return Numbers(committed.analysis())


@pytest.mark.parametrize("page", MOST_WORDS)
def test_a_page_stays_short(page: str) -> None:
    words = re.findall(r"\S*\w\S*", (ROOT / page).read_text())
    assert len(words) <= MOST_WORDS[page]


def test_a_difference_is_quoted_only_if_it_is_shown(numbers: Numbers) -> None:
    assert re.fullmatch(r"\d+ % less \(\d+ to \d+ %\)", numbers.change("uvloop", "async_await"))
    with pytest.raises(NotShownError, match="undecided"):
        numbers.change("generators", "callbacks", "waiting-100")


def test_what_was_not_measured_cannot_be_quoted(numbers: Numbers) -> None:
    for quote in (numbers.page, numbers.idle, numbers.connection):
        with pytest.raises(KeyError):
            quote("nobody")
    with pytest.raises(KeyError):
        numbers.change("uvloop", "async_await", "nowhere")


def test_without_the_lock_a_verdict_is_needed_too() -> None:
    lock = Lock(committed.analysis("interpreters"))
    assert lock.free == f"{lock.locked}t"
    assert "% more (" in lock.change("async_await")
    with pytest.raises(NotShownError, match="other work"):
        lock.change("threads")


def test_every_situation_and_pair_has_one_answer_and_says_when_it_is_wrong() -> None:
    text = (ROOT / "docs" / "which-one.md").read_text()
    situations, pairs = (part.split("\n### ")[1:] for part in text.split("\n## Pairs\n"))
    assert (len(situations), len(pairs)) == (SITUATIONS, PAIRS)
    for situation in situations:
        assert "**Wrong when**" in situation
        assert re.search(r"\*\*Check:\*\*\s+`", situation)
    for pair in pairs:
        assert re.match(r".+\?\n\n\*\*", pair)
        assert "**It does not matter if**" in pair
        assert "\nCheck: `" in pair


def test_a_server_has_numbers_where_it_was_measured() -> None:
    held = [one for one in holding(blocks=2) if isinstance(one, TrialRecord)]
    loaded = costed(serve.COLUMNS, blocks=2)
    both = Numbers(analysed([*loaded, *held]))
    assert both.serves
    assert float(both.server("threads")) > float(both.server("callbacks"))
    assert both.server("aiohttp") == MISSING
    assert not Numbers(analysed(loaded)).serves


def test_a_number_to_cite_says_nothing_about_other_cases(numbers: Numbers) -> None:
    """ "44 % less with one slot" was the placement of the loops, not the model."""
    cites = cited([numbers.analysis]).splitlines()
    assert 3 <= len(cites) <= len(CITES)
    for cite in cites:
        assert re.fullmatch(r"- \*\*.+\*\* \(.+\)\.", cite)


def test_what_one_campaign_alone_says_is_not_among_what_several_say() -> None:
    """A slow campaign, the newest, called uvloop's gain undecided; seven others had shown it."""
    text = (ROOT / "docs" / "findings.md").read_text()
    several, one = text.split("<!-- headlines:")[1].split("\nFrom one campaign:\n")
    sentences = [line for line in several.splitlines() if line.startswith("- ")]
    assert len(sentences) > len(CITES)
    assert all(re.search(r"\d campaigns", sentence) for sentence in sentences)
    assert "`against-uvloop`" in one
