"""What a campaign will do: made once, written into its first record, rebuilt from it."""

from __future__ import annotations

import secrets
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from types import MappingProxyType

from bench import order, workloads
from bench.backends import base_of
from bench.errors import BenchError
from bench.order import Turn
from bench.schema import CampaignRecord, Environment, Interpreter, PointPlan, Rung
from bench.workloads import TWIN_SUFFIX, Point, ProfileError, backend_of, fewer, labels

Selection = Collection[tuple[str, str]]
"""Pairs of point id and backend name."""


class PlanError(BenchError):
    """Nothing to do, or a plan that does not fit this program any more."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Points by id and all turns, block by block."""

    points: Mapping[str, Point]
    blocks: list[list[Turn]]
    entries: list[PointPlan]

    @property
    def turns(self) -> list[Turn]:
        """Every trial in the order it is to run."""
        return [turn for block in self.blocks for turn in block]


def select(
    profile: str,
    backends: Sequence[str],
    *,
    only: Sequence[str] | None = None,
    selection: Selection | None = None,
    blocks: int | None = None,
    everyone: bool = False,
) -> list[tuple[Point, list[str]]]:
    """The points of a profile with their labels, narrowed down as asked.

    ``only`` names workloads or point ids; ``selection`` keeps given pairs of
    point and backend; ``blocks`` replaces the profile's numbers of blocks;
    ``everyone`` is for backends that were asked for by name: they are in every block.
    Raises :class:`bench.workloads.ProfileError` for an unknown name and
    :class:`PlanError` when nothing is left.
    """
    points = workloads.profile(profile).points
    if only:
        known = {point.id for point in points} | {point.workload for point in points}
        for name in only:
            if name not in known:
                names = ", ".join(dict.fromkeys(point.workload for point in points))
                raise ProfileError(f"unknown workload {name!r} in profile {profile}: {names}")
        points = tuple(point for point in points if {point.id, point.workload} & set(only))
    chosen = []
    for point in points:
        if blocks is not None:
            point = replace(point, blocks=blocks)
        if everyone:
            point = replace(point, rest=point.blocks)
        kept = [
            label
            for label in labels(point, backends, everyone=everyone or selection is not None)
            if selection is None or (point.id, backend_of(label)) in selection
        ]
        if kept:
            chosen.append((point, kept))
    if not chosen:
        raise PlanError("nothing to measure: no workload point is left with these backends")
    return chosen


def make(chosen: Sequence[tuple[Point, list[str]]], seed: int) -> Plan:
    """The plan for these points and labels."""
    return Plan(
        points={point.id: point for point, _ in chosen},
        blocks=order.schedule(
            {point.id: kept for point, kept in chosen},
            {point.id: point.blocks for point, _ in chosen},
            seed,
            {point.id: fewer(point, kept) for point, kept in chosen},
        ),
        entries=[
            PointPlan(
                point=point.id,
                workload=point.workload,
                blocks=point.blocks,
                labels=kept,
                params=point.params,
                fewer=fewer(point, kept),
            )
            for point, kept in chosen
        ],
    )


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
    rungs: Sequence[Rung] = (),
) -> CampaignRecord:
    """The first line of the campaign's file."""
    created = datetime.now(UTC)
    used = {backend_of(label) for entry in plan.entries for label in entry.labels}
    names = [name for name in backends if name in used]
    every = (label for entry in plan.entries for label in entry.labels)
    twin = next((backend_of(label) for label in every if label.endswith(TWIN_SUFFIX)), None)
    return CampaignRecord(
        campaign=f"{created:%Y%m%d-%H%M%S}-{secrets.token_hex(3)}",
        created=created.isoformat(timespec="seconds"),
        profile=profile,
        seed=seed,
        blocks=len(plan.blocks),
        backends=names,
        base=base_of(names),
        twin=twin,
        points=[entry.point for entry in plan.entries],
        command=list(command),
        environment=environment,
        plan=plan.entries,
        interpreters=list(interpreters),
        interpreters_missing=dict(missing),
        rungs=list(rungs),
    )


def rebuild(campaign: CampaignRecord) -> Plan:
    """The plan of a campaign that was begun earlier.

    Raises :class:`PlanError` when this program's table of workloads has
    changed since: trials of two kinds must not share a campaign.
    """
    points = {point.id: point for point in workloads.profile(campaign.profile).points}
    chosen = []
    for entry in campaign.plan:
        point = points.get(entry.point)
        if point is None or point.params != entry.params:
            raise PlanError(
                f"the workload point {entry.point} is not what it was when campaign "
                f"{campaign.campaign} began; start a new campaign"
            )
        rest = min(entry.fewer.values(), default=entry.blocks)
        chosen.append((replace(point, blocks=entry.blocks, rest=rest), list(entry.labels)))
    if not chosen:
        raise PlanError(f"campaign {campaign.campaign} has no plan to go on with; start a new one")
    return make(chosen, campaign.seed)
