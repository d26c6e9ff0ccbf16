"""Every kind spawns, waits, ends and yields, in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
import threading

import pytest

from bench.launch import ROOT
from bench.micro.waiting import child, plain
from bench.micro.waiting.kinds import KINDS, SMALL_STACK
from tests.bench import small

PATIENCE_S = 280
pytestmark = pytest.mark.timeout(PATIENCE_S + 20)
USABLE = [name for name, kind in KINDS.items() if kind.missing is None]


def run(*words: str, lines: str = "") -> list[str]:
    """What the process prints."""
    done = subprocess.run(
        [sys.executable, "-m", "bench.micro.waiting.child", *words],
        cwd=ROOT, env=small.environment(), input=lines, capture_output=True, text=True,
        timeout=PATIENCE_S,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout.splitlines()


@pytest.mark.parametrize("name", USABLE)
def test_a_kind_holds_and_ends_its_tasks(name: str) -> None:
    ready, held, times = run(name, "hold", "150", lines="\n\n")
    assert (ready, held) == ("ready", "held")
    assert set(json.loads(times)) == {"spawn_s", "cancel_s"}
    assert all(value > 0 for value in json.loads(times).values())


@pytest.mark.parametrize("name", USABLE)
def test_a_kind_switches(name: str) -> None:
    (line,) = run(name, "switch", "5", "20")
    assert json.loads(line)["switch_s"] > 0


def test_threads_all_wait_at_the_barrier_and_are_gone_afterwards() -> None:
    before = threading.active_count()
    seen = {}

    def at(word: str) -> None:
        seen[word] = threading.active_count() - before

    child.hold(plain.thread(), 40, at)
    assert seen == {"ready": 0, "held": 40}
    assert threading.active_count() == before


def test_small_stacks_are_small() -> None:
    before = threading.stack_size()
    try:
        plain.thread_small()
        assert threading.stack_size() == SMALL_STACK
    finally:
        threading.stack_size(before)


def test_all_hand_built_tasks_wait_when_they_are_held() -> None:
    ways = plain.generator_task()
    made = []

    async def work() -> None:
        made.extend(await ways.spawn(30))
        assert not any(task.done for task in made)
        await ways.cancel(made)
        assert all(task.done for task in made)

    ways.run(work())
    assert len(made) == 30


def test_a_kind_without_a_loop_must_not_wait() -> None:
    async def waits() -> None:
        await plain.suspend()

    with pytest.raises(RuntimeError, match="no loop"):
        plain.straight(waits())
