"""The look at connections and memory over time."""

from __future__ import annotations

import os
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from bench.machine.probes import ramp


@given(st.lists(st.integers(0, 10_000), min_size=1, max_size=700))
def test_thinning_keeps_the_summit_and_the_end(connections: list[int]) -> None:
    kept = ramp.thinned(connections)
    assert len(kept) <= ramp.KEPT
    assert kept == sorted(set(kept))
    assert {0, len(connections) - 1} <= set(kept)
    assert max(connections[i] for i in kept) == max(connections)


def test_a_watch_keeps_its_samples_in_order() -> None:
    watch = ramp.Watch(os.getpid())
    assert watch.ramp() is None
    for connections in (0, 3, 3):
        watch.look(connections)
    watch.opens()
    watch.look(0)
    found = watch.ramp()
    assert found is not None
    assert found.connections == [0, 3, 3, 0]
    assert found.at_ms == sorted(found.at_ms)
    assert found.opened_ms is not None
    assert found.at_ms[2] <= found.opened_ms <= found.at_ms[3]


def test_memory_is_unknown_without_proc(empty: Path) -> None:
    assert ramp.own_kib(os.getpid(), 16384) is None


def test_memory_counts_what_belongs_to_the_process_alone(empty: Path) -> None:
    (empty / "proc/7").mkdir(parents=True)
    status = "RssAnon:\t  1000 kB\nVmPTE:\t   40 kB\nThreads:\t3\n"
    (empty / "proc/7/status").write_text(status)
    assert ramp.own_kib(7, 16384) == 1000 + 40 + 3 * 16
    assert ramp.own_kib(7, None) is None
