"""How the harness counts the exchanges of a crawl that takes turns."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from bench.run import counting, protocol
from bench.run.counting import Progress
from crawlers.recorder import LockedProgressRecorder, ProgressRecorder


@settings(max_examples=30)
@given(steps=st.lists(st.integers(0, 9000), max_size=6), locked=st.booleans())
def test_the_harness_counts_what_the_recorder_kept(steps: list[int], locked: bool) -> None:
    """Also beyond the number of doubles that it looks at in one step, and up to the very end."""
    progress = Progress(max(sum(steps), 1))
    kind = LockedProgressRecorder if locked else ProgressRecorder
    recorder = kind(protocol.shared_times(progress.file))
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
    progress = Progress(3 * counting.AT_ONCE)
    ended = protocol.shared_times(progress.file)
    for place in (0, 1, 3):
        ended[place] = 1.0
    assert progress.count() == 2
    ended[2] = 1.0
    assert progress.count() == 4
