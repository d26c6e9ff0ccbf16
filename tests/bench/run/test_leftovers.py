"""What counts as left behind."""

from __future__ import annotations

from pathlib import Path

from bench.run import leftovers


def test_a_file_that_is_left_open_counts_and_that_of_a_library_does_not(tmp_path: Path) -> None:
    """libffi 3.5 keeps its own file open from its first closure on: httpx and trio make one."""
    before = leftovers.count()
    paths = [tmp_path / name for name in ("records.jsonl", "libffi.so.8.5.0")]
    for path in paths:
        path.touch()
    with paths[0].open(), paths[1].open():
        assert dict(leftovers.count() - before) == {f"descriptor {paths[0]}": 1}
