"""Cards: numbers from the records, and nothing where there are none."""

from __future__ import annotations

from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from bench import store
from bench.analysis import stats
from bench.analysis.analysis import Analysis
from bench.analysis.cancelling import Cancellations, Ended
from bench.analysis.churn import Churn
from bench.analysis.stats import Spread
from bench.cards import document, extension
from bench.cards.advantages import BY, advantages, better
from bench.cards.card import Card, card
from bench.costs import record as costs_record
from bench.costs.account import accounts
from bench.costs.record import Costs
from bench.report import cite
from crawlers.catalogue import OURS
from tests.bench.costs.samples import header, sample
from tests.bench.encrypted import encrypted
from tests.bench.synthetic import MODELS, across, analysed, campaign, gathered, rungs

NAMES = (*MODELS, "trio")


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


def made(analysis: Analysis, name: str, counted: Costs | None = None) -> Card:
    return card(analysis, accounts(counted) if counted else [], OURS[name], "0" * 64)


def row(found: Card, what: str) -> list[str]:
    """A row of the numbers."""
    return next(texts for texts in found.numbers.texts if texts[0] == what)


def test_the_numbers_are_those_of_the_records(analysis: Analysis) -> None:
    found = made(analysis, "callbacks")
    point = row(found, "a crawl, pages/s")[1]
    trials = [t for t in analysis.records.trials if (t.point, t.label) == (point, "callbacks")]
    rates = sorted(t.pages_per_s for t in trials if t.pages_per_s)
    shown = row(found, "a crawl, pages/s")[2]
    assert shown.endswith(f"[{rates[0]:,.0f}–{rates[-1]:,.0f}]")
    middle = (rates[2] + rates[3]) / 2
    assert shown.startswith(f"{middle:,.0f} ")
    kib = next(each.total for each in analysis.memory_rows if each.label == "callbacks")
    assert kib is not None
    assert row(found, "a connection, KiB")[2:] == [f"{kib:.1f}", "–"]


def test_the_base_is_not_compared_with_itself(analysis: Analysis) -> None:
    whats = [texts[0] for texts in made(analysis, "threads").numbers.texts]
    assert "… to threads" not in whats
    assert "… to threads" in [texts[0] for texts in made(analysis, "trio").numbers.texts]


def test_numbers_over_tls_stand_beside_those_on_plain_http() -> None:
    over = encrypted(backends=("callbacks", "async_await"), workloads=("c10k",), samples=50)
    analysis = Analysis(gathered(over))
    name = analysis.encryption.held[0].label
    found = made(analysis, name)
    held = analysis.encryption.of(name)
    assert held is not None
    assert row(found, "a connection, KiB")[3] == f"{held.total / 1024:.1f}"
    assert row(found, "… in user space")[3] == f"{held.user / 1024:.1f}"


def test_churn_and_interrupts_have_rows_where_they_were_measured() -> None:
    found = analysed(campaign(backends=NAMES, blocks=1, samples=20, workloads=("ladder",)))
    assert not [texts for texts in made(found, "trio").numbers.texts if "interrupt" in texts[0]]
    one = Spread(0.25, 0.2, 0.3, 3)
    vars(found)["churn"] = [Churn("trio", 10, {}, Spread(61.0, 60.0, 62.0, 3), one)]
    rows = [Ended("trio", 1000, one, one, one, one), Ended("threads", 1000, one, one, one, one)]
    vars(found)["cancellations"] = Cancellations(rows, [], [])
    card_of_trio = made(found, "trio")
    assert row(card_of_trio, "to open a connection, processor time, µs")[1:3] == ["churn", "61"]
    interrupted = row(card_of_trio, "from an interrupt until all is closed, ms")
    assert interrupted == [interrupted[0], "1,000 in flight", "250", "–"]


def test_counted_costs_are_those_of_the_record(analysis: Analysis) -> None:
    samples = [
        sample(backend="trio", workload=workload, page={"instructions": each})
        for workload, each in (("crawl", 350_000.0), ("fetch", 240_000.0))
    ]
    found = made(analysis, "trio", Costs(header(), tuple(samples)))
    assert found.costs.header == ["a page takes", "of crawl", "of fetch"]
    assert found.costs.texts == [["instructions", "350,000", "240,000"]]
    assert made(analysis, "callbacks").costs.rows == []


def test_an_advantage_is_a_verdict_to_the_better(analysis: Analysis) -> None:
    said = " ".join(advantages(analysis, "callbacks"))
    assert "of the four models, by pages per second" in said
    assert "Compared with `threads`, more pages per second at" in said
    for metric, _ in BY:
        for each in analysis.compare(metric):
            assert better(metric, each.ratio) <= each.ratio.shown
            assert not better(metric, replace(each.ratio, verdict=stats.UNDECIDED))
            if each.ratio.shown:
                swapped = each.inverse.ratio
                assert better(metric, swapped) != better(metric, each.ratio)


def test_a_backend_that_was_not_measured_says_so(analysis: Analysis) -> None:
    found = made(analysis, "gevent")
    assert found.numbers.rows == []
    assert found.wins == []
    assert found.nowhere == "It was not measured."
    assert found.limits == ["Not measured in this campaign."]
    text = document.page(found)
    assert "## Numbers" not in text
    assert "It was not measured." in text


def test_limits_are_those_of_the_description(analysis: Analysis) -> None:
    select = made(analysis, "callbacks_select").limits
    assert select[0] == "It holds at most 960 connections at once."
    described = replace(OURS["trio"], no_https="it cannot", cannot_see=frozenset({"tls"}))
    said = card(analysis, [], described, "").limits
    assert said[:2] == ["No HTTPS: it cannot.", "Its library hides these errors of TLS: `tls`."]


def test_a_page_is_whole_and_its_links_lead_out_of_the_folder(analysis: Analysis) -> None:
    text = document.page(made(analysis, "trio"))
    for title in ("What its documentation recommends", "Numbers", "Where it is ahead", "Limits"):
        assert f"\n## {title}\n" in text
    assert "](../fairness.md)" in text
    assert "](fairness.md" not in text
    assert "](https://trio.readthedocs.io" in text
    assert analysis.campaign.campaign in text
    assert "0" * 64 in text


def test_the_folder_has_a_page_for_each_backend_and_no_other(
    analysis: Analysis, tmp_path: Path
) -> None:
    (tmp_path / "gone.md").write_text("a backend that is no more")
    document.write(tmp_path, document.pages(analysis, [], ""))
    names = {file.name for file in tmp_path.iterdir()}
    assert names == {document.OVERVIEW, *(f"{name}.md" for name in OURS)}
    overview = (tmp_path / document.OVERVIEW).read_text()
    assert all(f"| [`{name}`]({name}.md) |" in overview for name in OURS)


# --- in a report --------------------------------------------------------------------------


class Parts(HTMLParser):
    """Ids of the parts that unfold, and addresses of links."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.parts: list[str | None] = []
        self.links: list[str | None] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "details":
            self.parts.append(dict(attrs)["id"])
        if tag == "a":
            self.links.append(dict(attrs)["href"])


def written(folder: Path, analysis: Analysis) -> Path:
    lines = [analysis.campaign, *analysis.records.trials, *analysis.records.controls]
    text = "".join(line.model_dump_json() + "\n" for line in lines)
    (folder / store.FILE_NAME).write_text(text)
    return folder


def test_a_report_has_a_card_for_each_backend_measured(analysis: Analysis, tmp_path: Path) -> None:
    counted = Costs(header(), (sample(backend="trio", workload="crawl"),))
    costs_record.save(counted, written(tmp_path, analysis))
    (section,) = extension.extra(analysis, tmp_path).sections
    found = Parts(str(section.body))
    assert found.parts == [f"card-{name}" for name in analysis.labels]
    assert all(str(link).startswith("https://") for link in found.links)
    assert cite.checksum(tmp_path / store.FILE_NAME) in section.body


def test_a_campaign_across_interpreters_has_no_cards(tmp_path: Path) -> None:
    several = Analysis(gathered(across()))
    assert extension.extra(several, written(tmp_path, several)).sections == ()


def test_words_of_records_cannot_become_tags() -> None:
    text = extension.marked("<b> **bold** `a<b` [out](https://x.org/?a&b) [in](fairness.md)")
    assert text == (
        "&lt;b&gt; <strong>bold</strong> <code>a&lt;b</code> "
        '<a href="https://x.org/?a&amp;b" rel="noreferrer">out</a> in'
    )
    assert "javascript:" not in extension.marked("[x](javascript:alert)")
