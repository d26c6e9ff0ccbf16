"""Where threads stop being fine: threads against async_await and callbacks, by slots and delay.

The points are those of ``crossover`` and of the workloads that cover other cells: ``throughput``
without delay, ``waiting`` and ``regime`` behind one. At each of them threads, with Python's switch
interval and with a long one, are compared with async_await and with callbacks in the same
blocks, by pages per second and by p99. Threads stop being fine where the interval of their
pages per second over those of async_await excludes 1 from below, there and at all more slots that
were measured.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

from bench.analysis import stats
from bench.analysis.stats import Comparison, Ratio
from bench.analysis.stats.ratios import MARGINS
from bench.analysis.wording import change, interval
from bench.plan.cast import BASE
from bench.plan.workloads import SWITCHING
from bench.schema import TrialRecord
from bench.store import Records
from bench.text import count, duration_tick, listing, plural

WORKLOAD: Final = "crossover"
WORKLOADS: Final = ("throughput", "waiting", "regime", WORKLOAD)
RATE: Final = replace(stats.PAGES_PER_S, workloads=WORKLOADS)
P99: Final = replace(stats.SERVICE_P99, workloads=WORKLOADS)
AGAINST: Final = "async_await"
COMPARED: Final = (*SWITCHING, AGAINST)
DEFAULT, LONG = SWITCHING
COMMAND: Final = "python -m bench run --profile full --only throughput,waiting,regime,crossover"
SHORTEST_MS: Final = 10.0
"""Shorter delays than this, except none, say nothing about where threads cross."""


def delay_ms(trial: TrialRecord) -> float:
    """The delay in milliseconds; the median where it is random."""
    _, _, numbers = str(trial.params.get("delay") or "none").partition(":")
    return float(numbers.partition(":")[0] or 0)


@dataclass(frozen=True, slots=True)
class Cell:
    """One label at one number of slots behind one delay.

    ``rate`` and ``p99`` are ratios to callbacks, ``against`` that of pages per second to
    async_await; each None where it was not measured there.
    """

    label: str
    point: str
    slots: int
    delay_ms: float
    rate: Ratio | None
    p99: Ratio | None
    against: Comparison | None


@dataclass(frozen=True, slots=True)
class Crossing:
    """Where a label falls below async_await behind one delay.

    ``above`` is the largest number of slots at which it is not shown to be slower, ``below``
    the smallest from which on it always is; None where there is none. ``at`` is where the
    line between the two ratios meets 1, ``low`` and ``high`` where their intervals do.
    """

    label: str
    delay_ms: float
    above: int | None
    below: int | None
    most: int  # slots that were measured
    at: float | None = None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Crossover:
    """All cells, and for each delay and kind of threads where they cross."""

    cells: Sequence[Cell]
    crossings: Sequence[Crossing]

    @property
    def delays(self) -> list[float]:
        """The delays in milliseconds, 0 first."""
        return sorted({cell.delay_ms for cell in self.cells})


def crossover(records: Records) -> Crossover | None:
    """The cells of a campaign; None without a point of ``crossover``, as in older campaigns."""
    if not stats.trials_of(records, WORKLOAD):
        return None
    trials = stats.trials_of(records, *WORKLOADS, twins=False)
    sample = {t.point: t for t in trials if not 0 < delay_ms(t) < SHORTEST_MS}
    points = [point for point in stats.points_of(records, *WORKLOADS) if point in sample]
    against = {
        (c.point, c.label): c
        for c in stats.compare_pairs(
            records, [(point, AGAINST, name) for point in points for name in SWITCHING], RATE
        )
    }
    if not against:
        return None
    rates, tails = (
        {
            (c.point, c.label): c.ratio
            for c in stats.compare_pairs(
                records, [(point, BASE, name) for point in points for name in COMPARED], metric
            )
        }
        for metric in (RATE, P99)
    )
    cells = [
        _cell(sample[point], name, rates, tails, against.get((point, name)))
        for point in points
        for name in COMPARED
        if (point, name) in rates or (point, name) in against
    ]
    cells.sort(key=lambda cell: (cell.delay_ms, cell.slots, COMPARED.index(cell.label)))
    found = (
        crossing([c for c in cells if (c.label, c.delay_ms) == (name, delay)])
        for delay in sorted({cell.delay_ms for cell in cells})
        for name in SWITCHING
    )
    return Crossover(cells, [each for each in found if each])


def _cell(
    sample: TrialRecord,
    label: str,
    rates: dict[tuple[str, str], Ratio],
    tails: dict[tuple[str, str], Ratio],
    against: Comparison | None,
) -> Cell:
    key = sample.point, label
    slots = int(stats.number_param(sample, "slots") or 0)
    delay = delay_ms(sample)
    return Cell(label, sample.point, slots, delay, rates.get(key), tails.get(key), against)


def crossing(cells: Sequence[Cell]) -> Crossing | None:
    """Where one label crosses, from its cells behind one delay by slots; None without any."""
    judged = [
        (cell.slots, cell.against.ratio)
        for cell in cells
        if cell.against is not None and cell.against.ratio.low is not None
    ]
    if not judged:
        return None
    # From the right: everything that is slower up to the first that is not.
    place = len(judged)
    while place and slower(judged[place - 1][1]):
        place -= 1
    above = judged[place - 1][0] if place else None
    below = judged[place][0] if place < len(judged) else None
    bare = Crossing(cells[0].label, cells[0].delay_ms, above, below, judged[-1][0])
    if above is None or below is None:
        return bare
    left, right = judged[place - 1], judged[place]

    def meets(end: Callable[[Ratio], float | None]) -> float | None:
        return _meets((left[0], end(left[1])), (right[0], end(right[1])))

    return replace(
        bare,
        at=meets(lambda ratio: ratio.value),
        # Where the lower ends meet 1 is the first number at which it may cross.
        low=meets(lambda ratio: ratio.low),
        high=meets(lambda ratio: ratio.high),
    )


def slower(ratio: Ratio) -> bool:
    """Whether fewer pages per second are shown, and not only within ±2 %.

    Behind a delay that sets the rate, a difference of half a percent can be shown.
    """
    if not ratio.shown or ratio.value is None or ratio.low is None:
        return False
    return ratio.value < 1 and ratio.low < 1 / (1 + MARGINS[0])


def _meets(left: tuple[int, float | None], right: tuple[int, float | None]) -> float:
    """Where a line between two ratios meets 1, both axes logarithmic, within the two."""
    (x, start), (end, stop) = left, right
    if not start or not stop or start <= 1:
        return float(x)
    if stop >= 1:
        return float(end)
    share = math.log(start) / (math.log(start) - math.log(stop))
    return math.exp(math.log(x) + share * (math.log(end) - math.log(x)))


def behind(delay: float) -> str:
    """``without delay``, ``behind 10 ms``, ``behind 1 s``."""
    return f"behind {duration_tick(delay)}" if delay else "without delay"


def said(found: Crossing) -> str:
    """From where on one label is slower, as ``from 1,000 slots on (not at 100; ...)``."""
    text = f"from {count(found.below or found.most)} slots on"
    if found.above is None:
        return f"{text}, the fewest that were measured"
    return f"{text} (not at {count(found.above)}{_interpolated(found)})"


def _interpolated(found: Crossing) -> str:
    """Where it crosses, rounded; without an interval that is a point, or a place measured.

    The line is cut off at both ends: a label that is below 1 at the last number where it is not
    shown to be slower may cross anywhere before it.
    """
    if not (found.at and found.low and found.high):
        return ""
    low, at, high = (_round(value) for value in (found.low, found.at, found.high))
    if low == high and at in (found.above, found.below):
        return ""
    within = f", {count(low)} to {count(high)}" if low < high else ""
    return f"; interpolated, they cross at about {count(at)} slots{within}"


def _round(value: float) -> int:
    """Two significant digits."""
    return round(float(f"{value:.2g}"))


def finding(found: Crossover | None) -> str | None:
    """Where threads cross behind each delay, by default and with the long interval; the cause."""
    if found is None or head(found) is None:
        return None
    mine = [each for each in found.crossings if each.label == DEFAULT]
    places = [f"{behind(each.delay_ms)} {said(each)}" for each in mine if each.below]
    text = [f"**{head(found)}.**", f"Shown {'; '.join(places)}."]
    if level := [each for each in mine if not each.below]:
        where = listing([behind(each.delay_ms) for each in level])
        most = listing([count(n) for n in sorted({each.most for each in level})])
        text.append(f"Not shown {where}, with up to {most} slots.")
    if long := _long(found):
        text.append(long)
    text.append(
        "Cause: every thread that is ready competes for one lock, and one that has waited for it "
        "for the switch interval, 5 ms by default, makes its holder give it up in the middle of "
        f"its work. Measure it: `{COMMAND}`."
    )
    return " ".join(text)


def head(found: Crossover) -> str | None:
    """From how many slots on, and behind which delays, the fewest slots first; None if nowhere."""
    where: dict[int, list[str]] = {}
    for each in found.crossings:
        if each.label == DEFAULT and each.below:
            where.setdefault(each.below, []).append(behind(each.delay_ms))
    if not where:
        return None
    parts = [f"from {count(n)} slots on {listing(delays)}" for n, delays in sorted(where.items())]
    return f"Threads fetch fewer pages per second than async/await {'; '.join(parts)}"


def _long(found: Crossover) -> str | None:
    """Both switch intervals where threads are slower by default, each against async_await."""
    pairs = []
    for one, other in pairwise(found.cells):
        if (one.label, other.label) == (DEFAULT, LONG) and one.point == other.point:
            pairs.append((one.against, other.against))
    told = [
        f"at {_where(found, default)} {_much(default)} by default and {_much(long)} with it"
        for default, long in pairs
        if default and long and slower(default.ratio) and long.ratio.low is not None
    ]
    if not told:
        return None
    return f"With a switch interval of 1 s, pages per second against async/await: {listing(told)}."


def _where(found: Crossover, compared: Comparison) -> str:
    cell = next(cell for cell in found.cells if cell.point == compared.point)
    return f"{plural(cell.slots, 'slot')} {behind(cell.delay_ms)}"


def _much(compared: Comparison) -> str:
    if not compared.ratio.shown or compared.ratio.value is None:
        return "no difference is shown"
    return f"{change(compared.ratio.value, 'fewer')} ({interval(compared)})"
