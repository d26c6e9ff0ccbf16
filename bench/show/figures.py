"""Figures as data: what a chart shows, without a line of drawing (:mod:`bench.report.charts`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from bench.analysis.stats import Spread


@dataclass(frozen=True, slots=True)
class Unit:
    """How values are written: in a sentence, on an axis, and in the head of a column.

    Functions of a module, not lambdas: a figure may be drawn by another process.
    """

    symbol: str
    words: Callable[[float], str]
    ticks: Callable[[float], str]


@dataclass(frozen=True, slots=True)
class Panel:
    """One axis of bars: for each label one bar, or two, the first of them faint."""

    axis: str
    rows: Mapping[str, Sequence[Spread | None]]
    unit: Unit


@dataclass(frozen=True, slots=True)
class Bars:
    """Horizontal bars with their ranges, in one panel or several."""

    panels: Sequence[Panel]
    faint: str = ""  # what the faint bars are, and the others; empty without faint ones
    strong: str = ""


@dataclass(frozen=True, slots=True)
class Figure:
    """A chart's words and its data."""

    name: str
    title: str  # names what is drawn
    headline: str | None  # what it shows in one sentence, if it shows anything
    subtitle: str  # defines the quantity
    alt: str
    data: Bars
    notes: tuple[str, ...] = ()
