"""A measurement as a value: label by label, measure by measure, block by block.

A question fills it; table, alt text and chart are made from it here, so each number is
written once. Two labels are compared within blocks, and the verdict is that of
:func:`bench.analysis.stats.ratio`, as everywhere. There are no A/A pairs here, so no floor either:
what a metric has pairs of is compared by its family (:mod:`bench.analysis.stats.comparisons`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from bench.analysis import stats
from bench.analysis.stats import Blocks, Comparison, Metric, Spread
from bench.schema import TrialRecord
from bench.show import cells
from bench.show.figures import Panel, Unit
from bench.show.table import Column, Table, name
from bench.text import (
    KIB,
    capital,
    count,
    duration,
    duration_tick,
    listing,
    number,
    significant,
    size_words,
    times,
)

Value = Callable[[TrialRecord], float | None]
"""A number of one trial; None where it has none."""


def median_response(trial: TrialRecord) -> float | None:
    return trial.response_time.p50_ms if trial.response_time else None


def by_label(
    trials: Iterable[TrialRecord], labels: Iterable[str], values: Mapping[str, Value]
) -> dict[str, Mapping[str, Blocks]]:
    """Label -> measure -> block -> number, as far as the trials have them; no empty rows."""
    rows: dict[str, dict[str, dict[int, float]]] = {label: {} for label in labels}
    for trial in trials:
        for key, value in values.items() if trial.label in rows else ():
            if (number := value(trial)) is not None:
                rows[trial.label].setdefault(key, {})[trial.block] = number
    return {label: row for label, row in rows.items() if row}


def within(first: Blocks, second: Blocks, how: Callable[[float, float], float]) -> Blocks:
    """Two values compared block by block, in the blocks that have both."""
    return {
        block: how(first[block], second[block]) for block in sorted(first.keys() & second.keys())
    }


US: Final = Unit("µs", lambda us: duration(us / 1000, 3), lambda us: duration_tick(us / 1000))
MS: Final = Unit("ms", duration, duration_tick)
WAIT: Final = replace(MS, average="median")
"""Response times, and other waits that one stall makes ten times as long."""
TIMES: Final = Unit("×", times, number)
KIB_EACH: Final = Unit("KiB", lambda kib: f"{significant(kib, 2)} KiB", number)
KIB_OR_MORE: Final = Unit("KiB", lambda kib: size_words(kib * KIB), number)
RATE: Final = Unit("pages/s", count, count)


@dataclass(frozen=True, slots=True)
class Measure:
    """One quantity: the head of its column, what it is on a card, and its unit."""

    title: str
    what: str
    unit: Unit


@dataclass(frozen=True)
class Measured:
    """What a question measured. Labels are in the campaign's order."""

    measures: Mapping[str, Measure]
    values: Mapping[str, Mapping[str, Blocks]]  # label -> measure -> block -> value
    asleep: frozenset[str] = frozenset()  # labels whose server slept, where that of others polled
    slopes: Mapping[tuple[str, str], Spread | None] = field(default_factory=dict)
    """Label and measure -> a number that no block has, with its interval."""

    def spread(self, label: str, key: str) -> Spread | None:
        """Average and range over blocks; None where it was not measured."""
        if (label, key) in self.slopes:
            return self.slopes[label, key]
        blocks = self.values.get(label, {}).get(key, {})
        return stats.spread(blocks.values(), self.measures[key].unit.average) if blocks else None

    def value(self, label: str, key: str) -> float:
        """The average over blocks; raises KeyError where it was not measured."""
        spread = self.spread(label, key)
        if spread is None:
            raise KeyError(f"{key} of {label}")
        return spread.value

    def with_(self, key: str, among: Iterable[str]) -> list[str]:
        """The labels among these that have a measure, the highest first."""
        here = [label for label in among if self.spread(label, key)]
        return sorted(here, key=lambda label: -self.value(label, key))

    def blocks(self, keys: Iterable[str] = ()) -> list[int]:
        """How many blocks stand behind each of the values."""
        return [
            spread.count
            for label in self.values
            for key in keys or self.measures
            if (spread := self.spread(label, key))
        ]

    def average(self, keys: Iterable[str] = ()) -> str:
        """What stands for all blocks of these measures: ``geometric mean``."""
        kinds = {self.measures[key].unit.average for key in keys or self.measures}
        return kinds.pop() if len(kinds) == 1 else "geometric mean (of waits and counts the median)"

    def compared(self, key: str, pairs: Iterable[tuple[str, str]]) -> list[Comparison]:
        """Each base and label whose server did the same for both, corrected together."""
        measure = self.measures[key]
        symbol, average = measure.unit.symbol, measure.unit.average
        metric = Metric(key, measure.what, symbol, "more", "less", average=average)
        comparisons = []
        for base, label in pairs:
            if (base in self.asleep) == (label in self.asleep):
                sides = self.values[base][key], self.values[label][key]
                judged = stats.ratio(*sides, metric=metric)
                comparisons.append(Comparison("", key, metric, base, label, judged, False, sides))
        return stats.corrected(comparisons)

    def only(self, labels: Iterable[str]) -> Measured:
        """The same of some labels, in their order."""
        return replace(self, values={label: self.values[label] for label in labels})

    def table(self, caption: str, about: str, further: str = "", *, over: str = "blocks") -> Table:
        """Averages and ranges; ``about`` ends with what stands behind a cell, ``over`` what.

        A cell says that it is of one trial only where not all of them are.
        """
        alone = set(self.blocks()) == {1}
        heads = [f"{measure.title}, {measure.unit.symbol}" for measure in self.measures.values()]
        rows = [
            [label, *(_cell(self.spread(label, key), alone=alone) for key in self.measures)]
            for label in self.values
        ]
        average = capital(self.average())
        behind = "One trial each" if alone else f"{average} of the {over}, and their range"
        about = f"{about} {behind}{further}."
        notes = self.notes
        return Table(caption, [name("backend"), *map(Column, heads)], rows, about, notes)

    @property
    def notes(self) -> list[str]:
        """What a table or chart has to say of labels that are not compared with the others."""
        slept = [label for label in self.values if label in self.asleep]
        return [f"The server slept for {listing(slept)}, and polled for the others."] * bool(slept)

    def panel(self, axis: str, *keys: str, hollow: Collection[str] = ()) -> Panel:
        """Bars of one measure, or of two, the first of them faint."""
        rows = {label: [self.spread(label, key) for key in keys] for label in self.values}
        samples = {
            label: [[*row.get(key, {}).values()] for key in keys]
            for label, row in self.values.items()
        }
        return Panel(axis, rows, self.measures[keys[0]].unit, hollow, samples=samples)


def _cell(values: Spread | None, *, alone: bool) -> str:
    return cells.figure(values.value) if values and alone else cells.spread(values)
