"""The log of turns: kept beside the trials, whole or cut, never lost."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from bench import turnlog
from bench.run import block
from bench.run.turns import TurnTaken
from bench.store import StoreError
from tests.bench import small

TAKEN = [TurnTaken(0, number, 10.0, 1.0, 0.5, 0.5, 3, None, counted=True) for number in (0, 1)]
LOG = block.log(TAKEN, ["callbacks"], small.point(), 0)


def test_turns_are_kept_beside_the_trials(tmp_path: Path) -> None:
    assert turnlog.load(tmp_path) == []
    later = LOG.model_copy(update={"block": 1})
    turnlog.append(tmp_path, LOG)
    turnlog.append(tmp_path, later)
    assert turnlog.load(tmp_path) == [LOG, later]
    file = tmp_path / turnlog.FILE_NAME
    file.write_bytes(file.read_bytes()[:-7])  # torn by a crash
    assert turnlog.load(tmp_path) == [LOG]
    turnlog.append(tmp_path, later)
    assert turnlog.load(tmp_path) == [LOG, later]
    again = later.model_copy(update={"steal_ms": [None] * len(LOG.label)})
    turnlog.append(tmp_path, again)  # of a block that ran twice, the later turns count
    assert turnlog.load(tmp_path) == [LOG, again]


def test_a_full_disk_leaves_turns_that_can_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A torn member hid all that a resumed campaign wrote after it."""
    turnlog.append(tmp_path, LOG)

    def full(number: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(StoreError, match="No space left"):
            turnlog.append(tmp_path, LOG)
    assert turnlog.load(tmp_path) == [LOG]
    turnlog.append(tmp_path, LOG.model_copy(update={"block": 1}))
    assert len(turnlog.load(tmp_path)) == 2
