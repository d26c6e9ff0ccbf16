"""Backends that use every processor, against the models on one, in pages per second.

In every other point a client with one thread has one processor, because it can use no more, and so
have ``processes``, ``subinterpreters`` and ``partition``. Here these and all with several threads
get every processor: all but the server's (``apart``), or all of them, the server's
included (``shared``). Which processors each side had is in the record of each trial.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from bench.analysis import stats
from bench.analysis.stats import Comparison, Metric, Pair, Ratio, Spread
from bench.analysis.wording import against, interval
from bench.plan.cast import BASE, FREE, SPREADING
from bench.plan.labels import Label
from bench.schema import TrialRecord
from bench.store import Records
from bench.text import capital, listing, plural

WORKLOAD: Final = "processors"
RATE: Final = replace(stats.PAGES_PER_S, workloads=(WORKLOAD,))
CPU: Final = replace(stats.CPU_PER_1000, workloads=(WORKLOAD,))

PLACES: Final = {
    "apart": "with the server on a processor of its own",
    "shared": "with the server on the same processors",
}
"""What is said of a point, by its parameter ``processors``."""

SIDES: Final = ("client", "server")

LOCKED: Final = "every interpreter of this campaign has its lock"


@dataclass(frozen=True, slots=True)
class Row:
    """One label at one point: where it ran, and how many pages a second that gave."""

    point: str
    how: str  # "apart" or "shared"
    label: str
    client: tuple[int, ...]  # processors
    server: tuple[int, ...]
    rate: Spread
    cpu_ms: Spread | None  # per 1000 pages, all processes of the client together
    ratio: Ratio | None  # pages per second over those of the base; None for the base
    base: str
    trials: int

    @property
    def spreads(self) -> bool:
        """Whether the backend was given all that it could use."""
        return Label.parse(self.label).name in SPREADING or len(self.client) > 1


@dataclass(frozen=True, slots=True)
class Processors:
    """What a campaign knows about more than one processor."""

    usable: int
    rows: Sequence[Row]
    comparisons: Sequence[Comparison]
    not_tried: Sequence[tuple[str, str]]  # what, and why


def processors(records: Records) -> Processors | None:
    """The rows of every point that spreads; None where none was measured."""
    trials = stats.trials_of(records, WORKLOAD)
    if not trials:
        return None
    compared = stats.compare_pairs(records, pairs(records), RATE)
    used = {core for trial in trials for side in SIDES for core in cores(trial, side)}
    return Processors(
        usable=len(used) or records.campaign.environment.cpu_count,
        rows=list(_rows(records, compared)),
        comparisons=compared,
        not_tried=not_tried(records),
    )


def pairs(records: Records) -> list[Pair]:
    """Every backend at every point, with the base on the same interpreter."""
    return [
        (point, base, label)
        for point in stats.points_of(records, WORKLOAD)
        for label in stats.labels_of(records)
        if (base := base_of(label)) != label
    ]


def base_of(label: str) -> str:
    """``callbacks`` on the label's interpreter."""
    return replace(Label.parse(label), name=BASE, twin=False).backend


def cores(trial: TrialRecord, side: str) -> tuple[int, ...]:
    """The processors of ``client`` or ``server``; none where nothing was pinned."""
    found = trial.pinning.get(side)
    return tuple(found) if isinstance(found, list) else ()


def _rows(records: Records, compared: Iterable[Comparison]) -> Iterable[Row]:
    ratios = {(c.point, c.label): c.ratio for c in compared}
    for point in stats.points_of(records, WORKLOAD):
        for label in stats.labels_of(records):
            mine = [
                trial
                for trial in stats.trials_of(records, WORKLOAD, twins=False)
                if (trial.point, trial.label) == (point, label)
            ]
            rate = _spread(mine, RATE)
            if rate is None:
                continue
            yield Row(
                point=point,
                how=str(mine[0].params["processors"]),
                label=label,
                client=cores(mine[0], "client"),
                server=cores(mine[0], "server"),
                rate=rate,
                cpu_ms=_spread(mine, CPU),
                ratio=ratios.get((point, label)),
                base=base_of(label),
                trials=len(mine),
            )


def _spread(trials: Iterable[TrialRecord], metric: Metric) -> Spread | None:
    return stats.spread(metric.value(trial) for trial in trials)


def not_tried(records: Records) -> list[tuple[str, str]]:
    """What could have used every processor and did not run, each with the reason.

    Backends that the suite did not have at the time of the campaign are no part of it.
    """
    campaign = records.campaign
    ran = {trial.backend for trial in stats.trials_of(records, WORKLOAD)}
    names = {Label.parse(backend).name for backend in ran}
    missing = {rung.name: rung.missing for rung in campaign.rungs}
    found = [
        (f"`{name}`", missing[name] or "it was not among the backends of this campaign")
        for name in SPREADING
        if name not in names and name in missing
    ]
    free = {Label(FREE, interpreter).backend for interpreter in campaign.free_threaded}
    if not free & ran:
        found.append((f"`{FREE}` without the interpreter lock", LOCKED))
    return found


def sentences(found: Processors) -> list[str]:
    """What the table says, each place of the server apart, and what was not tried."""
    lines = []
    for how in PLACES:
        rows = [row for row in found.rows if row.how == how and row.spreads]
        rows.sort(key=lambda row: len(row.client))
        if rows:
            each = listing([_said(row, found.comparisons) for row in rows])
            place = PLACES[how]
            lines.append(f"{capital(place)}, {each}.")
    if lines and found.usable == 2:
        lines.append(
            "Two processors cannot show what more of them would gain: one is left beside the "
            "server's, or client and server share both."
        )
    return lines


def _compared(row: Row, comparisons: Iterable[Comparison]) -> Comparison | None:
    return next((c for c in comparisons if (c.point, c.label) == (row.point, row.label)), None)


def _said(row: Row, comparisons: Iterable[Comparison]) -> str:
    on = f"`{row.label}` on {plural(len(row.client), 'processor')}"
    if not row.client:
        on = f"`{row.label}`, which could not be pinned,"
    mine = _compared(row, comparisons)
    if mine is None or mine.ratio.value is None or mine.ratio.low is None:
        return f"{on} was measured too seldom for an interval"
    if not mine.ratio.shown:
        return f"no difference is shown between {on} and `{row.base}` on one"
    much = against(mine.ratio.value, "fewer", "pages per second", f"`{row.base}` on one")
    return f"{on} crawls {much} ({interval(mine)})"


def finding(found: Processors | None) -> str | None:
    """The sentences as one finding, with what was not tried."""
    if found is None or not (lines := sentences(found)):
        return None
    untried = [f"Not tried: {what}, because {why}." for what, why in found.not_tried]
    return " ".join([f"**{_head(found)}.**", *lines, *untried])


def _head(found: Processors) -> str:
    """What gains most from all processors, the server's included."""
    gains = [
        (mine.ratio.value, row)
        for row in found.rows
        if row.how == "shared"
        and row.spreads
        and (mine := _compared(row, found.comparisons)) is not None
        and mine.ratio.shown
        and (mine.ratio.value or 0.0) > 1
    ]
    where = f"On all of {plural(found.usable, 'processor')}"
    if not gains:
        base = next((row.base for row in found.rows if row.base), BASE)
        return f"{where}, nothing is shown to crawl more pages per second than `{base}` on one"
    value, best = max(gains, key=lambda gain: gain[0] or 0.0)
    much = against(value or 0.0, "fewer", "pages per second", f"`{best.base}` on one")
    most = ", the most of all" if len(gains) > 1 else ""
    return f"{where}, `{best.label}` crawls {much}{most}"
