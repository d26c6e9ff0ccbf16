"""The claims ledger: readings, verdicts, page; never a verdict without data."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench import BenchError, schema, store
from bench.__main__ import main
from bench.analysis.stats import METRICS
from bench.claims import ledger
from bench.claims.experiments import EXPERIMENTS
from bench.claims.verdict import (
    STUDY,
    ClaimNumber,
    CrossingReading,
    Evidence,
    ExperimentReading,
    ExperimentRuns,
    Judged,
    RatioReading,
    Verdict,
    counted,
    interval_of,
    judge,
    load,
    load_all,
    of_campaign,
)
from bench.launch import ROOT
from bench.plan.profiles import profile
from bench.questions import analysis_of
from crawlers.chapter import STEPS
from tests.bench import committed
from tests.bench.study.made import experiments, kept
from tests.bench.synthetic import analysed, campaign, environment, where

PAGE = ROOT / "docs" / "notebook" / "claims.md"
LEDGER = {claim.name: claim for claim in load_all()}


@cache
def made(**options: Any) -> list[schema.AnyRecord]:
    """A small made-up campaign."""
    return campaign(blocks=5, samples=20, workloads=("throughput", "ladder", "c10k"), **options)


def evidence(**values: list[float]) -> Evidence:
    named = {name.replace("__", "."): found for name, found in values.items()}
    return Evidence("made-up", analysed(made()), experiments(named))


def of(found: Evidence, name: str) -> Verdict:
    """The verdict on one claim."""
    return judge([found], [LEDGER[name]])[0]


def judged(low: float, high: float, *holds: tuple[float, float] | None) -> Verdict:
    """A verdict on readings with these bounds, all of which have the same number."""
    readings = [
        ExperimentReading(
            kind="experiment", meant=f"m{i}", unit="x", holds=bounds, experiment="e", value="v"
        )
        for i, bounds in enumerate(holds)
    ]
    claim = LEDGER["await-task"].model_copy(update={"reading": tuple(readings)})
    number = ClaimNumber((low + high) / 2, low, high, "test", "CPython 3.11.9")
    return Verdict(claim, tuple(Judged(reading, number) for reading in readings))


def test_every_claim_asks_for_what_exists() -> None:
    points = {point.id for name in ("reference", "smoke") for point in profile(name).points}
    assert len(LEDGER) >= 12
    for claim in LEDGER.values():
        whose = [reading.whose for reading in claim.reading]
        assert whose == sorted(whose), "the experiment of its author comes first"
        assert claim.reading[0].holds is not None, "what the claim speaks of comes first"
    for reading in (reading for claim in LEDGER.values() for reading in claim.reading):
        assert reading.holds is None or reading.holds[0] <= reading.holds[1]
        match reading:
            case RatioReading():
                assert reading.metric in {metric.name for metric in METRICS}
                assert reading.point in points
            case CrossingReading():
                assert reading.metric in {metric.name for metric in METRICS}
                assert points.issuperset(reading.points)
            case ExperimentReading():
                assert reading.experiment in EXPERIMENTS


@pytest.mark.parametrize(
    ("text", "words"),
    [("title = ", "Invalid value"), ("title = 'x'", "topic"), ("sentense = 'x'", "title")],
)
def test_a_bad_file_is_named_with_its_fault(tmp_path: Path, text: str, words: str) -> None:
    file = tmp_path / "bad.toml"
    file.write_text(text)
    with pytest.raises(BenchError, match=rf"(?s)bad\.toml.*{words}"):
        load(file)


def test_each_condition_has_its_verdict_which_follows_from_the_intervals() -> None:
    verdict = judged(1, 2, (0, 3), (5, 6), (-1, 0), (1.5, 6), (0, 1.5), None, (1, 2), (2, 3))
    assert verdict.words == (
        "reproduced here if m0; not reproduced here if m1; not reproduced here if m2; "
        "undecided if m3; undecided if m4; for comparison if m5; reproduced here if m6; "
        "undecided if m7"
    )
    assert not judged(1, 2, None).known


def test_a_claim_is_not_refuted_by_what_it_does_not_speak_of() -> None:
    """That threads keep their stack was "not reproduced" of "Callbacks rip the stack"."""
    reference = Evidence.load(ROOT / "results" / "reference")
    for name in ("callbacks-rip-the-stack", "no-handler-for-callbacks", "spinning-burns-cpu"):
        first, *others = of(reference, name).judged
        assert first.position == "inside"
        assert {one.position for one in others} == {"beside"}


def test_the_page_names_every_run_that_its_numbers_are_from_and_no_other() -> None:
    """It named the last run beside the campaign, from which no claim had a number."""
    used = experiments({"awaiting.task_turns": [2.0]})
    found = evidence()
    found.measured = [
        *experiments({"sleeping.asyncio_early": [5.0]}),
        *used,
        *experiments({"sleeping.asyncio_early": [0.0]}),
        *experiments({"steps.blocking_ms": [1.0]}),
    ]
    named = ledger.sources(found)
    assert [programs for _, programs in named] == [["awaiting"], ["sleeping"]]
    assert [head for head, _ in named] == [used[0].head, found.measured[2].head]


@given(st.floats(0.1, 10), st.floats(0, 10), st.floats(0, 10), st.floats(0, 10), st.floats(0.5, 2))
def test_a_narrower_interval_never_reverses_a_verdict(
    low: float, width: float, bound: float, span: float, share: float
) -> None:
    """If a wide interval decides, every interval inside it decides the same."""
    (wide,) = judged(low, low + width, (bound, bound + span)).judged
    inside = low + width * share / 5, low + width * share / 4
    (narrow,) = judged(*inside, (bound, bound + span)).judged
    assert wide.position in ("undecided", narrow.position)


def test_without_data_nothing_is_judged_and_the_reason_says_what_to_run() -> None:
    verdicts = judge([Evidence("empty", analysed(made()[:1]), [])])
    every = [one for verdict in verdicts for one in verdict.judged]
    assert {one.phrase for one in every} == {"not tested"}
    for one in every:
        assert "python -m bench" in one.words


def test_a_campaign_answers_by_its_own_statistics() -> None:
    memory = of(evidence(), "thread-50k")
    found = [one.now.value for one in memory.judged if isinstance(one.now, ClaimNumber)]
    # The made-up threads take 22.3 KiB of their own, 54.0 with the kernel's part.
    assert found[0] == pytest.approx(22.3, rel=0.05)
    assert "uvloop" in of(evidence(), "uvloop-2-to-4-times").words
    reasons = {"memory__reasons": {"kernel_socket_bytes": "for root"}}
    unread = where(made(), lambda t: t.memory, memory__held__kernel_socket_bytes=None, **reasons)
    words = of(Evidence("user's", analysed(unread), []), "thread-50k").words
    assert "kernel sockets was not read: for root" in words


SIZES = (1, 2, 3, 5, 10)


def busy(ratios: Sequence[float]) -> Evidence:
    """Crawls over few connections: what threads need is what callbacks need times these."""
    rates = dict(zip(SIZES, ratios, strict=True))
    found = list(made())
    for line in made():
        if isinstance(line, schema.TrialRecord) and line.point == "throughput-10" and line.cpu:
            for n, ratio in rates.items():
                us = 10 * (1 + line.block / 10) / (1 if line.backend == "threads" else ratio)
                us *= 1 + 0.02 * (-1) ** line.block * (line.backend == "callbacks")
                used_s = us * (line.pages or 0) / 1e6
                cpu = line.cpu.model_copy(update={"client_user_s": used_s, "client_system_s": 0.0})
                place = {"workload": "few", "point": f"few-{n}", "params": {"slots": n}}
                found.append(line.model_copy(update=place | {"cpu": cpu}))
    return Evidence("busy", analysed(found), [])


@pytest.mark.parametrize(
    ("ratios", "wanted", "phrase"),
    [
        ((0.5, 0.8, 1.0, 1.2, 1.5), (2, 3), "reproduced here"),
        ((0.5, 0.6, 0.7, 0.8, 0.9), (10, 10), "reproduced here"),
        ((1.1, 1.1, 1.2, 1.3, 0.5), (0, 0), "not reproduced here"),
        ((1.0, 0.8, 1.2, 1.2, 1.2), (0, 2), "undecided"),
    ],
)
def test_a_crossing_says_up_to_how_many_connections(
    ratios: Sequence[float], wanted: tuple[int, int], phrase: str
) -> None:
    """Asked at ten connections alone, a claim about few was refuted that holds at one."""
    verdict = of(busy(ratios), "loop-slower-for-active")
    (one,) = (
        j for j in verdict.judged if isinstance(j.now, ClaimNumber) and "callbacks" in j.words
    )
    assert isinstance(one.now, ClaimNumber)
    assert [one.now.low, one.now.high] == list(wanted)
    assert one.now.low <= one.now.value <= one.now.high
    assert one.phrase == phrase


def test_a_difference_that_is_not_shown_keeps_1_in_its_interval() -> None:
    same = Evidence("same", analysed(made(effects=False, noise=0.005)), [])
    for one in (one for verdict in judge([same]) for one in verdict.judged):
        if one.reading.kind == "ratio" and isinstance(one.now, ClaimNumber):
            assert one.now.low <= 1.0 <= one.now.high


def test_a_thread_is_judged_by_itself_and_not_with_a_connection() -> None:
    reference = Evidence.load(ROOT / "results" / "reference")
    thread, ratio, *_ = of(reference, "thread-50k").judged
    assert [thread.phrase, ratio.phrase] == ["reproduced here"] * 2
    assert isinstance(thread.now, ClaimNumber)
    assert isinstance(ratio.now, ClaimNumber)
    assert 33 < thread.now.value < 75
    assert ratio.now.value > 17


def test_one_repeat_is_no_verdict_on_what_can_vary() -> None:
    """The time of a single run was within an author's bounds: "reproduced here"."""
    once = evidence(sleeping__asyncio_early=[0.0], stack_ripping__callbacks_callers=[0.0])
    assert "one repeat of sleeping" in of(once, "sleep-at-least").words
    assert of(once, "callbacks-rip-the-stack").judged[0].phrase == "reproduced here"


def test_waiting_tasks_of_another_machine_say_nothing() -> None:
    (thread, *_) = of(evidence(), "thread-50k").judged
    assert "bench study tasks" in thread.words


def test_experiments_are_read_from_their_last_run() -> None:
    found = evidence()
    found.measured = [
        *experiments({"awaiting.task_turns": [5.0, 5.0]}),
        *experiments({"awaiting.task_turns": [2.0, 2.0]}),
        *experiments({"readiness.epoll_growth": [1.0]}),
    ]
    now = of(found, "await-task").judged[0].now
    assert isinstance(now, ClaimNumber)
    assert now.value == 2.0


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=12))
def test_an_interval_over_repeats_holds_its_value(values: list[float]) -> None:
    value, low, high = interval_of(values)
    assert low <= value * (1 + 1e-9)
    assert value <= high * (1 + 1e-9)
    if min(values) == 0 or len(values) < 5:
        assert (low, high) == (min(values), max(values))


def save(folder: Path, trials: list[schema.AnyRecord], runs: ExperimentRuns) -> Path:
    folder.mkdir()
    (folder / store.FILE_NAME).write_text("".join(r.model_dump_json() + "\n" for r in trials))
    kept(STUDY, folder, *runs)
    return folder


def test_the_command_writes_its_page_from_records_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    turns = {"awaiting.coroutine_turns": [0.0, 0.0], "awaiting.task_turns": [2.0, 2.0]}
    lines = experiments(turns)
    folder = save(tmp_path / "made-up", made(), lines)
    assert main(["study", "claims", str(folder)]) == 0
    page = (folder / ledger.PAGE).read_text()
    assert "| reproduced here |" in page
    assert "2 loop iterations" in capsys.readouterr().out


def test_a_campaign_shows_only_claims_that_something_was_measured_for(tmp_path: Path) -> None:
    folder = save(tmp_path / "a", made(), experiments({"awaiting.task_turns": [2.0, 2.0]}))
    analysis = analysis_of(store.load(folder))
    found = {verdict.claim.name: verdict for verdict in of_campaign(analysis, folder)}
    assert [one.phrase for one in found["await-task"].judged] == ["reproduced here"]
    assert "thread-50k" in found
    assert "epoll-scales" not in found, "its experiment was not run"
    file = STUDY.file(folder)
    file.write_text(json.dumps({"kind": "sample"}) + "\n")
    with pytest.raises(store.StoreError, match=r"experiments\.jsonl:1"):
        of_campaign(analysis, folder)
    file.unlink()
    assert "await-task" not in {v.claim.name for v in of_campaign(analysis, folder)}


@pytest.mark.parametrize("value", ["1e308", "-1e12"])
def test_a_value_that_no_experiment_has_is_no_record(tmp_path: Path, value: str) -> None:
    """It was printed, with 309 digits."""
    folder = save(tmp_path / "a", made(), experiments({"awaiting.task_turns": [2.5, 2.0]}))
    file = STUDY.file(folder)
    file.write_text(file.read_text().replace("2.5", value))
    with pytest.raises(store.StoreError, match=r"experiments\.jsonl:2: not a valid record"):
        STUDY.runs(folder)


@pytest.mark.parametrize(
    "arguments",
    [["nowhere"], ["--repeats", "3"], ["--measure", "--only", "nonesuch"]],
    ids=" ".join,
)
def test_bad_usage_is_one_line(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["study", "claims", *arguments]) == 2
    printed = capsys.readouterr().err.strip()
    assert printed.startswith("python -m bench: ")
    assert "\n" not in printed


def test_the_documented_ledger_is_what_the_committed_campaigns_say() -> None:
    """Rebuild with: python -m bench study claims --out docs/notebook/claims.md."""
    folders = ledger.usual()
    evidence = [committed.evidence(folder) for folder in folders]
    text = ledger.text(folders, PAGE, evidence, judge(evidence))
    assert PAGE.read_text() == text


def test_every_number_names_the_interpreter_that_it_was_measured_on() -> None:
    """The experiments beside a campaign may have run on another one."""
    found = evidence()
    newer = environment(python="CPython 3.14.1")
    found.measured = experiments({"awaiting.task_turns": [2.0, 2.0]}, environment=newer)
    verdicts = judge([found])
    here = found.analysis.campaign.environment.python
    for name, python in (("await-task", "CPython 3.14.1"), ("thread-50k", here)):
        now = next(one.now for one in of(found, name).judged if isinstance(one.now, ClaimNumber))
        assert now.python == python
        assert python in ledger.text([Path("made-up")], PAGE, [found], verdicts)


def test_the_chapter_is_told_by_its_steps_with_the_other_interpreter_beside() -> None:
    found = evidence(sleeping__asyncio_early=[0.0, 0.0])
    older = environment(python="CPython 3.9.1")
    slept = {"sleeping.asyncio_early": [5.0, 5.0]}
    found.measured = [*experiments(slept, environment=older), *found.measured]
    told = ledger.by_step([found])
    assert [step for step, *_ in told] == sorted(step for step, *_ in told)
    assert {one.claim.step for _, one, _ in told} <= set(STEPS)
    ((one, other),) = [(a, b) for _, a, b in told if a.claim.name == "sleep-at-least"]
    assert (one.judged[0].phrase, other.judged[0].phrase) == (
        "reproduced here",
        "not reproduced here",
    )
    assert ledger.elsewhere(one.judged[0], other.judged[0]).startswith("5 % of sleeps end early (")
    assert "CPython 3.9.1" in ledger.elsewhere(one.judged[0], other.judged[0])
    assert ledger.elsewhere(one.judged[0], one.judged[0]) == ""


@pytest.mark.parametrize(
    ("figure", "unit", "words"),
    [
        ("1", "handlers per fetch", "1 handler per fetch"),
        ("1", "loop iterations", "1 loop iteration"),
        ("1", "times the speed", "1 times the speed"),
        ("1", "instruction, where it stays,", "1 instruction, where it stays,"),
        ("1", "% of runs fail", "1 % of runs fail"),
        ("0", "callers left", "0 callers left"),
    ],
)
def test_a_single_thing_is_no_plural(figure: str, unit: str, words: str) -> None:
    """The chapter's table had "1 connections" and "1 handlers per fetch"."""
    assert counted(figure, unit) == words
