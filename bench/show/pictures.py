"""What a picture shows in words: every label with its values, panel by panel."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from bench.analysis.stats import Spread
from bench.analysis.wording import prose
from bench.show.figures import Axis, Bar, Bars, FigureData, Line, Lines, Plot, Stack, Unit
from bench.show.words import is_stack
from bench.text import count, duration
from crawlers.catalogue import OURS
from crawlers.registry import MODELS

MOST: Final = 8
"""Labels of a kind that are named, and points of a line: a longer list says less."""

SCALES: Final[dict[str, Callable[[float], str]]] = {
    **{"times": duration, "counts": count, "shares": "{:.0%}".format},
    **{"ratios": "{:.2f}".format, "nines": lambda nines: f"p{100 - 100 * 10**-nines:.3g}"},
}


def alt(title: str, data: FigureData) -> str:
    """``Bar chart: title. axis: threads 3 µs; callbacks 1 µs. Variants: …``."""
    panels = [(of, words) for of, words in _panels(data) if words]
    kind = "Line chart"
    if isinstance(data, Bars):
        kind = "Stacked bar chart" if data.parts else "Bar chart"
    return ". ".join([f"{kind}: {title}", *(_grouped(*panel) for panel in panels)]) + "."


def labels_of(data: FigureData) -> set[str]:
    """Every label that is drawn with a value."""
    return {label for _, words in _panels(data) for label, text in words.items() if text}


def _grouped(of: str, words: Mapping[str, str]) -> str:
    """Models first, whole HTTP stacks apart."""
    groups = {
        of: [label for label in words if label in MODELS],
        "Variants": [x for x in words if x not in MODELS and not is_stack(x)],
        "HTTP stacks": [label for label in words if is_stack(label)],
    }
    parts = [
        (head, "; ".join(f"{label} {words[label]}" for label in labels[:MOST]))
        for head, labels in groups.items()
        if labels or head == of
    ]
    return ". ".join(": ".join(filter(None, part)) for part in parts if any(part))


def _panels(data: FigureData) -> Iterator[tuple[str, dict[str, str]]]:
    match data:
        case Bars():
            both = f" ({data.faint}, then {data.strong})" if data.faint else ""
            for panel in data.panels:
                yield (
                    panel.axis + both * any(len(row) > 1 for row in panel.rows.values()),
                    {
                        label: panel.said.get(label) or _bars(row, panel.unit)
                        for label, row in panel.rows.items()
                    },
                )
        case Lines():
            for plot in data.plots:
                of = " ".join(filter(None, [plot.title, plot.y.label and f"({plot.y.label})"]))
                yield of, {x: _line(plot, x, line) for x, line in plot.lines.items()}


def _bars(row: Sequence[Bar], unit: Unit) -> str:
    values = [
        _stack(bar, unit) if isinstance(bar, Stack) else unit.words(bar.median)
        for bar in row
        if bar
    ]
    return (", then " if any(isinstance(bar, Stack) for bar in row) else ", ").join(values)


def _stack(stack: Stack, unit: Unit) -> str:
    parts = [
        f"{part} {unit.words(value)}{' calculated' * (part in stack.hatched)}"
        for part, value in stack.parts.items()
        if value > stack.median / 100
    ]
    name = f"{stack.name} " if stack.name else ""
    return f"{name}{unit.words(stack.median)} ({', '.join(parts)})"


def _line(plot: Plot, label: str, line: Line) -> str:
    if label in plot.marks:
        line = [plot.marks[label]]
    points = line if len(line) <= MOST else line[-1:]
    values = [f"{_on(plot.y, p.y.median)} at {_on(plot.x, p.x)}" for p in points]
    if label in plot.dashed:
        end = plot.dashed[label][-1]
        values.append(f"{_on(plot.y, end.y.median)} at {_on(plot.x, end.x)} if it goes on")
    return ", ".join(values)


def _on(axis: Axis, value: float) -> str:
    return SCALES.get(axis.scale, axis.words)(value)


NAMES: Final = re.compile(
    "|".join(
        rf"(?<![\w/]){re.escape(name)}(?![\w/])"
        for name in sorted(map(prose, OURS), key=len, reverse=True)
    ),
    re.IGNORECASE,
)
"""Every backend, as a sentence names it."""


def names_in(text: str) -> set[str]:
    return {name.lower() for name in NAMES.findall(text)}


def says_something(data: FigureData) -> bool:
    """Whether there are two values to compare, or a ratio."""
    if isinstance(data, Lines):
        return len([*data.points]) > 1
    ratios = any(panel.around is not None or panel.unit.symbol == "×" for panel in data.panels)
    return ratios or any(sum(map(len, panel.values.values())) > 1 for panel in data.panels)


def alone(data: FigureData) -> bool:
    """Whether a mark or bar stands for a single trial."""
    return any(spread.count == 1 for spread in _spreads(data))


def ranged(data: FigureData) -> bool:
    """Whether a mark or bar stands for several trials, so that it has a range."""
    return any(spread.count > 1 for spread in _spreads(data))


def ticked(data: FigureData) -> bool:
    """Whether what each block found is drawn behind an interval."""
    panels = data.panels if isinstance(data, Bars) else ()
    rows = (panel.samples.get(label, ()) for panel in panels for label in panel.rows)
    return any(len(blocks) > 1 for row in rows for blocks in row)


def _spreads(data: FigureData) -> Iterator[Spread]:
    if isinstance(data, Bars):
        rows = (row for panel in data.panels for row in panel.rows.values())
        yield from (bar for row in rows for bar in row if isinstance(bar, Spread))
    else:
        yield from (point.y for plot in data.plots if not plot.marks for point in data.points)
