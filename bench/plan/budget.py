"""How long a plan will take on this machine, and which blocks to cut when that is too long.

The constants describe the machine of the reference campaign. A *slowness* of 2
means a machine on which the same trial takes twice as long; pauses that do not
depend on the machine (delays, schedules, the paced ramp) stay as they are.
"""

from __future__ import annotations

from collections.abc import Sequence

from bench.plan.labels import Label
from bench.plan.plan import PlannedPoint
from bench.plan.sizes import round_s, sized, weight
from bench.plan.workloads import Point
from bench.schema import Budget, Cut

START_S = 0.25
"""A worker's start and warm-up, and the probes around it."""

TOGETHER_S = 0.45
"""A label's start in turns: its worker and its server, beside the others', on two processors."""

TURNS = 1.15
"""Turns take longer than the work in them: they fill up, stop and resume."""

SERVER_S = 0.35
"""Start and warm-up of a block's server."""

CEILING_S = 1.3
"""Measuring the server's ceiling, once in each block of the campaign."""

SHARED_SERVER_SLOTS = 1000
"""The trials of a point in one block share a server, up to this many slots."""

FEWEST_BLOCKS = 3
"""A point has at least so many blocks, or as many as it is planned with, or none at all."""


def trial_s(point: Point, label: Label, slowness: float = 1.0) -> float:
    if point.rounds:
        return slowness * TOGETHER_S + TURNS * point.rounds * round_s(point, label)
    share = sized(point, label).pages / point.pages
    work_s = point.work_s * weight(point, label) * share
    if point.interleaved:
        return slowness * (TOGETHER_S + TURNS * work_s)
    return point.waits_s + slowness * (START_S + work_s)


def servers_s(point: Point, trials: int, blocks: int) -> float:
    """Seconds to start the servers of so many trials in so many blocks."""
    if point.interleaved:
        return 0.0  # one each, in TOGETHER_S
    return SERVER_S * (trials if point.slots > SHARED_SERVER_SLOTS else blocks)


def block_s(entry: PlannedPoint) -> float:
    """Seconds that one full block of a point should take, its servers included."""
    trials = sum(trial_s(entry.point, label) for label in entry.labels)
    return trials + servers_s(entry.point, len(entry.labels), 1)


def plan_s(entries: Sequence[PlannedPoint], slowness: float = 1.0) -> float:
    ceilings = max((entry.blocks for entry in entries if entry.point.ceiling), default=0)
    total = ceilings * CEILING_S + slowness * sum(entry.point.prepare_s for entry in entries)
    for entry in entries:
        point = entry.point
        total += sum(n * trial_s(point, label, slowness) for label, n in entry.labels.items())
        total += slowness * servers_s(point, sum(entry.labels.values()), entry.blocks)
    return total


def fit(
    entries: Sequence[PlannedPoint], budget_s: float, slowness: float
) -> tuple[list[PlannedPoint], Budget]:
    """Cut blocks until the plan takes no longer than ``budget_s``, and say which.

    Points lose blocks one after the other, those with the fewest labels first, and last those that
    alone answer a question: first down to :data:`FEWEST_BLOCKS`, since a point with fewer says
    little, and when that is not enough whole. The point with most labels stays, and so do the
    memory points, which are fitted together.
    """
    kept = list(entries)
    least_first = sorted(
        range(len(entries)),
        key=lambda p: (entries[p].point.sole, len(entries[p].labels), -block_s(entries[p])),
    )
    single = [place for place in least_first if not entries[place].point.memory]
    most = max(single, key=lambda place: len(entries[place].labels), default=None)
    steps = [
        (place, blocks)
        for place in least_first
        for blocks in reversed(range(FEWEST_BLOCKS, entries[place].blocks))
    ]
    for place, blocks in [*steps, *((place, 0) for place in single if place != most)]:
        if plan_s(kept, slowness) <= budget_s:
            break
        kept[place] = kept[place].resized(blocks)
    cuts = [
        Cut(point=before.point.id, planned=before.blocks, blocks=after.blocks)
        for before, after in zip(entries, kept, strict=True)
        if after.blocks < before.blocks
    ]
    kept = [entry for entry in kept if entry.blocks]
    return kept, Budget(
        budget_s=budget_s,
        slowness=slowness,
        planned_s=plan_s(entries, slowness),
        expected_s=plan_s(kept, slowness),
        cuts=cuts,
    )
