"""The claims ledger: definitions, readings, verdicts, page; never a verdict without data."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench import schema, store
from bench.__main__ import main
from bench.analysis.analysis import Analysis
from bench.analysis.stats import METRICS
from bench.claims import chart, definition, ledger, publish, records
from bench.claims.experiments import NAMES
from bench.claims.readings import Evidence, Missing, Number, interval_of
from bench.claims.verdict import Judged, Position, Verdict, judge, of_campaign
from tests.bench.synthetic import analysed, campaign, measured

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "claims.md"
LEDGER = definition.load_all()


@cache
def made(**options: Any) -> list[schema.AnyRecord]:
    """A small made-up campaign."""
    return campaign(blocks=5, samples=20, workloads=("throughput", "ladder", "c10k"), **options)


def evidence(**values: list[float]) -> Evidence:
    named = {name.replace("__", "."): found for name, found in values.items()}
    return Evidence("made-up", analysed(made()), measured(named))


def judged(low: float, high: float, *holds: tuple[float, float]) -> Verdict:
    """A verdict on readings with these bounds, all of which have the same number."""
    readings = [
        definition.ExperimentReading(
            kind="experiment", meant=f"m{i}", unit="x", holds=bounds, experiment="e", value="v"
        )
        for i, bounds in enumerate(holds)
    ]
    claim = LEDGER[0].model_copy(update={"reading": tuple(readings)})
    number = Number((low + high) / 2, low, high, "test", "campaign")
    return Verdict(claim, tuple(Judged(reading, number) for reading in readings))


def test_every_claim_can_be_read_and_asks_for_what_exists() -> None:
    points = {"throughput-10", "throughput-100", "ladder-100", "c10k-10000"}
    assert len(LEDGER) >= 12
    for claim in LEDGER:
        for reading in claim.reading:
            match reading:
                case definition.RatioReading():
                    assert reading.metric in {metric.name for metric in METRICS}
                    assert reading.point in points
                case definition.BarrierReading():
                    assert reading.point in points
                case definition.ExperimentReading():
                    assert reading.experiment in NAMES
                case definition.MemoryReading():
                    assert reading.part in ("user", "total")
                case definition.UntriedReading():
                    assert reading.reason


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("title = ", "not TOML"),
        ("title = 'x'", "topic"),
        ("sentense = 'x'", "sentense"),
    ],
)
def test_a_bad_file_is_named_with_its_fault(tmp_path: Path, text: str, words: str) -> None:
    file = tmp_path / "bad.toml"
    file.write_text(text)
    with pytest.raises(definition.ClaimError) as caught:
        definition.load(file)
    assert "bad.toml" in str(caught.value)
    # Pydantic names the first of several faults.
    assert words in str(caught.value) or "sentense" in text


def test_bounds_must_be_in_order() -> None:
    with pytest.raises(ValueError, match="lower end"):
        judged(1, 1, (2, 1))


@pytest.mark.parametrize(
    ("verdict", "ruling", "words"),
    [
        (judged(1, 2, (0, 3)), "reproduced here", "reproduced here"),
        (judged(4, 5, (0, 3)), "not reproduced here", "not reproduced here"),
        (judged(2, 4, (0, 3)), "undecided", "overlaps a bound"),
        (judged(1, 2, (0, 3), (5, 6)), "reproduced here if", "reproduced here if m0; not if m1"),
        (judged(1, 2, (0, 3), (1.5, 6)), "reproduced here if", "undecided if m1"),
        (judged(4, 5, (0, 3), (0, 2), (9, 10)), "not reproduced here", "not reproduced here"),
    ],
)
def test_the_verdict_follows_from_the_intervals(verdict: Verdict, ruling: str, words: str) -> None:
    assert verdict.ruling == ruling
    assert words in verdict.words


@given(st.floats(0.1, 10), st.floats(0, 10), st.floats(0, 10), st.floats(0, 10), st.floats(0.5, 2))
def test_a_narrower_interval_never_reverses_a_verdict(
    low: float, width: float, bound: float, span: float, share: float
) -> None:
    """If a wide interval decides, every interval inside it decides the same."""
    wide = judged(low, low + width, (bound, bound + span))
    narrow = judged(low + width * share / 5, low + width * share / 4, (bound, bound + span))
    assert wide.ruling in ("undecided", narrow.ruling)


def test_without_data_nothing_is_judged_and_the_reason_says_what_to_run() -> None:
    verdicts = judge([Evidence("empty", analysed(made()[:1]), [])])
    assert {verdict.ruling for verdict in verdicts} == {"cannot be tested here", "not tried"}
    for verdict in verdicts:
        told = "not tried because" if verdict.ruling == "not tried" else "python -m bench"
        assert told in verdict.words
    assert not chart.rows_of(verdicts)


def test_a_campaign_answers_by_its_own_statistics() -> None:
    verdicts = {v.claim.name: v for v in judge([evidence()])}
    memory = verdicts["thread-50k"].judged
    assert isinstance(memory[0].now, Number)
    # The made-up threads take 22.3 KiB of their own, 54.0 with the kernel's part.
    assert memory[0].now.value == pytest.approx(22.3, rel=0.05)
    assert verdicts["thread-50k"].ruling == "reproduced here if"
    # The made-up callbacks outdo threads at ten slots, asyncio does not.
    assert verdicts["loop-slower-for-active"].judged[0].position == "outside"
    assert "uvloop" in verdicts["uvloop-2-to-4-times"].words


def test_a_difference_that_is_not_shown_keeps_1_in_its_interval() -> None:
    same = Evidence("same", analysed(made(effects=False, noise=0.005)), [])
    for verdict in judge([same]):
        for one in verdict.judged:
            if one.reading.kind == "ratio" and isinstance(one.now, Number):
                assert one.now.low <= 1.0 <= one.now.high


def test_the_second_campaign_answers_what_the_first_cannot() -> None:
    first = Evidence("first", analysed(made()), [])
    lines = made(backends=("callbacks", "async_await", "uvloop"))
    second = Evidence("second", analysed(lines), [])
    claim = [c for c in LEDGER if c.name == "uvloop-2-to-4-times"]
    assert judge([first], claim)[0].ruling == "cannot be tested here"
    assert judge([first, second], claim)[0].ruling != "cannot be tested here"


def test_a_campaign_with_too_few_blocks_says_more_than_one_with_nothing() -> None:
    lines = made(backends=("async_await", "uvloop"), base="async_await")
    early = [r for r in lines if not isinstance(r, schema.TrialRecord) or r.block < 2]
    few = Evidence("few", analysed(early), [])
    claim = [c for c in LEDGER if c.name == "uvloop-2-to-4-times"]
    found = judge([Evidence("first", analysed(made()), []), few], claim)[0].judged
    (now,) = (j.now for j in found if "crawl with streams" in j.reading.meant)
    assert isinstance(now, Missing)
    assert "2 of at least 5 blocks" in now.reason


def test_experiments_are_read_from_their_last_run() -> None:
    found = evidence()
    found.measured = [
        *measured({"awaiting.task_turns": [5.0, 5.0]}, "one"),
        *measured({"awaiting.task_turns": [2.0, 2.0]}, "two"),
        *measured({"readiness.epoll_growth": [1.0]}, "three"),
    ]
    claim = [c for c in LEDGER if c.name == "await-task"]
    now = judge([found], claim)[0].judged[0].now
    assert isinstance(now, Number)
    assert now.value == 2.0


def test_a_value_that_could_not_be_measured_gives_its_reason() -> None:
    found = evidence()
    line = measured({"readiness.epoll_growth": [1.0]})[1]
    assert isinstance(line, records.MeasurementRecord)
    found.measured = [
        line.model_copy(
            update={"values": {"epoll_growth": None}, "reasons": {"epoll_growth": "no epoll"}}
        )
    ]
    claim = [c for c in LEDGER if c.name == "replacements-of-select"]
    now = judge([found], claim)[0].judged[0].now
    assert isinstance(now, Missing)
    assert now.reason == "no epoll"


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=12))
def test_an_interval_over_repeats_holds_its_value(values: list[float]) -> None:
    value, low, high = interval_of(values)
    assert low <= value * (1 + 1e-9)
    assert value <= high * (1 + 1e-9)
    if min(values) == 0 or len(values) < 5:
        assert (low, high) == (min(values), max(values))


def test_equal_values_have_no_interval_to_round() -> None:
    assert interval_of([100.0] * 5) == (100.0, 100.0, 100.0)
    (verdict,) = judge(
        [evidence(thread_ceiling__failed=[100.0] * 5, held_threads__held=[10_000.0] * 3)],
        [c for c in LEDGER if c.name == "tens-of-thousands-of-threads"],
    )
    assert [j.position for j in verdict.judged[:2]] == ["inside", "outside"]


def test_a_torn_line_is_left_out_and_a_wrong_one_refused(tmp_path: Path) -> None:
    lines = measured({"awaiting.task_turns": [2.0]})
    file = tmp_path / records.FILE_NAME
    text = "".join(line.model_dump_json() + "\n" for line in lines)
    file.write_text(text + '{"kind": "meas')
    assert records.load(tmp_path) == lines
    file.write_text(text + json.dumps({"kind": "measurement"}) + "\n")
    with pytest.raises(store.StoreError, match=r"experiments\.jsonl:3"):
        records.load(tmp_path)


def save(folder: Path, trials: list[schema.AnyRecord], lines: list[records.AnyLine]) -> Path:
    folder.mkdir()
    for name, found in ((store.FILE_NAME, trials), (records.FILE_NAME, lines)):
        (folder / name).write_text("".join(r.model_dump_json() + "\n" for r in found))
    return folder


def test_the_command_writes_page_and_chart_from_records_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = measured({"awaiting.coroutine_turns": [0.0], "awaiting.task_turns": [2.0]})
    folder = save(tmp_path / "made-up", made(), lines)
    assert main(["claims", str(folder)]) == 0
    page = (folder / publish.PAGE).read_text()
    assert "![Well-known numbers, then and now](charts/then-and-now.svg)" in page
    assert "**Verdict: reproduced here.**" in page
    assert "2 loop iterations" in capsys.readouterr().out
    for name in ("then-and-now.svg", "then-and-now-dark.png"):
        assert (folder / "charts" / name).stat().st_size > 1000
    assert "A thread costs 50k" in (folder / "charts" / "then-and-now.svg").read_text()
    words = (folder / "charts" / "then-and-now.txt").read_text()
    assert words.startswith("Dot chart of claims, now over then.")


def test_the_chart_counts_what_it_shows() -> None:
    rows = chart.rows_of(judge([evidence()]))
    positions = [row.judged.position for row in rows]
    title = chart.tally(rows)
    assert title.startswith(f"{len(rows)} well-known numbers: ")
    words: list[tuple[Position, str]] = [
        ("inside", "reproduced here"),
        ("outside", "not reproduced here"),
        ("undecided", "undecided"),
    ]
    for position, text in words:
        number = positions.count(position)
        assert (f" {number} {text}" in title) == (number > 0)


def test_the_chart_shows_a_claim_by_the_experiment_of_its_author_where_there_is_one() -> None:
    claim = [c for c in LEDGER if c.name == "curio-against-gevent"]
    lines = made(backends=("callbacks", "curio", "gevent"))
    crawl = Evidence("crawl", analysed(lines), [])
    (row,) = chart.rows_of(judge([crawl], claim))
    assert row.judged.reading.whose == "suite"
    crawl.measured = measured({"echo.curio_over_gevent": [1.0, 1.1, 1.0, 1.1, 1.0]})
    (row,) = chart.rows_of(judge([crawl], claim))
    assert row.judged.reading.whose == "author"


def test_a_campaign_shows_only_claims_that_something_was_measured_for(tmp_path: Path) -> None:
    folder = save(tmp_path / "a", made(), measured({"awaiting.task_turns": [2.0]}))
    analysis = Analysis(store.load(folder))
    found = {verdict.claim.name: verdict for verdict in of_campaign(analysis, folder)}
    assert found["await-task"].ruling == "reproduced here"
    assert "thread-50k" in found
    assert "epoll-scales" not in found, "its experiment was not run"
    (folder / records.FILE_NAME).unlink()
    assert "await-task" not in {v.claim.name for v in of_campaign(analysis, folder)}


def test_a_campaign_without_any_number_shows_no_claim(tmp_path: Path) -> None:
    few = campaign(blocks=1, samples=20, workloads=("throughput",), twin=None)
    folder = save(tmp_path / "a", few, [])
    assert of_campaign(Analysis(store.load(folder)), folder) == []


@pytest.mark.parametrize(
    "arguments",
    [["nowhere"], ["--repeats", "3"], ["--measure", "--experiments", "nonesuch"]],
    ids=" ".join,
)
def test_bad_usage_is_one_line(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["claims", *arguments]) == 2
    printed = capsys.readouterr().err.strip()
    assert printed.startswith("python -m bench: ")
    assert "\n" not in printed


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.8512, "0.851"), (21.06, "21.1"), (999.4, "999"), (30000.0, "30,000"), (0.0, "0")],
)
def test_figures_have_three_digits(value: float, text: str) -> None:
    assert ledger.figure(value) == text


def test_the_documented_ledger_is_what_the_committed_campaigns_say() -> None:
    """Rebuild with: python -m bench claims --out docs/claims.md."""
    folders = publish.usual()
    assert PAGE.read_text() == publish.text(folders, PAGE)


def test_a_paraphrase_is_marked_with_its_conditions() -> None:
    words = {claim.name: ledger.origin_of(claim) for claim in LEDGER}
    assert words["thread-50k"].startswith("Paraphrase of [")
    assert "Conditions: on Jesse's system" in words["thread-50k"]
    quoted = LEDGER[0].model_copy(update={"quote": True, "conditions": ""})
    assert "Paraphrase" not in ledger.origin_of(quoted)


CHAPTER = "a-web-crawler-with-asyncio-coroutines"


def test_a_claim_of_the_chapter_links_its_place_and_keeps_its_condition() -> None:
    mine = [claim for claim in LEDGER if CHAPTER in claim.url]
    assert len(mine) >= 9
    for claim in mine:
        assert "#:~:text=" in claim.url, claim.name
        assert claim.place, claim.name
    for name in ("thread-50k", "tens-of-thousands-of-threads", "coroutine-3k"):
        assert "Jesse" in next(c.conditions for c in mine if c.name == name)
    (loop,) = (c for c in mine if c.name == "loop-slower-for-active")
    assert "an event loop like ours" in loop.conditions


@pytest.mark.parametrize(
    "name",
    [
        "uvloop-2-to-4-times",
        "curio-against-gevent",
        "curio-against-twisted",
        "c-accelerator",
        "coroutine-3k",
        "generators-and-coroutines",
        "tens-of-thousands-of-threads",
        "httpx-against-aiohttp",
    ],
)
def test_the_experiment_of_the_author_comes_before_the_crawl(name: str) -> None:
    (claim,) = (claim for claim in LEDGER if claim.name == name)
    first, *others = claim.reading
    assert first.whose == "author"
    assert first.kind == "experiment"
    assert any(reading.whose == "suite" for reading in others)


def test_a_crawl_before_the_experiment_of_the_author_is_refused() -> None:
    claim = next(claim for claim in LEDGER if claim.name == "uvloop-2-to-4-times")
    turned = claim.model_dump() | {"reading": [r.model_dump() for r in claim.reading[::-1]]}
    with pytest.raises(ValueError, match="author's experiment comes before"):
        definition.Claim.model_validate(turned)


def test_claims_of_today_stand_in_a_table_with_the_conditions_of_their_authors() -> None:
    verdicts = judge([evidence(http_clients__httpx_over_aiohttp=[9.0, 9.5, 9.7, 9.8, 10.2])])
    today = [v for v in verdicts if v.claim.topic == "today"]
    assert len(today) >= 10
    rows = {line.partition("]")[0]: line for line in ledger.side_by_side(today)}
    for verdict in today:
        claim = verdict.claim
        assert claim.url.startswith("https://")
        assert claim.date
        assert claim.conditions or claim.name == "hundreds-of-thousands"
        row = rows[f"| [{claim.title}"]
        assert f"{claim.conditions or '–'} ({claim.date})" in row
    assert "| 9.63 times [" in rows["| [httpx is ten times slower than aiohttp"]
    assert "| not tried | – |" in rows["| [asyncio scales with threads"]


def test_what_cannot_be_had_here_is_not_tried_and_says_why() -> None:
    (verdict,) = judge([evidence()], [c for c in LEDGER if c.name == "free-threading-3-14"])
    assert verdict.ruling == "not tried"
    assert verdict.words == ("not tried because a free-threaded CPython 3.14 cannot be had here")
    assert not verdict.tried
    lines = made(backends=("callbacks", "asyncio_protocol", "uvloop_protocol"))
    second = Evidence("second", analysed(lines), [])
    (verdict,) = judge([second], [c for c in LEDGER if c.name == "granian-loops"])
    assert verdict.ruling == "not tried", "a second reading is no verdict on Granian"
    assert "Another experiment: " in verdict.words
    (verdict,) = judge([evidence()], [c for c in LEDGER if c.name == "free-threading-3-14"])
    assert "not tried: a free-threaded" in "\n".join(ledger.details(verdict))


def test_no_verdict_speaks_of_another_system_as_if_measured() -> None:
    page = ledger.markdown(judge([evidence()]), [evidence()], "command", None)
    for words in ("no longer holds", "still holds", "is false", "is wrong", "refuted"):
        assert words not in page.lower()
