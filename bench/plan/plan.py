"""The plan of a campaign: made once, written into its first record, rebuilt from it to resume."""

from __future__ import annotations

import secrets
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from types import MappingProxyType

from bench.errors import BenchError
from bench.plan import order
from bench.plan.backends import base_of
from bench.plan.labels import Label
from bench.plan.order import Turn
from bench.plan.profiles import ProfileError, profile
from bench.plan.workloads import Point
from bench.schema import Budget, CampaignRecord, Environment, Interpreter, PointPlan, Rung
from crawlers.backend import Backend

Selection = Collection[tuple[str, str]]
"""Pairs of point id and backend name."""


class PlanError(BenchError):
    """Nothing to do, or a plan that does not fit this version of the program."""


@dataclass(frozen=True, slots=True)
class PlannedPoint:
    """A point, and in how many blocks each label takes part."""

    point: Point
    cast: Mapping[Label, int]

    @property
    def blocks(self) -> int:
        """How many blocks hold a trial of this point."""
        return max(self.cast.values())

    def resized(self, blocks: int) -> PlannedPoint:
        """The same with no more than so many blocks."""
        return replace(self, cast={label: min(each, blocks) for label, each in self.cast.items()})

    @property
    def record(self) -> PointPlan:
        """The entry of the campaign's first record."""
        blocks = self.blocks
        return PointPlan(
            point=self.point.id,
            workload=self.point.workload,
            blocks=blocks,
            labels=list(map(str, self.cast)),
            params=self.point.params,
            fewer={str(label): each for label, each in self.cast.items() if each < blocks},
        )


@dataclass(frozen=True, slots=True)
class Plan:
    """The points of a campaign, and all its turns block by block."""

    entries: Sequence[PlannedPoint]
    blocks: list[list[Turn]]

    @property
    def points(self) -> dict[str, Point]:
        """The points by id."""
        return {entry.point.id: entry.point for entry in self.entries}

    @property
    def turns(self) -> list[Turn]:
        """Every trial in the order it runs."""
        return [turn for block in self.blocks for turn in block]


def cast(
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
    companion (:data:`bench.plan.cast.PAIRED`).
    """
    rule = point.cast.opened() if named else point.cast
    labels = map(Label.parse, backends)
    chosen = {label: blocks for label in labels if (blocks := rule.blocks_of(label.name))}
    if point.modes:
        return {replace(one, mode=mode): n for one, n in chosen.items() for mode in point.modes}
    # Of a backend on several interpreters the first has the twin.
    first = {label.name: label for label in reversed(chosen)}
    twins = [first[name] for name in point.twins if name in first]
    twin = {replace(label, twin=True): chosen[label] for label in twins}
    null = {replace(label, null_recorder=True): n for label, n in chosen.items()}
    asleep = {replace(label, asleep=True): n for label, n in chosen.items()}
    return {
        **chosen,
        **twin,
        **(null if point.null_recorder else {}),
        **{replace(one, wide=True): n for one, n in chosen.items() if one.name in point.wide},
        **(asleep if point.asleep else companions(point, chosen, sharing)),
    }


def companions(
    point: Point, chosen: Mapping[Label, int], sharing: Collection[str]
) -> dict[Label, int]:
    """Further trials, against a server that sleeps as that of a label in ``sharing`` does."""
    theirs = max((n for label, n in chosen.items() if label.name in sharing), default=0)
    if not theirs or not (point.polls and point.compares):
        return {}
    return {
        replace(label, asleep=True): min(n, theirs)
        for label, n in chosen.items()
        if label.name in point.paired
    }


def select(
    profile_name: str,
    backends: Sequence[str],
    *,
    only: Sequence[str] | None = None,
    selection: Selection | None = None,
    blocks: int | None = None,
    named: bool = False,
    sharing: Collection[str] = (),
) -> list[PlannedPoint]:
    """The points of a profile with their labels, narrowed down as the user asked.

    ``only`` names workloads or point ids; ``selection`` keeps the given pairs of
    point and backend; ``blocks`` replaces the profile's numbers of blocks;
    ``named`` and ``sharing`` are as in :func:`cast`.
    Raises :class:`bench.plan.profiles.ProfileError` for an unknown name and
    :class:`PlanError` when nothing is left.
    """
    points = profile(profile_name).points
    if only:
        known = {point.id for point in points} | {point.workload for point in points}
        for name in only:
            if name not in known:
                workloads = ", ".join(dict.fromkeys(point.workload for point in points))
                ids = ", ".join(point.id for point in points)
                raise ProfileError(
                    f"unknown workload or point {name!r} in profile {profile_name}; "
                    f"workloads: {workloads}; points: {ids}"
                )
        points = tuple(point for point in points if {point.id, point.workload} & set(only))
    chosen = []
    for point in points:
        if blocks is not None:
            point = replace(point, cast=point.cast.resized(blocks))
        kept = {
            label: each
            for label, each in cast(point, backends, named=named, sharing=sharing).items()
            if selection is None or (point.id, label.backend) in selection
        }
        if kept:
            most = max(kept.values())
            chosen.append(PlannedPoint(point, kept | {Label(n): most for n in point.controls}))
    if not chosen:
        raise PlanError("nothing to measure: no workload point is left with these backends")
    return chosen


def make(entries: Sequence[PlannedPoint], seed: int) -> Plan:
    """The plan for these points and labels."""
    beside = {e.point.id: e.point.beside for e in entries if e.point.beside}
    return Plan(entries, order.schedule({e.point.id: e.cast for e in entries}, seed, beside))


def campaign_record(
    plan: Plan,
    *,
    profile: str,
    backends: Sequence[str],
    seed: int,
    command: Sequence[str],
    environment: Environment,
    interpreters: Sequence[Interpreter] = (),
    missing: Mapping[str, str] = MappingProxyType({}),
    known: Sequence[Backend] = (),
    budget: Budget | None = None,
) -> CampaignRecord:
    """The first line of the campaign's file."""
    created = datetime.now(UTC)
    labels = [label for entry in plan.entries for label in entry.cast]
    used = {label.backend for label in labels}
    names = [name for name in backends if name in used]
    return CampaignRecord(
        campaign=f"{created:%Y%m%d-%H%M%S}-{secrets.token_hex(3)}",
        created=created.isoformat(timespec="seconds"),
        profile=profile,
        seed=seed,
        blocks=len(plan.blocks),
        backends=names,
        base=base_of(names),
        twin=next((label.backend for label in labels if label.twin), None),
        points=[entry.point.id for entry in plan.entries],
        command=list(command),
        environment=environment,
        plan=[entry.record for entry in plan.entries],
        interpreters=list(interpreters),
        interpreters_missing=dict(missing),
        rungs=list(map(rung, known)),
        budget=budget,
    )


def rung(backend: Backend) -> Rung:
    """A backend's description as records keep it."""
    return Rung(
        name=backend.name,
        family=backend.family,
        rung=backend.rung,
        summary=backend.summary,
        changes=backend.changes,
        against=backend.against,
        most=backend.most,
        missing=backend.missing,
    )


def rebuild(campaign: CampaignRecord) -> Plan:
    """The plan of a campaign that was started earlier.

    Raises :class:`PlanError` when this program's workloads have changed since:
    trials of two kinds must not share a campaign.
    """
    points = {point.id: point for point in profile(campaign.profile).points}
    entries = []
    for entry in campaign.plan:
        point = points.get(entry.point)
        if point is None or point.params != entry.params:
            raise PlanError(
                f"the workload point {entry.point} has changed since campaign "
                f"{campaign.campaign} was started; start a new campaign"
            )
        planned = {Label.parse(label): entry.blocks_of(label) for label in entry.labels}
        entries.append(PlannedPoint(point, planned))
    if not entries:
        raise PlanError(f"campaign {campaign.campaign} has no plan to resume; start a new one")
    return make(entries, campaign.seed)
