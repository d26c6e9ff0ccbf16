"""Figures as data: what a chart shows, without a line of drawing (:mod:`bench.report.charts`)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from bench.analysis.stats import Average, Spread
from bench.text import number


@dataclass(frozen=True, slots=True)
class Unit:
    """How values are written: in the head of a column, in a sentence, and on an axis."""

    symbol: str
    words: Callable[[float], str]
    ticks: Callable[[float], str]
    average: Average = "geometric mean"  # what stands for all blocks


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
    def value(self) -> float:
        """Where it ends."""
        return sum(self.parts.values())

    def __bool__(self) -> bool:
        return bool(self.parts)


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
    samples: Mapping[str, Sequence[Sequence[float]]] = field(default_factory=dict)  # of each bar

    @property
    def paired(self) -> bool:
        """Whether a label has two bars."""
        return any(len(row) > 1 for row in self.rows.values())

    @property
    def values(self) -> dict[str, list[float]]:
        """What is drawn for each label: averages, and sums of parts."""
        return {label: [bar.value for bar in row if bar] for label, row in self.rows.items()}


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


def line(points: Iterable[tuple[float, Spread | None]]) -> Line:
    """The places that have a value, as a line."""
    return [LinePoint(x, spread) for x, spread in points if spread]


def calculated(x: float, value: float) -> LinePoint:
    """A point that no trial is behind."""
    return LinePoint(x, Spread(value, value, value, 0))


Line = Sequence[LinePoint]
"""From left to right."""


@dataclass(frozen=True, slots=True)
class Axis:
    """``linear`` begins at 0; ``values`` too, unless they differ too much; ``ratios`` have a 1.

    ``nines`` is the axis of HdrHistogram plots: log10 of 1/(1 - p), 2 for a 99th percentile. On
    ``names`` whole numbers are places of things that no line connects, each named by ``words``.
    """

    label: str
    scale: Literal["linear", "values", "counts", "times", "ratios", "nines", "shares", "names"] = (
        "linear"
    )
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
    clouds: Mapping[str, Sequence[tuple[float, float]]] = field(default_factory=dict)  # samples
    marks: Mapping[str, LinePoint] = field(default_factory=dict)  # in place of one mark per point
    shade: tuple[float | None, float] | None = None  # from where to where, None: the left end
    beyond: tuple[float, str] | None = None  # from where on there is no value, and why

    @property
    def spreads(self) -> list[Spread]:
        return [point.y for line in self.lines.values() for point in line]


@dataclass(frozen=True, slots=True)
class Lines:
    """Lines in one panel, named at their ends, or in several, with a key.

    Several panels fill rows of as many ``columns``; in a row equal axes have one scale.
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


FigureData = Bars | Lines


@dataclass(frozen=True, slots=True)
class Figure:
    """A chart's words and its data."""

    name: str
    title: str  # names what is drawn
    subtitle: str  # defines the quantity
    data: FigureData
    headline: str | None = None  # what it shows in one sentence, if it shows anything
    notes: tuple[str, ...] = ()
    footer: tuple[str, ...] = ()  # where its numbers come from, if not from the campaign

    @property
    def heading(self) -> str:
        """The headline, or the title where there is none."""
        return self.headline or self.title

    @property
    def hollow(self) -> bool:
        """Whether the server limited any of its points."""
        return isinstance(self.data, Lines) and any(point.hollow for point in self.data.points)
