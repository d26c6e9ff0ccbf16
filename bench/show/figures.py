"""Figures as data: what a chart shows, without a line of drawing (:mod:`bench.report.charts`)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from bench.analysis.stats import Ratio, Spread
from bench.text import number


@dataclass(frozen=True, slots=True)
class Unit:
    """How values are written: in a sentence, on an axis, and in the head of a column.

    Functions of a module, not lambdas: a figure may be drawn by another process.
    """

    symbol: str
    words: Callable[[float], str]
    ticks: Callable[[float], str]


Colour = Literal["blue", "sky", "red", "yellow", "pink", "grey", "faint", "own"]
"""Of a part of a bar; ``own`` is the colour of the backend."""


@dataclass(frozen=True, slots=True)
class Stack:
    """One bar of several parts, from the left."""

    parts: Mapping[str, float]
    interval: tuple[float, float] | None = None  # of their sum
    hatched: Sequence[str] = ()  # parts that were calculated, not read
    name: str = ""  # before its value, where a label has two

    @property
    def total(self) -> float:
        return sum(self.parts.values())


Bar = Spread | Stack | None


@dataclass(frozen=True, slots=True)
class Panel:
    """One axis: for each label one bar, or two, the first of them faint unless it has parts."""

    axis: str
    rows: Mapping[str, Sequence[Bar]]
    unit: Unit
    hollow: Collection[str] = ()  # labels that something else limited
    dots: bool = False  # marks instead of bars, on an axis that may be logarithmic
    around: float | None = None  # of marks that are ratios: half of the noise floor's band, in logs
    said: Mapping[str, str] = field(default_factory=dict)  # in place of the value

    @property
    def values(self) -> dict[str, list[float]]:
        """What is drawn for each label: medians, and sums of parts."""
        return {
            label: [bar.total if isinstance(bar, Stack) else bar.median for bar in row if bar]
            for label, row in self.rows.items()
        }


@dataclass(frozen=True, slots=True)
class Bars:
    """Horizontal bars or marks with their ranges, in one panel or several."""

    panels: Sequence[Panel]
    faint: str = ""  # what the faint bars are, and the others; empty without faint ones
    strong: str = ""
    parts: Mapping[str, Colour] = field(default_factory=dict)  # in the order of bars and key


@dataclass(frozen=True, slots=True)
class LinePoint:
    """A point of a line: its place, its trials, and whether the server was the limit."""

    x: float
    y: Spread
    hollow: bool = False


def calculated(x: float, value: float) -> LinePoint:
    """A point that no trial is behind."""
    return LinePoint(x, Spread(value, value, value, 0))


Line = Sequence[LinePoint]
"""From left to right."""


@dataclass(frozen=True, slots=True)
class Axis:
    """``linear`` begins at 0; ``values`` too, unless they differ too much; ``ratios`` have a 1.

    ``nines`` is the axis of HdrHistogram plots: log10 of 1/(1 - p), 2 for a 99th percentile.
    """

    label: str
    scale: Literal["linear", "values", "counts", "times", "ratios", "nines", "shares"] = "linear"
    words: Callable[[float], str] = number


@dataclass(frozen=True, slots=True)
class Plot:
    """One panel of lines, by label."""

    lines: Mapping[str, Line]
    x: Axis
    y: Axis
    title: str = ""
    dotted: Mapping[str, Line] = field(default_factory=dict)  # thin, without ranges
    dashed: Mapping[str, Line] = field(default_factory=dict)  # calculated; dashed beyond the last
    hairs: Mapping[str, Sequence[Line]] = field(default_factory=dict)  # a hairline for each block
    marks: Mapping[str, LinePoint] = field(default_factory=dict)  # in place of one mark per point
    shade: tuple[float | None, float] | None = None  # from where to where, None: the left end
    beyond: tuple[float, str] | None = None  # from where on there is no value, and why

    @property
    def spreads(self) -> list[Spread]:
        return [point.y for line in self.lines.values() for point in line]


@dataclass(frozen=True, slots=True)
class Lines:
    """Lines in one panel, named at their ends, or in several, with a key.

    Several panels fill rows of as many ``columns``; a row of ratios has one scale.
    """

    plots: Sequence[Plot]
    columns: int = 1
    ranges: Literal["bars", "shades"] = "bars"
    told: bool = False  # names at the ends of lines have the last value with them

    @property
    def points(self) -> Iterator[LinePoint]:
        for plot in self.plots:
            for line in plot.lines.values():
                yield from line


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure and its ratio to that of the baseline."""

    spread: Spread | None
    ratio: Ratio | None = None
    words: str = ""  # in place of the figure


@dataclass(frozen=True, slots=True)
class Forest:
    """Each label with the one thing it changes, if any, and what that does to each quantity."""

    columns: Mapping[str, Unit]  # title of a quantity -> how its values are written
    changes: Mapping[str, str]
    rows: Mapping[str, Sequence[Estimate]]
    at: float | None = None  # what the figures are compared with


@dataclass(frozen=True, slots=True)
class Dot:
    """A value with its interval; one without a value keeps its place."""

    label: str
    value: float | None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class DotGroup:
    """Dots side by side."""

    name: str
    dots: Sequence[Dot]


@dataclass(frozen=True, slots=True)
class DotPanel:
    """Groups of dots; ``ratios`` lie around 1, and the axis of others begins at 0."""

    title: str
    groups: Sequence[DotGroup]
    ticks: Callable[[float], str]
    ratios: bool = False


@dataclass(frozen=True, slots=True)
class Dots:
    """Panels of dots in so many columns; ``breaks`` are groups after which nothing compares."""

    panels: Sequence[DotPanel]
    columns: int = 1
    key: Sequence[str] = ()
    breaks: Sequence[int] = ()


@dataclass(frozen=True, slots=True)
class Cloud:
    """Samples as dots, by label, and a line through them: its height at 0 and its slope."""

    x: Axis
    y: Axis
    dots: Mapping[str, Sequence[tuple[float, float]]]
    line: tuple[float, float]


Data = Bars | Cloud | Dots | Forest | Lines


@dataclass(frozen=True, slots=True)
class Figure:
    """A chart's words and its data."""

    name: str
    title: str  # names what is drawn
    headline: str | None  # what it shows in one sentence, if it shows anything
    subtitle: str  # defines the quantity
    data: Data
    notes: tuple[str, ...] = ()
    told: str = ""  # in words, where :mod:`bench.show.alt` does not find the best

    @property
    def hollow(self) -> bool:
        """Whether the server limited any of its points."""
        return isinstance(self.data, Lines) and any(point.hollow for point in self.data.points)
