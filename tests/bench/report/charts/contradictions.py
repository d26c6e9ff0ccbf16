"""Whether a title says what its picture shows.

The first who divides two numbers of a slide must get the number in its title. So whom a title names
is drawn, a value in it is one that is drawn, and a ratio is that of two drawn values, each to two
digits.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from itertools import permutations
from typing import Final

from bench.analysis.wording import prose
from bench.plan.participants import Label
from bench.show.figures import Bars, FigureData, Lines
from bench.show.pictures import SCALES, labels_of, names_in
from bench.text import GIB, KIB, MIB

UNITS: Final = {
    **{"µs": 1e-6, "ms": 1e-3, "s": 1.0, "pages/s": 1.0},
    **{"KiB": KIB, "MiB": MIB, "GiB": GIB},
}
VALUE: Final = re.compile(rf"(\d[\d,]*\.?\d*)\s({'|'.join(UNITS)})(?![\w/])")
SETTING: Final = re.compile(r"\b(?:delay|interval) of [\d.,]+ \w+|[\d.,]+ \w+ of work")
"""What was chosen and not measured."""
TIMES: Final = re.compile(r"(\d[\d.]*) times as")
CHANGE: Final = re.compile(r"(\d[\d.]*) % (more|fewer|less)")


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
            points = {(point.x, point.y.median) for line in lines for point in line}
            yield [_read(words(value), value) for _, value in points]
            yield [x for x, _ in points]
