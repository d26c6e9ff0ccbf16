"""Do turns measure what whole trials measure? The same crawls, by two methods.

A campaign repeats the crawl of a point in turns as whole trials, in the same blocks. Two
questions follow. Is a page as expensive in turns as in a whole trial? It need not be: turns
come to colder caches, and whole trials include connecting. And, which matters more: is the
ratio of two backends the same? It is answered block by block, by the ratio in turns over the
ratio in whole trials. The A/A twin is in the table as a control: its ratio is 1 by both.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

from bench.analysis import stats
from bench.analysis.ladder import STACK
from bench.analysis.stats import EQUIVALENT, Comparison, Metric, Ratio
from bench.analysis.wording import interval, percent, prose
from bench.schema import TrialRecord
from bench.store import Records
from bench.text import listing

METRICS: Final = (stats.CPU_PER_1000, stats.PAGES_PER_S)
WHOLE: Final = "whole"
"""The workload that repeats the crawl of ``throughput`` in whole trials."""

Blocks = Mapping[int, float]


@dataclass(frozen=True, slots=True)
class Reading:
    """A figure over blocks: geometric mean and 95 % interval, None with too few blocks."""

    value: float
    low: float | None
    high: float | None
    blocks: int


@dataclass(frozen=True, slots=True)
class Row:
    """One label by one metric, in turns and in whole trials.

    ``over`` is its figure in turns over that in whole trials. ``in_turns`` and ``in_whole``
    are its ratios to the base by each method, and ``agreement`` is the ratio in
    turns over the ratio in whole trials, None for the base itself.
    """

    label: str
    metric: Metric
    turns: Reading
    whole: Reading
    over: Ratio
    in_turns: Ratio | None
    in_whole: Ratio | None
    agreement: Ratio | None

    @property
    def control(self) -> bool:
        """Whether this is the A/A twin of a backend."""
        return "#" in self.label


@dataclass(frozen=True)
class Validity:
    """Turns against whole trials at one point."""

    point: str  # in turns
    repeated: str  # in whole trials
    base: str
    rows: tuple[Row, ...]
    stacks: frozenset[str]  # labels of whole HTTP stacks, which have sentences of their own

    def by(self, metric: Metric) -> list[Row]:
        """The rows of one metric."""
        return [row for row in self.rows if row.metric.name == metric.name]

    @cached_property
    def sentences(self) -> list[str]:
        """Where the two methods agree and where not, a sentence for each metric."""
        found = []
        for metric in METRICS:
            judged = [row for row in self.by(metric) if row.agreement and not row.control]
            for stacks in (False, True):
                rows = [row for row in judged if (row.label in self.stacks) == stacks]
                what = "of HTTP stacks" if stacks else f"against {prose(self.base)}"
                found.append(self._sentence(f"By {metric.title} {what}", rows))
        return [text for text in found if text]

    def _sentence(self, head: str, rows: Sequence[Row]) -> str | None:
        judged = [(row.label, row.agreement) for row in rows if row.agreement]
        agree: dict[float, list[str]] = defaultdict(list)
        differ: list[str] = []
        unsure: list[tuple[str, str]] = []
        for label, found in judged:
            if found.verdict == EQUIVALENT and found.margin is not None:
                agree[found.margin].append(prose(label))
            elif found.shown:
                more = "more" if (found.value or 1) > 1 else "less"
                size = percent(found.value or 1)
                differ.append(f"{prose(label)} ({size} % {more} in turns, {_interval(found)})")
            elif found.smallest is not None:
                unsure.append((prose(label), f"{100 * found.smallest:.0f}"))
        parts = [
            f"agree within ±{100 * margin:.0f} % on {listing(names)}"
            for margin, names in sorted(agree.items())
        ]
        if differ:
            parts.append(f"differ on {listing(differ)}")
        if unsure:
            names, sizes = zip(*unsure, strict=True)
            parts.append(
                f"leave {listing(names)} undecided (a difference below {listing(sizes)} % could "
                "not be seen)"
            )
        if not parts:
            return None
        return f"{head}, turns and whole trials {'; they '.join(parts)}."


def validity(records: Records) -> Validity | None:
    """Turns against whole trials; None where no crawl was measured by both."""
    everything = [*stats.trials_of(records), *stats.companions_of(records)]
    repeats = [t for t in everything if t.workload == WHOLE and t.turns is None]
    for repeated in stats.points_of(records, WHOLE):
        point = f"throughput-{repeated.rpartition('-')[2]}"
        taken = [t for t in everything if t.point == point and t.turns]
        rows = [
            row
            for metric in METRICS
            for row in _rows(
                records, metric, taken, [t for t in repeats if t.point == repeated], point
            )
        ]
        if rows:
            stacks = frozenset(r.name for r in records.campaign.rungs if r.family == STACK)
            return Validity(point, repeated, records.campaign.base, tuple(rows), stacks)
    return None


def _rows(
    records: Records,
    metric: Metric,
    taken: Sequence[TrialRecord],
    repeats: Sequence[TrialRecord],
    point: str,
) -> list[Row]:
    turns, whole = _values(taken, metric), _values(repeats, metric)
    base = records.campaign.base
    made: list[Row] = []
    for label in stats.labels_of(records, twins=True):
        if label not in turns or label not in whole:
            continue
        # Each method's pair is of trials whose servers did the same.
        in_turns, in_whole = (
            stats.Values(trials, metric).pair(trials[0].point, base, label)
            if label != base
            else None
            for trials in (taken, repeats)
        )
        made.append(
            Row(
                label,
                metric,
                reading(turns[label]),
                reading(whole[label]),
                stats.ratio(whole[label], turns[label], metric=metric),
                stats.ratio(*in_turns, metric=metric) if in_turns else None,
                stats.ratio(*in_whole, metric=metric) if in_whole else None,
                _agreement(in_turns, in_whole, metric) if in_turns and in_whole else None,
            )
        )
    return _corrected(made, point)


def _agreement(
    in_turns: tuple[Blocks, Blocks], in_whole: tuple[Blocks, Blocks], metric: Metric
) -> Ratio:
    """The ratio to the base in turns over that in whole trials, block by block."""
    by_turns, by_whole = (
        {block: label[block] / base[block] for block in label.keys() & base.keys()}
        for base, label in (in_turns, in_whole)
    )
    return stats.ratio(by_whole, by_turns, metric=metric)


def _corrected(rows: Sequence[Row], point: str) -> list[Row]:
    """The rows with agreements that were corrected for their number, as one family."""
    judged = [row for row in rows if row.agreement and not row.control]
    family = [
        Comparison(WHOLE, point, row.metric, "", row.label, row.agreement, server_limited=False)
        for row in judged
        if row.agreement
    ]
    found = {c.label: c.ratio for c in stats.corrected(family)}
    return [replace(row, agreement=found.get(row.label, row.agreement)) for row in rows]


def _values(trials: Sequence[TrialRecord], metric: Metric) -> dict[str, Blocks]:
    """What each label has, without companions."""
    mine = [trial for trial in trials if trial.kind == "trial"]
    return {label: blocks for (_, label), blocks in stats.block_values(mine, metric).items()}


def reading(blocks: Blocks) -> Reading:
    """The geometric mean of a figure over blocks, with its interval."""
    logs = [math.log(value) for value in blocks.values()]
    value = math.exp(math.fsum(logs) / len(logs))
    if len(logs) < stats.MIN_BLOCKS:
        return Reading(value, None, None, len(logs))
    low, high = stats.log_interval(logs)
    return Reading(value, math.exp(low), math.exp(high), len(logs))


def _interval(found: Ratio) -> str:
    comparison = Comparison(WHOLE, "", stats.PAGES_PER_S, "", "", found, server_limited=False)
    return interval(comparison)
