"""A value that a test knows to be there."""

from __future__ import annotations

from typing import TypeVar

Value = TypeVar("Value")


def sure(value: Value | None) -> Value:
    """What a function may not find, and here has to."""
    assert value is not None
    return value
