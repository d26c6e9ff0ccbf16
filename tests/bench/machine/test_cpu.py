"""Processor time of processes, and pinning."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from bench.machine import cpu
from tests.bench.children import SLEEPER, Answering
from tests.bench.fake_root import put
from tests.bench.sure import sure


def siblings(root: Path, *lists: str) -> None:
    for core, text in enumerate(lists):
        put(root, f"sys/devices/system/cpu/cpu{core}/topology/thread_siblings_list", text)


class TestCpu:
    def test_threads_count_and_also_those_that_ended(self) -> None:
        before = sure(cpu.total_clock(os.getpid()))
        spent: list[float] = []

        def spend() -> None:
            started = time.thread_time()
            while time.thread_time() - started < 0.05:
                pass
            spent.append(time.thread_time() - started)

        threads = [threading.Thread(target=spend) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sure(cpu.total_clock(os.getpid())) - before >= sum(spent) * 0.9

    def test_no_clock_for_an_ended_process(self) -> None:
        with Answering("pass") as other:
            other.process.communicate()
        assert cpu.total_clock(other.pid) is None

    def test_two_cores(self, empty: Path) -> None:
        assert cpu.split_cores([0, 1]) == cpu.Pinning([1], [0], None, [0])

    def test_one_core_says_why_and_has_nothing_to_spread(self) -> None:
        pinning = cpu.split_cores([3])
        assert pinning.client == pinning.server == []
        assert "one processor" in (pinning.reason or "")
        assert pinning.spread("shared") == pinning.spread("apart") == pinning.unpinned() == pinning
        assert not pinning.shared

    def test_hyper_threads_are_kept_apart(self, empty: Path) -> None:
        siblings(empty, "0,2", "1,3", "0,2", "1,3")
        pinning = cpu.split_cores([0, 1, 2, 3])
        assert (pinning.client, pinning.server) == ([3], [0])
        shared = cpu.split_cores([1, 3])
        assert (shared.client, shared.server) == ([3], [1])
        assert "hyper-threads" in (shared.reason or "")

    @pytest.mark.parametrize(
        ("cores", "pairs", "apart", "unpinned"),
        [
            (2, (), [1], [0, 1]),
            (4, (), [1, 2, 3], [1, 2, 3]),
            (4, ("0,2", "1,3", "0,2", "1,3"), [1, 3], [1, 3]),  # the server keeps its sibling
        ],
    )
    def test_a_client_may_get_every_processor_with_the_server_apart_or_not(
        self, cores: int, pairs: Sequence[str], apart: list[int], unpinned: list[int], empty: Path
    ) -> None:
        siblings(empty, *pairs)
        pinning = cpu.split_cores(list(range(cores)))
        assert (pinning.spread("apart").client, pinning.spread("apart").server) == (apart, [0])
        shared = pinning.spread("shared")
        assert shared.client == shared.server == list(range(cores))
        several = pinning.unpinned()
        assert (several.client, several.server, several.shared) == (unpinned, [0], cores == 2)

    def test_two_hyper_threads_are_apart_or_shared(self, empty: Path) -> None:
        siblings(empty, "0,2", "1,3", "0,2", "1,3")
        pinning = cpu.split_cores([1, 3])
        assert pinning.spread("apart").client == [3]  # or none would be left
        assert pinning.unpinned().shared

    def test_some_of_the_processors_are_of_one_core_each_first(self, empty: Path) -> None:
        four = cpu.split_cores([0, 1, 2, 3])
        found = [four.spread("apart", over).client for over in (1, 2, 3, 9)]
        assert found == [[1], [1, 2], [1, 2, 3], [1, 2, 3]]
        siblings(empty, "0,1", "0,1", "2,3", "2,3", "4,5", "4,5")
        six = cpu.split_cores(list(range(6)))
        assert six.server == [0]
        assert [six.spread("apart", over).client for over in (2, 3)] == [[2, 4], [2, 3, 4]]

    def test_slow_cores_are_avoided(self, empty: Path) -> None:
        for core, speed in enumerate((3000, 3000, 1000, 1000)):
            path = f"sys/devices/system/cpu/cpu{core}/cpufreq/cpuinfo_max_freq"
            put(empty, path, str(speed))
        pinning = cpu.split_cores([0, 1, 2, 3])
        assert (pinning.client, pinning.server) == ([1], [0])
        assert pinning.harness == [2, 3]

    def test_pin_moves_every_thread(self) -> None:
        core = cpu.usable_cores()[-1]
        with Answering(SLEEPER, "3") as other:
            other.read()
            assert cpu.pin(other.pid, [core]) is None
            for thread in os.listdir(f"/proc/{other.pid}/task"):
                assert os.sched_getaffinity(int(thread)) == {core}

    def test_pin_says_why_not(self) -> None:
        assert "could not pin" in (cpu.pin(os.getpid(), [100_000]) or "")
        assert cpu.pin(os.getpid(), []) is not None
