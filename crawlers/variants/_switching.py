"""Shared by the variants of ``threads`` with another switch interval."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def switch_interval(seconds: float) -> Iterator[None]:
    """While this lasts, a waiting thread asks for the interpreter's lock after ``seconds``."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(seconds)
    try:
        yield
    finally:
        sys.setswitchinterval(before)
