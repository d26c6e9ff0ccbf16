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


FOUR = ("0,2", "1,3", "0,2", "1,3")
"""Four processors of two cores."""


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

    def test_one_core_says_why_and_has_nothing_to_spread(self) -> None:
        pinning = cpu.split_cores([3])
        assert pinning.client == pinning.server == []
        assert "one processor" in (pinning.reason or "")
        assert pinning.spread("shared") == pinning.spread("apart") == pinning.unpinned() == pinning
        assert not pinning.shared

    @pytest.mark.parametrize(
        ("cores", "pairs", "speeds", "client", "server", "harness", "apart", "unpinned"),
        [
            ([0, 1], (), (), 1, 0, [0], [1], [0, 1]),
            ([0, 1, 2, 3], (), (), 3, 0, [1, 2], [1, 2, 3], [1, 2, 3]),
            # The server keeps its sibling.
            ([0, 1, 2, 3], FOUR, (), 3, 0, [0], [1, 3], [1, 3]),
            # Two of one core are apart or shared, or none would be left.
            ([1, 3], FOUR, (), 3, 1, [1], [3], [1, 3]),
            ([0, 1, 2, 3], (), (3000, 3000, 1000, 1000), 1, 0, [2, 3], [1, 2, 3], [1, 2, 3]),
        ],
    )
    def test_both_sides_are_kept_apart_and_a_client_may_get_every_processor(
        self,
        cores: list[int],
        pairs: Sequence[str],
        speeds: Sequence[int],
        client: int,
        server: int,
        harness: list[int],
        apart: list[int],
        unpinned: list[int],
        empty: Path,
    ) -> None:
        siblings(empty, *pairs)
        for core, speed in enumerate(speeds):
            path = f"sys/devices/system/cpu/cpu{core}/cpufreq/cpuinfo_max_freq"
            put(empty, path, str(speed))
        pinning = cpu.split_cores(cores)
        assert (pinning.client, pinning.server, pinning.harness) == ([client], [server], harness)
        assert ("hyper-threads" in (pinning.reason or "")) == (cores == [1, 3])
        alone = pinning.spread("apart")
        assert (alone.client, alone.server) == (apart, [server])
        shared = pinning.spread("shared")
        assert shared.client == shared.server == cores
        several = pinning.unpinned()
        assert (several.client, several.server) == (unpinned, [server])
        assert several.shared == (len(cores) == 2)

    def test_some_of_the_processors_are_of_one_core_each_first(self, empty: Path) -> None:
        four = cpu.split_cores([0, 1, 2, 3])
        found = [four.spread("apart", over).client for over in (1, 2, 3, 9)]
        assert found == [[1], [1, 2], [1, 2, 3], [1, 2, 3]]
        siblings(empty, "0,1", "0,1", "2,3", "2,3", "4,5", "4,5")
        six = cpu.split_cores(list(range(6)))
        assert six.server == [0]
        assert [six.spread("apart", over).client for over in (2, 3)] == [[2, 4], [2, 3, 4]]

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
