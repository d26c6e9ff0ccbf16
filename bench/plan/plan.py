"""The plan of a campaign: made once, written into its first record, rebuilt from it to resume."""

from __future__ import annotations

import random
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from bench import BenchError
from bench.machine import cpu
from bench.plan import profiles
from bench.plan.participants import TWIN, Label
from bench.plan.profiles import Profile
from bench.plan.workloads import Point
from bench.schema import (
    CampaignRecord,
    PointPlan,
    TrialRecord,
)
from crawlers.backend import Backend

Selection = Collection[tuple[str, str]]
"""Pairs of point id and backend name."""


@dataclass(frozen=True, slots=True)
class PlannedTrial:
    """One trial to run: its place in the campaign and in its block, and its label."""

    block: int
    point: str
    position: int
    label: Label

    @property
    def key(self) -> tuple[int, str, Label]:
        """What identifies this trial within the campaign."""
        return self.block, self.point, self.label


def key(record: TrialRecord) -> tuple[int, str, Label]:
    """The :attr:`PlannedTrial.key` of the trial that gave this record."""
    return record.block, record.point, Label.of(record)


@dataclass(frozen=True, slots=True)
class PlannedPoint:
    """A point, and in how many blocks each label takes part."""

    point: Point
    labels: Mapping[Label, int]

    @property
    def blocks(self) -> int:
        return max(self.labels.values())

    @property
    def record(self) -> PointPlan:
        """The entry of the campaign's first record."""
        blocks = self.blocks
        return PointPlan(
            point=self.point.id,
            workload=self.point.workload,
            blocks=blocks,
            labels=list(map(str, self.labels)),
            params=self.point.params,
            fewer={str(label): n for label, n in self.labels.items() if n < blocks},
        )


@dataclass(frozen=True, slots=True)
class Plan:
    """The points of a campaign, and all its trials block by block."""

    entries: Sequence[PlannedPoint]
    blocks: list[list[PlannedTrial]]

    @property
    def points(self) -> dict[str, Point]:
        return {entry.point.id: entry.point for entry in self.entries}

    @property
    def trials(self) -> list[PlannedTrial]:
        return [trial for block in self.blocks for trial in block]


def labels_of(
    point: Point,
    backends: Sequence[str],
    *,
    named: bool = False,
    sharing: Collection[str] = (),
) -> dict[Label, int]:
    """The labels that take part in a point, the A/A twin included, each with its blocks.

    ``named`` says that the user asked for these backends by name: then all of
    them are in every block. Those whose names are in ``sharing`` run on the server's processor,
    too, so that it sleeps where others' polls; then whatever they are compared with has a
    companion (:data:`bench.conditions.ASLEEP`).
    """
    blocks_of = {
        label: point.who.blocks_of(label.name, named=named)
        for label in map(Label.parse, backends)
        if point.open_to(label.name)
    }
    chosen = {label: blocks for label, blocks in blocks_of.items() if blocks}
    if point.modes:
        return {
            replace(label, condition=mode.name): blocks
            for label, blocks in chosen.items()
            for mode in point.modes
        }
    shared = [blocks for label, blocks in chosen.items() if label.name in sharing and point.polls]
    further = dict[Label, int]()
    for condition in point.varied:
        most = max(shared, default=0) if condition.kind == "companion" else point.blocks
        names = condition.only or {label.name for label in chosen}
        having = [label for label in chosen if label.name in names]
        if condition.name == TWIN:  # of a backend on several interpreters the first has the twin
            first = {label.name: label for label in reversed(having)}
            having = [first[name] for name in names if name in first]
        if most:
            further |= {
                replace(label, condition=condition.name): min(chosen[label], most)
                for label in having
            }
    return chosen | further


def sharing(known: Iterable[Backend]) -> set[str]:
    """The backends that have to share the server's processor on this machine."""
    shared = cpu.split_cores().unpinned().shared
    return {backend.name for backend in known if backend.several_threads and shared}


def select(
    profile: Profile,
    backends: Sequence[str],
    *,
    selection: Selection | None = None,
    blocks: int | None = None,
    named: bool = False,
    sharing: Collection[str] = (),
) -> list[PlannedPoint]:
    """The points of a profile with their labels, narrowed down as the user asked.

    ``selection`` keeps the given pairs of point and backend; ``blocks`` replaces the profile's
    numbers of blocks; ``named`` and ``sharing`` are as in :func:`labels_of`.
    Raises :class:`BenchError` when nothing is left.
    """
    chosen = []
    for point in profile.points:
        if blocks is not None:
            point = replace(point, who=point.who.resized(blocks))
        kept = {
            label: n
            for label, n in labels_of(point, backends, named=named, sharing=sharing).items()
            if selection is None or (point.id, label.backend) in selection
        }
        if kept:
            most = max(kept.values())
            chosen.append(PlannedPoint(point, kept | {Label(n): most for n in point.controls}))
    if not chosen:
        raise BenchError("nothing to measure: no workload point is left with these backends")
    return chosen


def make(entries: Sequence[PlannedPoint], seed: int) -> Plan:
    beside = {entry.point.id: entry.point.beside for entry in entries}
    return Plan(entries, schedule({e.point.id: e.labels for e in entries}, seed, beside))


def rebuild(campaign: CampaignRecord) -> Plan:
    """The plan of a campaign that was started earlier.

    Raises :class:`BenchError` when this program's workloads have changed since:
    trials of two kinds must not share a campaign.
    """
    points = {point.id: point for point in profiles.profile(campaign.profile).points}
    entries = []
    for entry in campaign.plan:
        point = points.get(entry.point)
        if point is None or point.params != entry.params:
            raise BenchError(
                f"the workload point {entry.point} has changed since campaign "
                f"{campaign.campaign} was started; start a new campaign"
            )
        planned = {Label.parse(label): entry.blocks_of(label) for label in entry.labels}
        entries.append(PlannedPoint(point, planned))
    if not entries:
        raise BenchError(f"campaign {campaign.campaign} has no plan to resume; start a new one")
    return make(entries, campaign.seed)


# --- the order of trials -----------------------------------------------------------------
#
# Drift, temperature and leftovers of the previous trial all depend on *when* a trial runs.
# Within a point, the order of the labels in successive blocks is taken from a Williams design
# (E. J. Williams, "Experimental designs balanced for the estimation of residual effects of
# treatments", 1949): over as many blocks as there are labels every label holds every position
# once and, for an even number of labels, follows every other label exactly once. The seed
# decides which label plays which part and which row comes first. The points of a block are
# shuffled too.


def williams(size: int) -> list[list[int]]:
    """Rows of a design for so many treatments, each row a permutation.

    Square for an even size. An odd size needs the mirrored square as well, to
    balance which treatment follows which.
    """
    # 0, 1, n-1, 2, n-2 ...
    zigzag = [(step + 1) // 2 if step % 2 else (size - step // 2) % size for step in range(size)]
    rows = [[(value + shift) % size for value in zigzag] for shift in range(size)]
    if size % 2 and size > 1:
        rows += [row[::-1] for row in rows]
    return rows


def orders(labels: Sequence[Label], blocks: int, rng: random.Random) -> list[list[Label]]:
    """The order of the labels in each block of one point.

    Positions are balanced over each full round of ``len(labels)`` blocks, and
    no two blocks of a round have the same order.
    """
    result: list[list[Label]] = []
    size = len(labels)
    while len(result) < blocks:
        parts = list(labels)
        rng.shuffle(parts)
        rows = williams(size)
        # The two squares of an odd size are each balanced in position, so the
        # rows are shuffled within a square, never across.
        squares = [rows[start : start + size] for start in range(0, len(rows), size)]
        rng.shuffle(squares)
        for square in squares:
            rng.shuffle(square)
            result.extend([parts[index] for index in row] for row in square)
    return result[:blocks]


def takes_part(block: int, blocks: int, of: int, phase: int = 0) -> bool:
    """Whether a point with ``blocks`` blocks has one of them in block number ``block`` of ``of``.

    A point with fewer blocks than the campaign has them spread evenly;
    ``phase``, from 0 to ``of - 1``, shifts them.
    """
    blocks = min(blocks, of)
    return ((block + 1) * blocks + phase) // of > (block * blocks + phase) // of


def schedule(
    labels: Mapping[str, Mapping[Label, int]],
    seed: int,
    beside: Mapping[str, str] = MappingProxyType({}),
) -> list[list[PlannedTrial]]:
    """All trials of a campaign, block by block, in the order they run.

    ``labels`` says for each point in how many blocks each label takes part; the
    largest of these is the point's number of blocks. Labels with the same number are in the same
    blocks, and so are points of which ``beside`` says so. The same arguments give the same
    schedule.
    """
    rng = random.Random(seed)
    blocks = {point: max(labels[point].values()) for point in labels}
    of = max(blocks.values(), default=0)
    order = {
        point: iter(orders(list(labels[point]), blocks[point], rng)) for point in sorted(labels)
    }
    # Points with a block or two must not all meet in the last block of the campaign.
    phase = {point: rng.randrange(of) for point in sorted(labels)}
    phase |= {point: phase[other] for point, other in beside.items() if other in phase}
    result: list[list[PlannedTrial]] = []
    number = dict.fromkeys(labels, 0)
    for block in range(of):
        points = sorted(p for p in labels if takes_part(block, blocks[p], of, phase[p]))
        rng.shuffle(points)
        trials = []
        for point in points:
            present = [
                label
                for label in next(order[point])
                if takes_part(number[point], labels[point][label], blocks[point])
            ]
            number[point] += 1
            trials += [PlannedTrial(block, point, n, label) for n, label in enumerate(present)]
        result.append(trials)
    return result
