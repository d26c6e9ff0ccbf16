"""What an interrupted crawl leaves behind is counted."""

from __future__ import annotations

import os
import signal
import sys
from collections import Counter
from pathlib import Path

import pytest

from bench.sides import leftovers
from crawlers.stop import Stop


def test_leftovers_are_counted_by_kind() -> None:
    before = leftovers.count()
    left, right = os.pipe()
    try:
        more = leftovers.more_than(before, 0.0)
    finally:
        os.close(left)
        os.close(right)
    assert more["descriptor pipe"] == 2
    assert leftovers.more_than(before, 60.0) == Counter()


def test_a_file_that_is_left_open_counts_and_that_of_a_library_does_not(tmp_path: Path) -> None:
    """libffi 3.5 keeps its own file open from its first closure on: httpx and trio make one."""
    before = leftovers.count()
    paths = [tmp_path / name for name in ("records.jsonl", "libffi.so.8.5.0")]
    for path in paths:
        path.touch()
    with paths[0].open(), paths[1].open():
        assert dict(leftovers.count() - before) == {f"descriptor {paths[0]}": 1}


def test_a_worker_goes_back_to_its_own_switch_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    before, handler = sys.getswitchinterval(), signal.getsignal(leftovers.AS_USUAL)
    try:
        monkeypatch.setattr(Stop, "noticed", None)
        watch = leftovers.Watch()
        sys.setswitchinterval(10.0)
        signal.raise_signal(leftovers.AS_USUAL)
        ending = watch.ending(1.0, 2.0)
        assert ending.switch_interval_s == pytest.approx(before)
        assert (ending.noticed, ending.returned, ending.cpu_s) == (None, 1.0, 0.0)
    finally:
        sys.setswitchinterval(before)
        signal.signal(leftovers.AS_USUAL, handler)
