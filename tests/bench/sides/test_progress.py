"""Exchanges are counted in memory that the harness and a worker share."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.sides import protocol
from bench.sides.sides import AT_ONCE, Progress
from crawlers.recorder import LockedProgressRecorder, ProgressRecorder


@settings(max_examples=30)
@given(steps=st.lists(st.integers(0, 9000), max_size=6), locked=st.booleans())
def test_the_harness_counts_what_the_recorder_kept(steps: list[int], locked: bool) -> None:
    """Also beyond the number of doubles that it looks at in one step, and up to the very end."""
    progress = Progress(max(sum(steps), 1))
    kind = LockedProgressRecorder if locked else ProgressRecorder
    ended = protocol.shared_times(progress.file)
    recorder = kind(ended, protocol.own_times(len(ended)))
    progress.close()
    done = 0
    assert progress.count() == 0
    for step in steps:
        for number in range(done, done + step):
            recorder.record(0, 0.0, number, number + 0.5)
        done += step
        assert progress.count() == progress.count() == done
    assert recorder.ended[:done].tolist() == [number + 0.5 for number in range(done)]
    recorder.settle()
    assert recorder.service == [0.5] * done


def test_a_place_that_is_not_filled_yet_ends_the_count() -> None:
    """Two threads may have places, and the second may fill its own first."""
    progress = Progress(3 * AT_ONCE)
    ended = protocol.shared_times(progress.file)
    for place in (0, 1, 3):
        ended[place] = 1.0
    assert progress.count() == 2
    ended[2] = 1.0
    assert progress.count() == 4


FAULTS = """
import resource, socket, sys
from bench.sides import protocol
from crawlers.recorder import ProgressRecorder

a, b = socket.socketpair()

def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(500):
        a.send(b"x" * 2048)
        b.recv(262144)
    return (resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before) / 500

first = faults()
ended = protocol.shared_times(sys.argv[1])
recorder = ProgressRecorder(ended, protocol.own_times(len(ended)))
for _ in range(len(ended)):
    recorder.record(0, 0.0, 1.0, 2.0)
print(first, faults())
"""


def test_the_recorder_does_not_change_how_malloc_maps_large_blocks(tmp_path: Path) -> None:
    """Freeing one made a crawl of asyncio's streams cost 1.4 times that of callbacks, not 2.1."""
    file = tmp_path / "times"
    file.write_bytes(bytes(8 * 200_000))
    command = [sys.executable, "-c", FAULTS, str(file)]
    first, then = map(float, subprocess.check_output(command, timeout=60).split())
    if first < 1:
        pytest.skip("this malloc does not map each large block anew")
    assert then > first / 2
