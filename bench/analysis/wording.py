"""Backends and ratios in sentences: "threads fetch", "35 % fewer"."""

from __future__ import annotations

from typing import Final

from bench.analysis.stats import Comparison
from bench.text import times
from crawlers.registry import MODELS

#: Names that take a plural verb.
PLURALS: Final = frozenset(MODELS) - {"async_await"}
#: From this ratio up, people say "twice as much" and not "100 % more".
TIMES_FROM: Final = 1.995


def prose(label: str) -> str:
    """The name of a backend in a sentence: "async/await" for ``async_await``."""
    return label.replace("async_await", "async/await")


def says(label: str, verb: str) -> str:
    """A backend with its verb: "threads fetch", "async/await fetches"."""
    if label in PLURALS:
        return f"{prose(label)} {verb}"
    return f"{prose(label)} {verb}{'es' if verb.endswith('ch') else 's'}"


def change(ratio: float, less: str = "less") -> str:
    """A ratio as a change: "35 % fewer", "52 % more", "3.3 times as much".

    ``less`` is "fewer" for what can be counted, which makes it "times as many".
    """
    if ratio >= TIMES_FROM:
        return f"{times(ratio)} times as {'many' if less == 'fewer' else 'much'}"
    if ratio < 1:
        return f"{percent(ratio)} % {less}"
    return f"{percent(ratio)} % more"


def against(ratio: float, less: str, what: str, base: str) -> str:
    """A ratio to a base: "35 % fewer pages than callbacks", "2.4 times as many pages as …"."""
    than = "as" if ratio >= TIMES_FROM else "than"
    return f"{change(ratio, less)} {what} {than} {base}"


def interval(found: Comparison) -> str:
    """The interval that goes with :func:`change`: "14 to 51 %", "2.9 to 3.8"; "" without one."""
    ratio = found.ratio
    if ratio.value is None or ratio.low is None or ratio.high is None:
        return ""
    return between(ratio.value, ratio.low, ratio.high)


def between(value: float, low: float, high: float) -> str:
    """The interval of a ratio in the form of :func:`change`."""
    if value >= TIMES_FROM:
        return f"{times(low)} to {times(high)}"
    near, far = sorted((low, high), key=lambda end: abs(end - 1))
    return f"{percent(near)} to {percent(far)} %"


def percent(ratio: float) -> str:
    """How far a ratio is from 1 in percent: "35" for 0.65, "52" for 1.52, "0.4" for 1.004."""
    value = 100 * abs(ratio - 1)
    return f"{value:.0f}" if value >= 0.95 else f"{value:.1f}"
