"""Every kind spawns, waits, ends and yields in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
import threading

import pytest

from bench.launch import ROOT
from bench.tasks import child
from bench.tasks.study import KINDS
from tests.bench import small

PATIENCE_S = 280
pytestmark = pytest.mark.timeout(PATIENCE_S + 20)
USABLE = [name for name, kind in KINDS.items() if kind.missing is None]


def run(*words: str, lines: str = "") -> list[str]:
    """What the process prints."""
    done = subprocess.run(
        [sys.executable, "-m", "bench.tasks.child", *words],
        cwd=ROOT,
        env=small.environment(),
        input=lines,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout.splitlines()


@pytest.mark.parametrize("name", USABLE)
def test_a_kind_holds_ends_and_switches(name: str) -> None:
    ready, held, times = map(json.loads, run(name, "hold", "150", lines="\n\n"))
    assert (ready, held) == ("ready", "held")
    assert set(times) == {"spawn_s", "cancel_s"}
    assert all(value > 0 for value in times.values())
    (line,) = run(name, "switch", "5", "20")
    assert json.loads(line)["switch_s"] > 0


def test_threads_all_wait_at_the_barrier_and_are_gone_afterwards() -> None:
    before = threading.active_count()
    kind, seen = child.thread(), {}

    def at(word: str) -> None:
        seen[word] = threading.active_count() - before

    kind.run(child.hold(kind, 40, at))
    assert seen == {"ready": 0, "held": 40}
    assert threading.active_count() == before


def test_small_stacks_are_small() -> None:
    before = threading.stack_size()
    try:
        child.thread_small()
        assert threading.stack_size() == child.SMALL_STACK
    finally:
        threading.stack_size(before)


def test_all_hand_built_tasks_wait_when_they_are_held() -> None:
    ways = child.generator_task()
    made = []

    async def work() -> None:
        made.extend(await ways.spawn(30))
        assert not any(task.done for task in made)
        await ways.cancel(made)
        assert all(task.done for task in made)

    ways.run(work())
    assert len(made) == 30
