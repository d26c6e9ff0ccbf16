"""Cards: numbers from the records, and nothing where there are none."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from bench import store
from bench.analysis import stats
from bench.analysis.analysis import Analysis
from bench.analysis.crossover import DEFAULT
from bench.analysis.mixed import Mixed, Predicted, Times
from bench.analysis.processors import Processors
from bench.analysis.processors import Row as Place
from bench.analysis.stats import Ratio, Spread
from bench.analysis.timeouts import Timeout
from bench.cards import document, extension
from bench.cards.advantages import BY, advantages, better
from bench.cards.card import Card, card
from bench.costs import record as costs_record
from bench.costs.account import accounts
from bench.costs.record import Costs
from bench.micro.report import Found
from bench.report import cite
from crawlers.catalogue import OURS
from tests.bench.analysis.test_crossover import FALLING, Rates
from tests.bench.analysis.test_crossover import made as crossover_trials
from tests.bench.costs.samples import header, sample
from tests.bench.encrypted import encrypted
from tests.bench.micro.startup.test_startup import made as startup_of
from tests.bench.micro.waiting.made import record as tasks_of
from tests.bench.opened import opened
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


def test_a_question_has_its_rows_on_a_card() -> None:
    found = made(analysed(opened(backends=NAMES, blocks=5, workloads=("ladder",))), "callbacks")
    opening = row(found, "to open and close a connection, processor time, µs")
    assert opening[1:3] == ["churn", "48"]


def test_regimes_have_rows_and_limits_where_they_were_measured() -> None:
    found = analysed(campaign(backends=NAMES, blocks=1, samples=20, workloads=("ladder",)))
    assert made(found, "trio").limits == []
    means = Spread(3.2, 2.0, 4.0, 3)
    vars(found)["mixed"] = [mixed("trio", means, queue=True), mixed("threads", means)]
    rung = replace(TIMEOUT, backend="trio", rung="trio_timeouts", way="trio.move_on_after")
    vars(found)["timeouts"] = [rung, replace(rung, backend="callbacks", rung=None, ratio=None)]
    trio = made(found, "trio")
    where = "1 page in 10 works 10 ms"
    mean = row(trio, "response time of the other pages, mean, ms")
    assert mean[1:] == [where, "3.5 [2–4]", "–"]
    assert row(trio, "… p50, p90, ms")[1:] == [where, "1.5, 9", "–"]
    timeout = row(trio, "a timeout adds to a page, processor time, µs")
    assert timeout[1:] == ["trio.move_on_after", "10 [5–15]", "–"]
    assert made(found, "trio_timeouts").numbers.texts[-1] == timeout
    assert "a timeout" not in str(made(found, "callbacks").numbers.texts)
    assert trio.limits == [
        "While it works on a page, all others wait: beside one page in 10 with 10 ms of work, "
        "their mean response time is 3.5 ms."
    ]
    assert made(found, "threads").limits == []


def mixed(label: str, means: Spread, *, queue: bool = False) -> Mixed:
    predicted = Predicted(Times(2.0, 1.0, 8.0), None, None) if queue else None
    return Mixed(
        *(label, "mixed-10", 10.0, 10, 500.0, 3, 675, 3.5, means, 1.5, 90.0, 9.0, None, 9.0, 7.0),
        *(7.0, predicted),
    )


RATIO = Ratio(1.2, 1.1, 1.3, 5, 0.01, (1.2,) * 5, "more CPU", "")
TIMEOUT = Timeout("", "", None, 50.0, RATIO)


def test_every_processor_is_an_advantage_where_it_is_shown() -> None:
    found = analysed(campaign(backends=NAMES, blocks=1, samples=20, workloads=("ladder",)))
    faster = replace(RATIO, verdict="faster")
    one = Place("p", "apart", "processes", (1, 2), (0,), Spread(9e4, 8e4, 1e5, 5), None, faster,
                "callbacks", 5)  # fmt: skip
    alike = replace(one, how="shared", client=(0, 1, 2), ratio=replace(RATIO, verdict="undecided"))
    model = replace(one, label="threads", client=(1,))
    vars(found)["processors"] = Processors(3, [one, alike, model], [], [])
    spread = made(found, "processes")
    assert row(spread, "a crawl on 2 processors, pages/s")[1] == "server apart"
    assert row(spread, "… to callbacks on one")[2] == "1.20 [1.10–1.30], faster"
    assert spread.wins == [
        "On 2 processors, with the server on a processor of its own, more pages per second than "
        "`callbacks` on one (1.20 [1.10–1.30])."
    ]
    assert not [texts for texts in made(found, "threads").numbers.texts if "crawl on" in texts[0]]


def test_threads_and_async_await_are_each_ahead_somewhere() -> None:
    rates: Rates = {**FALLING, (100, 0): {DEFAULT: 40_000.0}}
    found = Analysis(gathered(crossover_trials(rates)))
    threads, other = made(found, "threads"), made(found, "async_await")
    assert threads.wins[-1].startswith("Compared with `async_await`, more pages per second at ")
    assert other.wins[-1].startswith("Compared with `threads`, more pages per second at ")
    assert set(POINT.findall(threads.wins[-1])).isdisjoint(POINT.findall(other.wins[-1]))
    assert "Without delay it is shown to fetch fewer pages per second than" in threads.limits[0]
    assert not [said for said in other.limits if "fewer pages" in said]


POINT = re.compile(r"`([\w-]+\d\w*)` \(")


def test_tasks_and_start_up_have_a_table_of_their_own(analysis: Analysis) -> None:
    assert made(analysis, "trio").alone.rows == []
    both = Found(tasks=tasks_of(), startup=startup_of())
    found = {name: card(analysis, [], OURS[name], "", both) for name in ("trio", "threads")}
    trio, threads = (each.alone.texts for each in found.values())
    assert trio[0] == [
        "a task that waits without a connection, bytes",
        "trio task, up to 100,000",
        "1,900 [1,900–1,900]",
    ]
    assert next(texts for texts in trio if "spawn" in texts[0])[1:] == ["of 10,000", "2 [2–2]"]
    assert not [texts for texts in trio if "import" in texts[0]]
    assert next(texts for texts in threads if "import" in texts[0])[2] == "50 [50–50]"
    text = document.page(found["threads"])
    assert "## Tasks and start-up" in text
    assert "2026-11-22, CPython" in text
    assert "## Tasks and start-up" not in document.page(made(analysis, "trio"))


def test_one_processor_limits_what_cannot_use_more(analysis: Analysis) -> None:
    assert document.no_limits(OURS["trio"]).endswith("slots limits it, and one processor.")
    assert document.no_limits(OURS["processes"]).endswith("slots limits it.")


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


def test_a_card_says_what_its_backend_cannot_do_over_tls(analysis: Analysis) -> None:
    made = document.pages(analysis, [], "")
    assert "\n- No HTTPS: " in made["trio_sockets.md"]
    assert "\n- Its library hides these errors of TLS: `truncated`." in made["async_await.md"]


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
