"""What the harness's tests share."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.machine import procfs


@pytest.fixture
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with nothing in /proc and /sys: put files here to give it some."""
    monkeypatch.setattr(procfs, "ROOT", tmp_path)
    return tmp_path
