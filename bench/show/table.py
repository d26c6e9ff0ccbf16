"""A table before anyone decides how to show it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import Literal, TypeVar

Align = Literal["left", "right"]
MISSING = "–"
Of = TypeVar("Of")


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its title, and how much a narrow terminal needs it."""

    title: str
    align: Align = "right"
    drop: int = 0  # a narrow terminal drops the highest first, and never drops 0
    unbroken: bool = False  # words that stay on one line, like names

    @property
    def numeric(self) -> bool:
        return self.align == "right"


def words(title: str, drop: int = 0) -> Column:
    """A column of words, aligned to the left."""
    return Column(title, "left", drop)


def name(title: str, drop: int = 0) -> Column:
    """A column of names: words that stay on one line."""
    return Column(title, "left", drop, unbroken=True)


Row = Sequence[str]


@dataclass(frozen=True, slots=True)
class Table:
    """A table with its caption; the first column names the row."""

    caption: str
    columns: Sequence[Column]
    rows: Sequence[Row]
    about: str = ""  # how to read it
    notes: Sequence[str] = ()  # what is missing, one line each
    grouped: bool = False  # the second column is the same for groups of consecutive rows

    @property
    def header(self) -> list[str]:
        return [column.title for column in self.columns]

    def groups(self) -> Iterator[tuple[str, Table]]:
        """Each group's name and its rows, as tables without the column that groups them."""
        columns = [self.columns[0], *self.columns[2:]]
        for group, rows in groupby(self.rows, key=itemgetter(1)):
            yield group, Table(self.caption, columns, [[row[0], *row[2:]] for row in rows])


CellMakers = Sequence[tuple[Column, Callable[[Of], str]]]
"""Each column, with its cell in the row of something."""


def tabled(
    caption: str,
    columns: CellMakers[Of],
    things: Iterable[Of],
    *,
    about: str = "",
    notes: Sequence[str] = (),
    grouped: bool = False,
) -> Table:
    """A table of one row for each thing."""
    rows = [[cell(thing) for _, cell in columns] for thing in things]
    return Table(caption, [column for column, _ in columns], rows, about, notes, grouped)
