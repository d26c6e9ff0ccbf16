"""The largest type in which columns of code fit a slide."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from bench.exhibits import sidebyside
from bench.exhibits.sidebyside import ModelCell

WIDTH: Final = 1200.0
HEIGHT: Final = 470.0
"""Room for code below a title of two lines, in units of a slide 1280 wide."""
GAP: Final = 16.0
HEAD: Final = 40.0
"""The head of a cell, with its padding."""
SIDES: Final = 26.0
LARGEST: Final = 22.0


def largest(columns: Sequence[Sequence[ModelCell]]) -> float:
    """The largest size at which every column fits; the smallest size if none does."""
    size = LARGEST
    while size > sidebyside.SMALLEST and not fits(columns, size):
        size -= sidebyside.STEP
    return size


def fits(columns: Sequence[Sequence[ModelCell]], size: float) -> bool:
    """Whether every column fits, counting wrapped lines."""
    width = (WIDTH - GAP * (len(columns) - 1)) / len(columns) - SIDES
    letters = int(width / (sidebyside.LETTER * size))
    for column in columns:
        lines = sum(sidebyside.wrapped(line, letters) for cell in column for line in cell.texts)
        heads = HEAD * len(column) + GAP * (len(column) - 1)
        if lines * sidebyside.LEADING * size + heads > HEIGHT:
            return False
    return True
