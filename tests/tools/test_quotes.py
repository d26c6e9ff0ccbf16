"""What README.md and docs/which-one.md quote, and how long they are."""

from __future__ import annotations

import re

import pytest

from bench.analysis import stats
from bench.analysis.stats.campaigns import FEWEST, combined
from bench.launch import ROOT
from bench.questions import answers
from bench.report import campaigns
from bench.report.campaigns import CampaignGroup
from bench.show.table import MISSING
from bench.text import listing
from tests.bench import committed
from tests.bench.sure import sure
from tests.tools.test_prose import words
from tools.quotes import CITES, FETCH, SHOWN, Lock, NotShownError, Numbers, cited, over_group, table

MOST_WORDS = {"README.md": 700, "docs/which-one.md": 2500}
SITUATIONS, PAIRS = 8, 6


@pytest.fixture(scope="module")
def most() -> Numbers:
    """Of the machine that has most campaigns."""
    *_, last = campaigns.published().groups[0].campaigns
    return Numbers(committed.analysis(f"headlines/{last.campaign}"))


@pytest.fixture(scope="module")
def first() -> Numbers:
    """Of the machine that others are compared with in docs/notebook/another-machine.md."""
    *_, last = next(g for g in campaigns.published().groups if g.processor == "AMD EPYC").campaigns
    return Numbers(committed.analysis(f"headlines/{last.campaign}"))


@pytest.fixture(scope="module")
def numbers() -> Numbers:
    return Numbers(committed.analysis())


@pytest.mark.parametrize("page", MOST_WORDS)
def test_a_page_stays_short(page: str) -> None:
    words = re.findall(r"\S*\w\S*", (ROOT / page).read_text())
    assert len(words) <= MOST_WORDS[page]


def test_a_difference_is_quoted_only_if_it_is_shown(numbers: Numbers) -> None:
    assert re.fullmatch(r"\d+ % less \(\d+ to \d+ %\)", numbers.change("uvloop", "async_await"))
    compared = numbers.analysis.compare(stats.CPU_PER_1000, "callbacks")
    undecided = (c for c in compared if c.ratio.verdict == "undecided" and c.point != FETCH)
    first = next(undecided)
    with pytest.raises(NotShownError, match="undecided"):
        numbers.change(first.label, "callbacks", first.point)


def test_a_fetched_page_is_quoted_over_campaigns_and_any_other_of_the_reference(
    numbers: Numbers,
) -> None:
    """ "45 % more (42 to 47 %)", said five blocks; the next campaigns said 53, 60, 56 and 47 %."""
    group = sure(numbers.group)
    together = group.numbers["page/cpu_ms_per_1000/fetch-100/async_await/callbacks"].combined
    low, high = (f"{100 * (end - 1):.0f}" for end in (together.low, together.high))
    assert numbers.change("async_await", "callbacks").endswith(f"({low} to {high} %)")
    assert (
        numbers.page("async_await")
        == numbers.over("page/cpu_ms_per_1000/fetch-100/async_await").partition(" ")[0]
    )
    opened = group.numbers["churn/opening/uvloop"].combined.value
    assert float(numbers.connection("uvloop")) == pytest.approx(opened, rel=0.01)
    for label in ("anyio", "async_await"):
        trials = numbers.analysis.at_point("ladder-100")[label]
        median = stats.middle(map(stats.CPU_PER_1000.value, trials))
        assert float(numbers.page(label, "ladder-100")) == pytest.approx(sure(median), rel=0.01)


def test_both_rows_of_threads_are_of_whole_crawls(most: Numbers) -> None:
    """In turns a page on one processor cost 39 µs, in whole crawls 29, beside 73 on two."""
    free, pinned, *_ = table(most).splitlines()[2:]
    for row, where in ((free, ""), (pinned, ", one processor")):
        whole = (f"handovers/fetched/cost/{label}{where}" for label in ("threads", "callbacks"))
        assert most.anywhere(*whole).partition(" ")[0] in row.split("|")[4]


def test_a_ratio_repeats_where_a_time_does_not(most: Numbers) -> None:
    """Each hour makes all times of a campaign longer or shorter, so they cancel."""
    group = sure(most.group)
    for label in SHOWN[1:]:
        key, base = (f"churn/opening/{name}" for name in (label, "callbacks"))
        time, ratio = sure(over_group(group, key)), sure(over_group(group, key, base))
        assert ratio.high / ratio.low < time.high / time.low
        both = zip(group.numbers[key].alike, group.numbers[base].alike, strict=True)
        each = [one.value / other.value for one, other in both if one and other]
        assert min(each) < ratio.value < max(each)


def test_the_table_has_the_lowest_and_the_highest_end_of_all_processors(most: Numbers) -> None:
    """A new connection of trio costs 2.5 times one of callbacks on one make, 3.5 on another."""
    key, base = "churn/opening/trio", "churn/opening/callbacks"
    own, *others = (
        sure(over_group(group, key, base)) for group in campaigns.published().groups[:2]
    )
    said = [*map(float, re.findall(r"[\d.]+", most.anywhere(key, base)))]
    assert said[0] == pytest.approx(own.value, rel=0.01)
    assert said[1] <= own.low * 1.01
    assert said[2] >= max(one.high for one in others) * 0.99
    assert most.anywhere("none/such") == MISSING


def test_what_waits_beside_work_says_in_how_many_trials(numbers: Numbers) -> None:
    assert re.fullmatch(r"\S+ (ms|µs) \(\d+ trials?\)", numbers.with_work("async_await"))
    with pytest.raises(KeyError):
        numbers.with_work("nobody")


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


def test_a_number_to_cite_says_nothing_about_other_cases(numbers: Numbers) -> None:
    """ "44 % less with one slot" was the placement of the loops, not the model."""
    *cites, _, basis = cited([numbers.analysis]).splitlines()
    assert basis.startswith("Campaigns: ")
    assert 3 <= len(cites) <= len(CITES)
    for cite in cites:
        assert re.fullmatch(r"- \*\*.+\*\* \(.+\)\.", cite)


def test_what_one_campaign_alone_says_is_not_among_what_several_say() -> None:
    """A slow campaign, the newest, called uvloop's gain undecided; seven others had shown it."""
    text = (ROOT / "docs" / "findings.md").read_text()
    several, one = text.split("<!-- headlines:")[1].split("\nFrom one campaign:\n")
    sentences = [line for line in several.splitlines() if line.startswith("- ")]
    assert len(sentences) > len(CITES)
    for sentence in sentences:
        # Of a p99 only campaigns that warmed up have a number, which are of one processor.
        warm = "`open_loop`" in sentence
        assert f"** ({'AMD EPYC family 26 model 2' if warm else '3 processors'}: " in sentence
    assert "`against-uvloop`" in one


# --- how many numbers of a campaign lie where those before it said ---


def changed(group: CampaignGroup) -> int:
    """The place of the first campaign whose turns count as the last one's do."""
    return max(number.since for number in group.numbers.values())


def test_so_many_campaigns_lie_in_the_interval_of_those_before(most: Numbers) -> None:
    """ "635 of 652" was counted before each ratio of gevent to asyncio was a number."""
    group, count, held = sure(most.group), 0, 0
    for quantity in group.numbers.values():
        for place in range(FEWEST, group.count):
            since = quantity.since if place >= quantity.since else 0
            before = [[value] for value in quantity.values[since:place] if value]
            if (value := quantity.values[place]) and len(before) >= FEWEST:
                together = combined(before, stalls=quantity.unit == "ms")
                count += together.predicted
                held += together.predicted and together.low <= value.value <= together.high
    assert f"had {held} of {count} numbers" in words("method.md")


def test_so_many_numbers_of_other_machines_lie_in_the_published_intervals(first: Numbers) -> None:
    """ "One is outside, and once", said the page when three of the fourth campaign were."""
    own = sure(first.group).numbers
    quotes = [
        f"{question.NAME}/{key}"
        for question, answer in answers(first.analysis)
        for name, (head, _) in answer.findings(question.NAME).items()
        if name in CITES and head
        for key in head.quotes
    ]
    assert len(quotes) == 7
    text = words("notebook/another-machine.md")
    outside: dict[str, list[int]] = {}
    for other in campaigns.elsewhere(first.analysis.campaign.environment):
        # Of response times only the trials that warmed up have any.
        both = own.keys() & other.numbers.keys()
        held: list[int] = []
        outside[other.processor] = []
        # Turns of the last campaigns count otherwise.
        alike = len(other.campaigns) if other.warm_s == sure(first.group).warm_s else changed(other)
        for place in range(alike):
            inside = {
                key: own[key].combined.low <= value.value <= own[key].combined.high
                for key in both
                if (value := other.numbers[key].values[place])
            }
            held.append(sum(inside.values()))
            outside[other.processor].append(sum(not inside[key] for key in quotes))
        assert f"{listing([*map(str, held)])} of their {len(both)} numbers" in text
        assert f" {min(held)} to {max(held)}" in words("method.md")
    assert "Seven numbers are cited in README. In the first campaign and in the sixth one" in text
    assert "In the fourth three are" in text
    assert "In the ninth one is" in text
    assert outside["Intel Xeon"] == [1, 0, 0, 3, 1, 1, 0, 0, 1]
    assert "Of the seven that README cites, one is outside" in text
    assert outside["AMD EPYC family 26 model 2"] == [0, 1, 0, 0, 1, 0, 1, 0, 0, 0, 1, 0, 0, 1]
