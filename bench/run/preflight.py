"""Before a campaign: which trials this machine's limits forbid, and whether there is time."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from bench.controls import CONTROLS
from bench.machine import doctor
from bench.plan import budget
from bench.plan.labels import Label
from bench.plan.plan import Plan, PlannedPoint
from bench.plan.tls import SERVER_KIB, client_kib
from bench.plan.workloads import Point
from bench.run.rehearsal import Rehearsal, rehearse
from bench.schema import Budget
from bench.text import KIB, minutes
from crawlers.backend import Backend

THREADED = "threads"
"""The family that starts a thread for each slot."""

SLOWEST = 4.0
"""A plan that would be in time even on a machine this slow needs no rehearsal."""


def refusals(
    todo: Plan, known: Sequence[Backend], folder: Path, console: Console
) -> dict[tuple[str, Label], str]:
    """Examine the machine; maps (point, label) pairs that its limits forbid to the reasons."""
    doctor.raise_descriptor_limit()
    connections = max(point.slots for point in todo.points.values())
    for result in doctor.examine(connections, connections, folder):
        # Connections are opened at a paced rate, so the backlog is deep enough.
        if result.level in ("warning", "refusal") and result.check != "backlog":
            text = f"{result.level}: {result.check}: {result.found}: {result.effect}"
            fix = f" ({result.fix})" if result.fix else ""
            console.print(text + fix)
    by_name = CONTROLS | {backend.name: backend for backend in known}
    refused = {}
    for entry in todo.entries:
        point = entry.point
        for label in entry.cast:
            backend = by_name[label.backend]
            threads = point.slots if backend.family == THREADED else 0
            reason = unable(backend, point) or doctor.refuse(
                point.slots, threads, folder=folder, **over_tls(point, label)
            )
            if reason:
                refused[point.id, label] = reason
    return refused


def unable(backend: Backend, point: Point) -> str | None:
    """Why a backend can never run this point: its connections, or TLS; None when it can."""
    if point.over_tls and (reason := backend.no_https):
        return f"{backend.name} has no HTTPS: {reason}"
    if not point.held or backend.most is None or backend.most >= point.slots:
        return None
    return f"{backend.name} holds at most {backend.most} connections at once ({backend.changes})"


def over_tls(point: Point, label: Label) -> dict[str, int]:
    """Bytes that each held connection of this label takes over TLS, at both ends."""
    if point.tls is None or point.kind != "hold":
        return {}
    return {"tls_client": client_kib(label.name) * KIB, "tls_server": SERVER_KIB * KIB}


def in_time(
    entries: list[PlannedPoint],
    budget_s: float,
    known: Sequence[Backend],
    console: Console,
) -> tuple[list[PlannedPoint], Budget | None]:
    """Measure the machine, cut blocks that it has no time for, and say which."""
    if budget.plan_s(entries, SLOWEST) <= budget_s:
        return entries, None
    rehearsal = rehearse([backend for backend in known if backend.missing is None])
    if rehearsal is None:
        console.print("the speed of this machine could not be measured; all blocks are kept")
        return entries, None
    kept, found = budget.fit(entries, budget_s, rehearsal.slowness)
    if found.cuts:
        console.print(explain(found))
    return kept, found.model_copy(update={"floor_percent": expected_floor(rehearsal, kept)})


def expected_floor(rehearsal: Rehearsal, kept: Sequence[PlannedPoint]) -> float | None:
    """The noise floor to expect: that of the A/A pair in turns that is measured least."""
    found = [
        rehearsal.floor_percent(entry.point.work_s, entry.blocks)
        for entry in kept
        if entry.point.interleaved and any(label.twin for label in entry.cast)
    ]
    return max((floor for floor in found if floor is not None), default=None)


def explain(found: Budget) -> str:
    """What was cut and why, in words."""
    fewer = [f"{cut.point} ({cut.blocks} of {cut.planned})" for cut in found.cuts if cut.blocks]
    dropped = [cut.point for cut in found.cuts if not cut.blocks]
    cuts = [f"these points get fewer blocks: {', '.join(fewer)}"] if fewer else []
    cuts += [f"these are left out: {', '.join(dropped)}"] if dropped else []
    late = found.expected_s > found.budget_s
    return (
        f"trials take {found.slowness:.1f} times as long here as the profile assumes, "
        f"{minutes(found.planned_s)} min in all. To measure for no more than "
        f"{minutes(found.budget_s)} min, {'; '.join(cuts)}."
        + (f" That still takes about {minutes(found.expected_s)} min." if late else "")
        + " Use --no-budget to measure every block."
    )
