"""What the way of measuring adds, which no other program has; all from trials of the base.

The fixture server answers late by the resolution of its timer, and where it sleeps, the client's
``send`` wakes it. In turns, every other backend leaves cold caches behind: one point that was
measured in turns and in whole trials says what a page takes of a program that runs alone.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median

from bench.analysis import stats
from bench.analysis.analysis import Analysis
from bench.analysis.stats import CPU_PER_1000
from bench.analysis.stats.records import number_param
from bench.capacity.costs import Costs, costs, delay_of
from bench.capacity.model import page_us
from bench.schema import TrialRecord
from bench.store import MOST_DIGITS


def measured(analysis: Analysis) -> Costs | None:
    """The costs of a campaign, for programs that run alone; None where it has none."""
    found = costs(analysis)
    return None if found is None else replace(found, alone=alone(analysis, found))


def alone(analysis: Analysis, found: Costs) -> float:
    """A page of the base alone over its page in turns; 1 where that was not measured."""
    if analysis.base not in analysis.labels:
        return 1.0
    base = found.of(analysis.base)
    taken = [
        1e6 / trial.pages_per_s - slots * (base.extra.opening or 0.0) / pages
        for trial in alone_trials(analysis)
        if trial.pages_per_s and (pages := pages_of(trial))
        for slots in [number_param(trial, "slots") or 0.0]
    ]
    if base.page is None or not taken:
        return 1.0
    slots = number_param(alone_trials(analysis)[0], "slots") or 1.0
    return median(taken) / page_us(found, base, slots)


def alone_trials(analysis: Analysis) -> list[TrialRecord]:
    """Whole trials of the base at the reference point of what is measured in turns too."""
    point = analysis.reference_point("whole")
    return analysis.at_point(point).get(analysis.base, []) if point else []


@dataclass(frozen=True, slots=True)
class Fixture:
    """What the fixture server adds, which no network does."""

    late_s: float  # an answer after its delay
    waking_us: Mapping[int, float]  # slots -> of the client's time, to wake a server that sleeps
    fitted: frozenset[tuple[str, str]]  # (point, label) of what these are made from

    def waking(self, slots: int) -> float:
        """For the measured number of slots that is nearest."""
        near = min(self.waking_us, key=lambda n: abs(math.log(n / slots)), default=None)
        return 0.0 if near is None else self.waking_us[near]


def fixture(analysis: Analysis) -> Fixture:
    """The server of this campaign, by the base on its shortest delay and by ``awake``."""
    records, base = analysis.records, analysis.base
    single = [
        (delay, trial.point)
        for trial in stats.trials_of(records, "regime", "waiting", twins=False)
        if trial.label == base and number_param(trial, "slots") == 1
        if (delay := delay_of(trial)) is not None
    ]
    delay, point = min(single, default=(0.0, ""))
    times = [t.service_time for t in analysis.at_point(point).get(base, ()) if t.service_time]
    served = stats.spread(t.mean_ms for t in times)
    modes: dict[tuple[int, str], list[TrialRecord]] = defaultdict(list)
    for trial in stats.trials_of(records, "awake", twins=False):
        if trial.label == base:
            slots = int(number_param(trial, "slots") or 0)
            modes[slots, str(trial.params.get("server"))].append(trial)
    return Fixture(
        late_s=max(served.median / 1000 - delay, 0.0) if served else 0.0,
        waking_us={
            slots: cost(modes[slots, "asleep"]) - cost(modes[slots, "awake"])
            for slots in sorted({slots for slots, _ in modes})
            if {(slots, "asleep"), (slots, "awake")} <= modes.keys()
        },
        fitted=frozenset({(point, base), *((t.point, base) for t in alone_trials(analysis))}),
    )


def cost(trials: Sequence[TrialRecord]) -> float:
    """Microseconds per page, a median over blocks."""
    return median(value for t in trials if (value := CPU_PER_1000.value(t)) is not None)


def pages_of(trial: TrialRecord) -> int | None:
    """The pages of a trial's site, if it is a tree that has any."""
    kind, *rest = str(trial.params.get("site")).split(":")
    known = kind == "tree" and rest and rest[0].isascii() and rest[0].isdigit()
    return (int(rest[0][:MOST_DIGITS]) or None) if known else None
