"""Recorders: what they keep of a crawl."""

from __future__ import annotations

from crawlers.recorder import WINDOW, WindowRecorder


def test_a_window_ends_after_so_many_exchanges() -> None:
    recorder = WindowRecorder()
    for _ in range(2 * WINDOW + 1):
        recorder.record(0, 0.0, 1.0, 3.0)
    assert [row[0] for row in recorder.used] == [0, WINDOW, 2 * WINDOW]
    assert len(recorder.service) == 2 * WINDOW + 1
    for before, after in zip(recorder.used, recorder.used[1:], strict=False):
        assert all(a <= b for a, b in zip(before, after, strict=True))  # counters only grow
