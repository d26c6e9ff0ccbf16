"""The experiment on turns: it finds causes that are planted, and leaves nothing behind."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.launch import ROOT
from bench.schema import TurnsRecord
from bench.store import StoreError
from bench.text import block as block_of
from tests.bench import small, synthetic
from tools import rebuild, turn_cost, turn_cost_report
from tools import turn_cost_record as record
from tools.turn_cost_record import (
    ITSELF,
    ONE,
    OTHERS,
    PAUSE,
    SERVER_SWEPT,
    SWEPT,
    Block,
    Cell,
    Head,
)

STEADY = {"callbacks": 20.0, "generators": 25.0, "aiohttp": 100.0}
REFILL = {"callbacks": 200.0, "generators": 300.0, "aiohttp": 2000.0}
LENGTHS = (5, 10, 20, 40, 100, 400)
CONDITIONS = (ITSELF, PAUSE, ONE, SWEPT, SERVER_SWEPT)

needs_two = pytest.mark.skipif(
    len(psutil.Process().cpu_affinity() or [1, 2]) < 2, reason="it needs two processors"
)


def cells(label: str, before: str, turn_ms: int, refill_us: float, speed: float) -> list[Cell]:
    """A turn that refills first and then works steadily, in as many parts as the tool looks at."""
    ends = [ms for ms in turn_cost.LOOKS_MS if ms < turn_ms] + [turn_ms]
    found, start = [], 0
    for end in ends:
        us = 1000.0 * (end - start) * 1000  # a thousand turns
        work = us - (1000 * refill_us if start == 0 else 0.0)
        pages = round(work / (STEADY[label] * speed))
        found.append(
            Cell(
                label=label, before=before, turn_ms=turn_ms, from_ms=start, to_ms=end, turns=1000,
                exchanges=pages, cpu_us=round(us), wall_us=round(us),
            )
        )  # fmt: skip
        start = end
    return found


def block(number: int, shares: dict[str, float], refills: dict[str, float] = REFILL) -> Block:
    """A block in which every condition costs this share of the whole refill."""
    speed = 1 + 0.02 * number
    found = []
    for label in STEADY:
        for ms in LENGTHS:
            found += cells(label, OTHERS, ms, refills[label], speed)
        for before in CONDITIONS:
            found += cells(label, before, 10, refills[label] * shares[before], speed)
    return Block(block=number, wall_s=20.0, load1=0.2, steal_s=0.0, probe_s=0.01, cells=found)


COLD = {ITSELF: 0.0, PAUSE: 0.0, ONE: 0.7, SWEPT: 0.9, SERVER_SWEPT: 0.0}
STOPPING = dict.fromkeys(CONDITIONS, 1.0)
HEAD = Head(environment=synthetic.environment(), labels=list(STEADY), pages=1000, seed=1)


def test_the_fit_finds_the_refill_and_the_steady_cost() -> None:
    blocks = [block(number, COLD) for number in range(6)]
    for label in STEADY:
        found = record.fit(blocks, label)
        assert found is not None
        assert found.refill_us == pytest.approx(REFILL[label], rel=0.01)
        assert found.steady_us.value == pytest.approx(STEADY[label] * 1.05, rel=0.01)
        assert found.misfit < 0.01
        middle = record.figure(record.steady(blocks, label))
        assert middle is not None
        assert middle.value == pytest.approx(found.steady_us.value, rel=0.01)


@given(st.floats(0, 2000), st.floats(0, 2000))
def test_a_larger_refill_changes_the_ratio_to_the_base(base: float, other: float) -> None:
    refills = {"callbacks": base, "generators": other, "aiohttp": 0.0}
    blocks = [block(number, COLD, refills) for number in range(5)]
    found = record.compared(blocks, "generators", 10)
    assert found is not None
    # A turn of 10 ms loses its refill, and its pages have to pay for that.
    expected = (1 - base / 10_000) / (1 - other / 10_000)
    assert found.value == pytest.approx(expected, rel=0.01)


def test_cold_caches_are_told_from_stopping() -> None:
    cold = [block(number, COLD) for number in range(6)]
    said = turn_cost_report.verdict(HEAD, cold)
    shown, _, nothing = said.partition("None is shown of")
    assert "one other crawl in between" in shown
    assert "caches that another program filled" in shown
    assert "stopping and resuming" in nothing
    assert "a server whose processor" in nothing
    stopping = [block(number, STOPPING) for number in range(6)]
    shown, _, nothing = turn_cost_report.verdict(HEAD, stopping).partition("None is shown of")
    assert "stopping and resuming" in shown
    assert "one other crawl in between" in nothing


def test_a_start_that_costs_much_makes_whole_trials_more_expensive() -> None:
    """It hides a part of what turns add, and is predicted from the crawls' own starts."""
    start = Cell(
        label="generators", before=record.FILLING, turn_ms=0, from_ms=0, to_ms=0, turns=3,
        exchanges=200, cpu_us=10_000 + 200 * 25, wall_us=0,
    )  # fmt: skip
    nothing = start.model_copy(update={"label": "callbacks", "cpu_us": 200 * 20})
    blocks = [
        one.model_copy(update={"cells": [*one.cells, start, nothing]})
        for one in (block(0, COLD).model_copy(update={"block": n}) for n in range(5))
    ]
    whole = record.whole(blocks, "generators")
    assert all(value == pytest.approx(1 + 10_000 / 4000 / 25, rel=0.01) for value in whole.values())
    free = record.compared(blocks, "generators", 10)
    found = record.predicted(blocks, "generators")
    assert found is not None
    assert free is not None
    assert found.value == pytest.approx(free.value / 1.1, rel=0.01)
    assert record.whole(blocks, "aiohttp") == {}


def test_what_is_between_two_lengths_costs_the_steady_price() -> None:
    blocks = [block(number, COLD) for number in range(6)]
    for part in ((5, 10), (10, 20), (100, 400)):
        found = record.over(
            record.marginal(blocks, "aiohttp", *part), record.steady(blocks, "aiohttp")
        )
        assert all(value == pytest.approx(1.0, rel=0.01) for value in found.values())
    first = record.over(record.marginal(blocks, "aiohttp", 0, 5), record.steady(blocks, "aiohttp"))
    assert all(value > 1.5 for value in first.values())


def test_the_text_says_whether_it_was_quiet_and_what_is_missing() -> None:
    blocks = [block(number, COLD) for number in range(6)]
    text = turn_cost_report.text((HEAD, blocks))
    assert "The load was 0.2 when it began." in text
    assert "| `aiohttp` | 104.9 |" in text or "| `aiohttp` | 105.0 |" in text
    assert "Provisional" not in text
    busy = [one.model_copy(update={"load1": 9.0}) for one in blocks]
    assert "**Provisional:**" in turn_cost_report.text((HEAD, busy))
    bad = [one.model_copy(update={"bad": {"aiohttp": "wrong digest"}}) for one in blocks]
    text = turn_cost_report.text((HEAD, bad))
    assert "Left out: aiohttp (wrong digest)" in text
    assert "| `aiohttp`" not in text
    assert "nothing is concluded" in turn_cost_report.text((HEAD, blocks[:2]))
    assert turn_cost_report.text(None) == "`python -m tools.turn_cost` was not run yet."


def test_a_record_survives_its_file(tmp_path: Path) -> None:
    file = tmp_path / "deep" / "record.jsonl.gz"
    blocks = [block(number, COLD) for number in range(2)]
    record.write(file, HEAD, blocks)
    assert record.read(file) == (HEAD, blocks)
    record.write(file, HEAD, [])
    assert record.read(file) == (HEAD, [])
    with pytest.raises(StoreError):
        record.read(tmp_path / "none.jsonl.gz")


def test_a_campaign_shows_turns_after_its_own_and_after_others() -> None:
    order = [0, 1, 1, 0, 0, 1, 1, 0]
    before = [None, *order[:-1]]
    log = TurnsRecord(
        block=0,
        point="fetch-100",
        labels=["callbacks", "trio"],
        label=order,
        round=[0] * 4 + [1] * 4,
        counted=[True] * 8,
        began_us=list(range(8)),
        wall_us=[10_000] * 8,
        cpu_us=[1000 if one == last else 1200 for one, last in zip(order, before, strict=True)],
        server_cpu_us=[0] * 8,
        exchanges=[100] * 8,
        steal_ms=[0] * 8,
    )
    found = record.after_itself([log])
    assert found["trio"].value == pytest.approx(1.2)
    assert found["callbacks"].value == pytest.approx(1.2)


def test_the_document_says_what_the_record_gives() -> None:
    """Rebuild with: python -m tools.rebuild documents."""
    document = (ROOT / "docs" / "decisions.md").read_text()
    assert block_of(document, "turn-cost").strip() == rebuild.turn_cost_text().strip()


def arguments(out: Path) -> list[str]:
    """A very small experiment."""
    small_one = ("--blocks", "1", "--pages", "6000", "--labels", "callbacks,generators,threads")
    return [sys.executable, "-m", "tools.turn_cost", "--out", str(out), *small_one]


@needs_two
@pytest.mark.slow
def test_it_measures_whole_crawls_and_prints_its_tables(tmp_path: Path) -> None:
    out = tmp_path / "record.jsonl.gz"
    done = subprocess.run(
        arguments(out), cwd=ROOT, env=small.environment(), capture_output=True, text=True,
        timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    head, (only,) = record.read(out)
    assert head.labels == ["callbacks", "generators", "threads"]
    assert only.bad == {}  # every crawl was whole: digest and ledger agree
    assert {cell.label for cell in only.cells} == set(head.labels)
    assert sum(cell.exchanges for cell in only.cells) > 0
    assert "crawls alive in each" in done.stdout


@needs_two
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
@pytest.mark.slow
def test_nothing_is_left_when_it_is_struck(tmp_path: Path, number: signal.Signals) -> None:
    """Programs that are stopped have to end as well."""
    process = subprocess.Popen(
        arguments(tmp_path / "record.jsonl.gz"), cwd=ROOT, env=small.environment(),
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        offspring = stopped(process)
        process.send_signal(number)
        assert process.wait(300) == (-number if number == signal.SIGKILL else 130)
    finally:
        process.kill()
        process.wait()
    assert small.all_gone(offspring)


def stopped(process: subprocess.Popen[bytes]) -> list[psutil.Process]:
    """Wait until programs of the experiment are stopped; all of its programs then."""
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline and process.poll() is None:
        with suppress(psutil.NoSuchProcess):
            offspring = small.family(process.pid)
            states = [one.status() for one in offspring]
            if states.count(psutil.STATUS_STOPPED) >= 4:
                return offspring
        time.sleep(0.005)
    raise AssertionError("it never took turns")
