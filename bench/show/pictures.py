"""What a picture shows in words, and whether its title says that.

For those who cannot see it there is every label with its values, panel by panel. And a title
follows from its picture: the first who divides two numbers of a slide must get the number in its
title. So whom a title names is drawn, a value in it is one that is drawn, and a ratio is that of
two drawn values, each to two digits. A title that breaks a rule is not used.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import permutations
from typing import Final

from bench.analysis.stats import Spread
from bench.plan.participants import Label
from bench.show.figures import Axis, Bar, Bars, FigureData, Line, Lines, Plot, Stack, Unit
from bench.show.words import is_stack, prose
from bench.text import GIB, KIB, MIB, count, duration, in_percent
from crawlers.catalogue import OURS
from crawlers.registry import MODELS

MOST: Final = 8
"""Labels of a kind that are named, and points of a line: a longer list says less."""

SCALES: Final[dict[str, Callable[[float], str]]] = {
    **{"times": duration, "counts": count, "shares": in_percent},
    **{"ratios": "{:.2f}".format, "nines": lambda nines: f"p{100 - 100 * 10**-nines:.3g}"},
}


def alt(title: str, data: FigureData) -> str:
    """``Bar chart: title. axis: threads 3 µs; callbacks 1 µs. Variants: …``."""
    every = ((of, {x: text for x, text in words.items() if text}) for of, words in _panels(data))
    panels = [(of, words) for of, words in every if words]
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
                    panel.axis + both * panel.paired,
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
        _stack(bar, unit) if isinstance(bar, Stack) else unit.words(bar.value) for bar in row if bar
    ]
    return (", then " if any(isinstance(bar, Stack) for bar in row) else ", ").join(values)


def _stack(stack: Stack, unit: Unit) -> str:
    parts = [
        f"{part} {unit.words(value)}{' calculated' * (part in stack.hatched)}"
        for part, value in stack.parts.items()
        if value > stack.value / 100
    ]
    name = f"{stack.name} " if stack.name else ""
    listed = f" ({', '.join(parts)})" if parts else ""
    return f"{name}{unit.words(stack.value)}{listed}"


def _line(plot: Plot, label: str, line: Line) -> str:
    if label in plot.marks:
        line = [plot.marks[label]]
    points = line if len(line) <= MOST else line[-1:]
    values = [f"{_on(plot.y, p.y.value)} at {_on(plot.x, p.x)}" for p in points]
    if label in plot.dashed and (end := plot.dashed[label][-1]).x > line[-1].x:
        values.append(f"{_on(plot.y, end.y.value)} at {_on(plot.x, end.x)} if it goes on")
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

UNITS: Final = {
    **{"µs": 1e-6, "ms": 1e-3, "s": 1.0, "pages/s": 1.0},
    **{"KiB": KIB, "MiB": MIB, "GiB": GIB},
}
VALUE: Final = re.compile(rf"(\d[\d,]*\.?\d*)\s({'|'.join(UNITS)})(?![\w/])")
SETTING: Final = re.compile(r"\b(?:delay|interval) of [\d.,]+ \w+|[\d.,]+ \w+ of work")
"""What was chosen and not measured."""
TIMES: Final = re.compile(r"(\d[\d.]*) times as")
CHANGE: Final = re.compile(r"(\d[\d.]*) % (more|fewer|less)")


def names_in(text: str) -> set[str]:
    return {name.lower() for name in NAMES.findall(text)}


def contradiction(title: str, data: FigureData, about: str = "") -> str | None:
    """What a title says that its picture does not show; None where they agree.

    What everything is drawn relative to may be named by its axes, or by ``about``.
    """
    drawn = {prose(Label.parse(label).name).lower() for label in labels_of(data)}
    shown = drawn | names_in(prose(" ".join([about, *_axes(data)])))
    if absent := names_in(title) - shown:
        return f"not drawn: {', '.join(sorted(absent))}"
    groups = [[*values] for values in _groups(data)]
    values = [value for group in groups for value in group]
    text = SETTING.sub("", title)
    for match in VALUE.finditer(text):
        half = _canonical(match) - _canonical(match, 0.5)  # of its last digit
        plain = float(match[1].replace(",", ""))  # where the axis alone has the unit
        if not any(_close(_canonical(match), v, half) or _close(plain, v) for v in values):
            return f"no value of {match[0]}"
    ratios = [float(match[1]) for match in TIMES.finditer(text)]
    ratios += [
        1 + float(match[1]) / 100 * (1 if match[2] == "more" else -1)
        for match in CHANGE.finditer(text)
    ]
    for ratio in ratios:
        pairs = (a / b for group in groups for a, b in permutations(group, 2) if b)
        if not any(_close(ratio, value) for value in (*values, *pairs)):
            return f"no two values with a ratio of {ratio:.2f}"
    return None


def says_something(data: FigureData) -> bool:
    """Whether there are two values to compare, or a ratio."""
    if isinstance(data, Bars) and any(
        panel.around is not None or panel.unit.symbol == "×" for panel in data.panels
    ):
        return True
    return any(len(group) > 1 for group in map(list, _groups(data)))


def alone(data: FigureData) -> bool:
    """Whether a mark or bar stands for a single trial."""
    return any(spread.count == 1 for spread in spreads(data))


def ranged(data: FigureData) -> bool:
    """Whether a mark or bar stands for several trials, so that it has a range."""
    return any(spread.count > 1 for spread in spreads(data))


def ticked(data: FigureData) -> bool:
    """Whether what each block found is drawn behind an interval."""
    panels = data.panels if isinstance(data, Bars) else ()
    rows = (panel.samples.get(label, ()) for panel in panels for label in panel.rows)
    return any(len(blocks) > 1 for row in rows for blocks in row)


def _close(said: float, drawn: float, half: float = 0.0) -> bool:
    """To two digits, or to the last one that is said."""
    near = math.isclose(said, drawn, rel_tol=0.02, abs_tol=1.01 * half)
    return near or f"{said:.2g}" == f"{drawn:.2g}"


def _canonical(match: re.Match[str], less: float = 0.0) -> float:
    """In seconds, bytes or pages/s; ``less`` units of the last digit are taken off."""
    digits = match[1].replace(",", "")
    last = 10.0 ** -len(digits.partition(".")[2])
    return (float(digits) - less * last) * UNITS[match[2]]


def _read(words: str, value: float) -> float:
    """A value as it is written, in seconds or bytes where it has such a unit."""
    match = VALUE.search(words)
    return _canonical(match) if match else value


def _axes(data: FigureData) -> Iterator[str]:
    if isinstance(data, Lines):
        for plot in data.plots:
            yield from (plot.x.label, plot.y.label, plot.title)


def _groups(data: FigureData) -> Iterator[Iterable[float]]:
    """The drawn values that a reader may divide, as they are written."""
    if isinstance(data, Bars):
        for panel in data.panels:
            every = [value for values in panel.values.values() for value in values]
            yield [_read(panel.unit.words(value), value) for value in every]
    else:
        for plot in data.plots:
            words = SCALES.get(plot.y.scale, plot.y.words)
            lines = [*plot.lines.values(), *plot.dotted.values(), *plot.dashed.values()]
            points = {(point.x, point.y.value) for line in lines for point in line}
            yield [_read(words(value), value) for _, value in points]
            yield [x for x, _ in points]


def spreads(data: FigureData) -> Iterator[Spread]:
    """What marks and bars without parts stand for."""
    if isinstance(data, Bars):
        rows = (row for panel in data.panels for row in panel.rows.values())
        yield from (bar for row in rows for bar in row if isinstance(bar, Spread))
    else:
        for plot in data.plots:
            marked = [[*plot.marks.values()]] if plot.marks else plot.lines.values()
            yield from (point.y for line in marked for point in line)
