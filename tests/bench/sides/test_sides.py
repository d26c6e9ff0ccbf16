"""What the two sides of a trial have in common."""

from __future__ import annotations

import errno
import os

import pytest

from bench import BenchError
from bench.sides.sides import Progress


def test_where_no_file_in_memory_is_allowed_the_error_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A sandbox that refuses it ended a campaign with a traceback."""

    def refused(name: str) -> int:
        raise PermissionError(errno.EPERM, f"no {name}")

    monkeypatch.setattr(os, "memfd_create", refused)
    with pytest.raises(BenchError, match=r"memfd_create.*allow that system call"):
        Progress(1)
