"""Interleaved turns: one process runs at a time, none stays stopped, whole rounds count."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from mmap import mmap
from pathlib import Path
from unittest import mock

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.launch import ROOT
from bench.machine import cpu
from bench.run import turns
from bench.run.turns import FILLING, Taker, TurnTaken, Window, level, take_turn, take_turns
from bench.sides.group import Group, GroupEndedError
from bench.sides.process import Child
from tests.bench.children import SLEEPER, state, wait_for
from tests.bench.sure import sure

PARENT = """
import subprocess, sys, threading
def start():
    child = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    print(child.pid, flush=True)
    while True: pass
threading.Thread(target=start).start()
"""


@contextmanager
def crowd() -> Iterator[Group]:
    with Child("threads", ["-u", "-c", SLEEPER, "20"]) as child:
        assert child.receive(time.monotonic() + 20) == "ready"
        yield child
        child.resume()


@pytest.mark.parametrize("may", [True, False])
def test_many_threads_stop_at_once(may: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The thread that takes the signal waited behind the others, which went on crawling."""
    seen = []

    def schedule(pid: int, policy: int, param: os.sched_param) -> None:
        seen.append((policy & ~os.SCHED_RESET_ON_FORK, param.sched_priority))
        if not may:
            raise PermissionError

    monkeypatch.setattr(os, "sched_setscheduler", schedule)
    with crowd() as group:
        group.stop()
        assert not seen  # nobody has counted its threads, and few need no help
        group.resume()
        group.look_for_children()
        group.stop()
        assert state(group.pid) == psutil.STATUS_STOPPED
        assert seen == [(os.SCHED_FIFO, 1), (os.SCHED_OTHER, 0)]
        assert (group.many, group.threads, group.wait_s()) == (True, 21, None)


def test_a_stopped_group_has_its_own_policy_again() -> None:
    with crowd() as group:
        group.look_for_children()
        group.stop()
        for task in Path(f"/proc/{group.pid}/task").iterdir():
            policy = os.sched_getscheduler(int(task.name))
            assert policy & ~os.SCHED_RESET_ON_FORK == os.SCHED_OTHER


def test_a_group_that_has_ended_cannot_be_stopped() -> None:
    child = Child("a child", ["-c", "pass"])
    child.process.wait()
    with pytest.raises(GroupEndedError):
        child.stop()
    child.close()


def test_children_of_a_worker_are_stopped_and_their_time_is_counted() -> None:
    with Child("a parent", ["-c", PARENT]) as group:
        grandchild = int(group.receive(time.monotonic() + 300))
        group.look_for_children()
        group.stop()
        wait_for(lambda: state(grandchild) == psutil.STATUS_STOPPED, "it does not stop")
        used = group.cpu_s()
        time.sleep(0.05)
        assert group.cpu_s() == used
        group.resume()
        wait_for(lambda: group.cpu_s() > used, "the group does not go on")
        assert group.cpu_s() > Group(group.pid).cpu_s()
        group.process.kill()
        os.kill(grandchild, signal.SIGKILL)


ENDED = """
import subprocess, sys
burn = "import time\\nwhile time.process_time() < 0.3: pass"
subprocess.run([sys.executable, "-c", burn])
print("ended", flush=True)
sys.stdin.readline()
"""


def test_the_time_of_children_that_have_ended_counts() -> None:
    """Of a new process for every fifty pages, turns saw a tenth."""
    with Child("a parent", ["-c", ENDED]) as group:
        group.receive(time.monotonic() + 300)
        assert group.cpu_s() - sure(cpu.total_clock(group.pid)) >= 0.25


BUSY = """
import mmap, sys, threading
file = open(sys.argv[1], "r+b")
count = memoryview(mmap.mmap(file.fileno(), 8)).cast("Q")
print("ready", flush=True)
sys.stdin.readline()
while True:
    sum(range(2000))
    count[0] += 1
"""

HARNESS = """
import sys, random, subprocess
from bench.sides.process import Child
from bench.run.turns import Taker, take_turns

class Loop(Taker):
    slots = 1

    def __init__(self):
        self.tested, self.other = (Child("a loop", ["-c", "while True: pass"]) for _ in "ab")

    def go(self):
        pass

    def count(self):
        return 5

takers = [Loop(), Loop()]
children = [child for taker in takers for child in (taker.tested, taker.other)]
print(*(child.pid for child in children), flush=True)
for child in children:
    child.stop()
take_turns(takers, random.Random(1))
"""


class Counting(Taker):
    """Counts as fast as it can, with a server that only waits."""

    slots = 1
    turn_s = 0.005

    def __init__(self, file: Path) -> None:
        file.write_bytes(bytes(8))
        with open(file, "r+b") as opened:
            self.shared = memoryview(mmap(opened.fileno(), 8)).cast("Q")
        self.tested = Child("a worker", ["-c", BUSY, str(file)])
        self.other = Child("a server", ["-c", "import sys; sys.stdin.read()"])
        assert self.tested.receive(time.monotonic() + 300) == "ready"

    def go(self) -> None:
        self.tested.send("go")

    def count(self) -> int:
        return int(self.shared[0])


@pytest.fixture
def takers(tmp_path: Path) -> Iterator[list[Counting]]:
    made = [Counting(tmp_path / name) for name in "abc"]
    both = [child for taker in made for child in (taker.tested, taker.other)]
    for child in both:
        child.stop()
    yield made
    for child in both:
        child.resume()
        child.close(0.0)


class Made(Child):
    """A child without a process."""

    def __init__(self) -> None:
        Group.__init__(self, 0)
        self.stopped, self.ran = True, 0

    def stop(self) -> None:
        self.stopped = True
        self.ran += 1

    def resume(self) -> None:
        self.stopped = False

    def look_for_children(self) -> None:
        pass

    def cpu_s(self) -> float:
        return 0.001 * self.ran


class MadeTaker(Taker):
    """It completes so many exchanges whenever it has run."""

    tested: Made
    other: Made
    slots, total, turn_s = 20, 1000, 0.0

    def __init__(self, each: int) -> None:
        self.each, self.tested, self.other = each, Made(), Made()

    def go(self) -> None:
        pass

    def count(self) -> int:
        return self.each * self.tested.ran


@pytest.fixture
def made() -> list[MadeTaker]:
    return [MadeTaker(each) for each in (10, 20, 30)]


def test_only_the_one_whose_turn_it_is_runs(
    takers: list[Counting], monkeypatch: pytest.MonkeyPatch
) -> None:
    running, pause = list[int](), time.sleep
    used = [taker.tested.cpu_s() for taker in takers]
    processes = [psutil.Process(taker.tested.pid) for taker in takers]

    def sleep(seconds: float) -> None:
        running.append(sum(each.status() != psutil.STATUS_STOPPED for each in processes))
        pause(seconds)

    monkeypatch.setattr("bench.run.turns.time.sleep", sleep)
    turns = take_turns(takers, random.Random(3), rounds=5)
    assert {*running} == {1}
    # Before a turn a label runs, too, but not while its slots fill.
    assert len(running) == 2 * len(turns) - sum(turn.round == FILLING for turn in turns)
    for number, taker in enumerate(takers):
        mine = [turn for turn in turns if turn.taker == number]
        assert taker.count() / taker.total == mine[-1].reached
        assert sum(turn.cpu_s for turn in mine) <= taker.tested.cpu_s() - used[number] + 1e-3
        for before, turn in pairwise(mine):
            assert before.reached <= turn.started
        for turn in mine:
            assert turn.started + turn.exchanges / taker.total == pytest.approx(turn.reached)


def test_a_turn_counts_only_after_its_label_has_run(made: list[MadeTaker]) -> None:
    """A page that came right after another backend's cost async/await 10 % more than the next."""
    turns = take_turns(made, random.Random(3))
    for number, taker in enumerate(made):
        mine = [turn for turn in turns if turn.taker == number]
        assert {turn.exchanges for turn in mine} == {taker.each}
        for before, turn in pairwise(mine):
            left_out = 1000 * (turn.started - before.reached)
            assert left_out == pytest.approx(0 if turn.round == FILLING else taker.each)


@pytest.mark.parametrize("once", [False, True])
def test_a_round_is_a_random_order_and_its_mirror_image(made: list[MadeTaker], once: bool) -> None:
    """A label of which stops show takes one long turn, in the middle of the round."""
    made[1].once = once
    turns = take_turns(made, random.Random(3))
    orders = {
        tuple(turn.taker for turn in turns if turn.round == number)
        for number in range(turns[-1].round + 1)
    }
    assert orders == {(0, 2, 1, 2, 0), (2, 0, 1, 0, 2)} if once else len(orders) > 2
    for order in orders:
        assert order == order[::-1]
        assert sorted(order) == ([0, 0, 1, 2, 2] if once else [0, 0, 1, 1, 2, 2])


def test_rounds_in_which_a_slot_may_be_idle_do_not_count(made: list[MadeTaker]) -> None:
    """One that fills up slowly costs the others no pages."""
    made[1].slots = 100
    turns = take_turns(made, random.Random(3))
    filling = [turn.taker for turn in turns if turn.round == FILLING]
    assert sorted(filling) == [0] * 4 + [1] * 10 + [2] * 2
    counted = [turn.counted for turn in turns]
    assert not any(counted[: len(filling)])
    last = [turn for turn in turns if turn.round == turns[-1].round]
    assert made[2].count() > 1000 - 2 * 20
    assert not any(turn.counted for turn in last)
    assert len({turn.round for turn in turns if turn.counted}) == last[0].round
    # Before each turn of a round a label ran once more.
    ran = sum(turn.exchanges * (1 if turn.round == FILLING else 2) for turn in turns)
    assert ran == sum(taker.count() for taker in made)


def test_an_interrupt_or_a_deadline_ends_the_turns_with_everything_stopped(
    made: list[MadeTaker], monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(turns, "interruptible", mock.Mock(side_effect=KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            take_turns(made, random.Random(1))
    assert all(taker.tested.stopped and taker.other.stopped for taker in made)
    assert not take_turns(made, random.Random(1), deadline=0.0)


def test_a_turn_says_how_long_the_worker_waited_for_the_processor(takers: list[Counting]) -> None:
    if not Path("/proc/self/schedstat").exists():
        pytest.skip("this kernel keeps no run-queue waits")
    # In the first turns nobody has looked for its threads yet.
    taken = take_turns(takers, random.Random(3), rounds=3)
    waits = [turn.wait_s for turn in taken if turn.round != FILLING]
    assert all(wait is not None and wait >= 0 for wait in waits)


def test_resuming_and_stopping_many_threads_is_no_part_of_a_turn(takers: list[Counting]) -> None:
    """Stopping a thousand threads and letting them go on took 14 ms of each turn of 10 ms."""
    crowded = takers[1]
    for taker in takers:
        taker.tested.look_for_children()
    crowded.tested.threads = 200  # as if: each has 10 microseconds to resume
    for taker in takers:
        taker.turn_s = 0.02
    for taker in takers:
        turn, counted = take_turn(taker, 0, 0), 0
        while not turn.exchanges:  # a busy machine may not let it run in a turn
            counted = taker.count()
            turn = take_turn(taker, 0, 0)
        if taker is crowded:
            assert turn.aside_s > 0
            assert turn.exchanges <= taker.count() - counted
        else:
            assert turn.aside_s == 0
            assert turn.exchanges == taker.count() - round(taker.total * turn.started)


def test_with_many_threads_that_settle_a_turn_begins_when_each_slot_has_worked(
    takers: list[Counting], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A thousand threads found their answers ready after a stop, and a page took half the time."""
    monkeypatch.setattr(turns, "SETTLE_S", 60.0)
    crowded = takers[1]
    for taker in takers:
        taker.tested.look_for_children()
    crowded.tested.threads = 20
    crowded.turn_s = 0.001
    for slots, once, settles in ((100, False, False), (100, True, True), (1000, False, True)):
        crowded.slots, crowded.once = slots, once
        before = crowded.count()
        turn = take_turn(crowded, 0, 0)
        left_out = crowded.count() - before - turn.exchanges
        assert (left_out >= slots) or not settles
    monkeypatch.setattr(turns, "SETTLE_S", 0.0)  # and it does not wait for ever
    crowded.slots = 10**9
    assert take_turn(crowded, 0, 0).wall_s > 0


def test_a_taker_of_which_a_side_ends_is_lost_and_the_others_go_on(
    takers: list[Counting], made: list[MadeTaker]
) -> None:
    takers[1].tested.process.kill()
    takers[2].other.process.kill()
    turns = take_turns(takers, random.Random(3), rounds=3)
    assert [taker.lost for taker in takers] == [
        None,
        "the worker ended in its turn",
        "the process at the other end ended",
    ]
    assert {turn.taker for turn in turns if turn.counted} == {0}
    # The round in which one is lost is not whole: two turns fill its slots, and a round has four.
    with mock.patch.object(made[1].other, "stop", side_effect=[None] * 6 + [GroupEndedError] * 2):
        turns = take_turns(made, random.Random(3), rounds=3)
    assert {turn.round for turn in turns if turn.counted} == {0, 2}


def test_killing_the_harness_leaves_no_stopped_process_behind() -> None:
    """The new kind of leak: a stopped process that nobody will ever resume."""
    harness = subprocess.Popen(
        [sys.executable, "-c", HARNESS], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    assert harness.stdout is not None
    with harness:
        pids = [int(pid) for pid in harness.stdout.readline().split()]
        assert len(pids) == 4
        time.sleep(0.1)
        harness.kill()
    wait_for(lambda: not any(map(psutil.pid_exists, pids)), "some of them are left behind")


def fabricated(reached: Sequence[Sequence[float]]) -> list[TurnTaken]:
    """Turns of takers that had done these shares at their ends; the first one fills slots."""
    return [
        TurnTaken(
            taker, number, 0.0, 0.01, 0.01, 0.01, 1, None, number >= 0, started=start, reached=end
        )
        for taker, shares in enumerate(reached)
        for number, (start, end) in enumerate(pairwise([0.0, *shares]), FILLING)
    ]


def counted_of(turns: list[TurnTaken], taker: int) -> list[float]:
    return [t.reached for t in turns if t.taker == taker and t.counted]


CRAWLS = st.lists(
    st.lists(st.floats(0.001, 1), min_size=2, max_size=9).map(sorted), min_size=1, max_size=5
)


@given(CRAWLS, st.floats(0, 0.3))
def test_turns_count_in_the_same_part_of_every_crawl(
    reached: list[list[float]], dear: float
) -> None:
    """First pages cost more: who came less far, or began to count earlier, seemed dearer."""
    control, crawls = [1.0, 9.0, 9.0], range(len(reached))  # it goes through its work many times
    turns = fabricated([*reached, control])
    found, window = level(turns, crawls, dear)
    expected = Window(
        since=max(dear, *(shares[0] for shares in reached)),
        until=min(shares[-1] for shares in reached),
    )
    kept = [
        [
            end
            for start, end in pairwise(shares)
            if expected.since <= start and end <= expected.until
        ]
        for shares in reached
    ]
    if not all(kept):
        assert (found, window) == (turns, None)  # nothing would be left of one
        return
    assert window == expected
    assert [counted_of(found, taker) for taker in crawls] == kept
    assert counted_of(found, len(reached)) == control[1:]


def test_a_crawl_that_no_turn_counts_of_decides_nothing() -> None:
    """Its process ended: the others' turns still count where all that are left have them."""
    turns = fabricated([[0.1, 0.3, 0.5], [0.05], [0.2, 0.4, 0.6]])
    found, window = level(turns, range(3), 0.1)
    assert window == Window(since=0.2, until=0.5)
    assert [counted_of(found, taker) for taker in range(3)] == [[0.5], [], [0.4]]
