"""What the two sides of a trial have in common."""

from __future__ import annotations

import errno
import os
from unittest.mock import Mock

import pytest

from bench import BenchError
from bench.sides.sides import Progress


def test_where_no_file_in_memory_is_allowed_the_error_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A sandbox that refuses it ended a campaign with a traceback."""
    monkeypatch.setattr(os, "memfd_create", Mock(side_effect=PermissionError(errno.EPERM, "no")))
    with pytest.raises(BenchError, match=r"memfd_create.*allow that system call"):
        Progress(1)
