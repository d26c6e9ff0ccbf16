"""Whether two sides of a comparison did the same work, by their page faults.

asyncio asks malloc for 256 KiB with each receive, and whether malloc maps them each time depends
on what the process has freed before (docs/method.md, "The state of malloc"). That is up to half
of a page's processor time, and says nothing about a model. Every crawl starts in one state,
but a library may change it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from bench.analysis.stats.records import number_param, trials_of
from bench.schema import TrialRecord
from bench.store import Records
from crawlers.heap import ON_PURPOSE

MORE_OF_ANOTHER: Final = 0.5
"""Two backends may differ by so many for a page: a receive that malloc maps takes two."""
MORE_OF_A_SLOT: Final = 10.0
"""And by so many for each slot, once: its stack, buffers and objects are what a model costs.

At the barrier of ``c10k``, where each slot fetches one page, no model takes more than 8.
"""
OPENED_EACH: Final = ("accept",)
"""Where each page has a connection of its own, and with it what a slot has: a thread, a task."""


@dataclass(frozen=True, slots=True)
class Faults:
    """The page faults of one trial."""

    per_page: float
    slots: float  # for each page that it fetched
    on_purpose: bool = False  # the backend is there to show what they cost

    def apart(self, other: Faults) -> bool:
        """Whether a run of another backend cannot be compared with this one."""
        if self.on_purpose or other.on_purpose:
            return False
        once = MORE_OF_A_SLOT * max(self.slots, other.slots)
        return abs(self.per_page - other.per_page) > MORE_OF_ANOTHER + once


Place = tuple[str, str]
"""A point and a label."""


def faults_of(records: Records) -> dict[Place, dict[int, Faults]]:
    """(point, label) -> block -> the page faults of its trial."""
    by_place: dict[Place, dict[int, Faults]] = {}
    for trial in trials_of(records):
        if trial.page_faults is not None and trial.pages:
            slots = (number_param(trial, "slots") or 0.0) / trial.pages
            slots = 1.0 if trial.workload in OPENED_EACH else slots
            on_purpose = trial.mechanism.get("malloc") == ON_PURPOSE
            faults = Faults(trial.page_faults / trial.pages, slots, on_purpose)
            by_place.setdefault((trial.point, trial.label), {})[trial.block] = faults
    return by_place


def apart(
    faults: Mapping[Place, Mapping[int, Faults]], point: str, base: str, label: str
) -> str | None:
    """Why point, base and label cannot be compared; None if they can.

    A backend that takes more page faults on purpose can be compared with every other.
    """
    own, theirs = faults.get((point, base), {}), faults.get((point, label), {})
    both = [(own[block], theirs[block]) for block in sorted(own.keys() & theirs.keys())]
    differing = [sides for sides in both if sides[0].apart(sides[1])]
    if not differing:
        return None
    own_side, other = max(differing, key=lambda sides: abs(sides[0].per_page - sides[1].per_page))
    return (
        f"{other.per_page:.1f} page faults for a page, and {own_side.per_page:.1f} of the other: "
        "malloc was in another state"
    )


MORE_OPENED: Final = 0.01
"""Backends may differ by so many connections for each page: opening one costs as much as five."""


MANY_ROUNDS: Final = 4
"""Pages for each slot, from which on every slot surely has one."""


@dataclass(frozen=True, slots=True)
class EqualWork:
    """Which points the server's ledger covers, and who did other work there."""

    points: tuple[str, ...]
    unequal: Mapping[tuple[str, str], str]
    """(point, label) -> what it did that the others did not."""


def equal_work(records: Records) -> EqualWork:
    """Compare the server's ledger between backends, point by point.

    No backend may request a page twice, or open many more or fewer connections than the others.
    How many requests are in flight, and how many a connection carries, is not judged: that is what
    a model makes of its slots. A backend that declares a limit below the number of slots is left
    out at that point. So are points with modes, because each mode opens its own number. Where there
    is a page or two for each slot, or a schedule, how many slots get one is the model's as well:
    there nobody may open more connections than it has slots.
    """
    most = {rung.name: rung.most for rung in records.campaign.rungs}
    groups: dict[str, dict[str, list[TrialRecord]]] = defaultdict(lambda: defaultdict(list))
    for trial in trials_of(records, twins=False):
        bound = most.get(trial.backend)
        slots = number_param(trial, "slots") or 0
        if trial.ledger and not trial.params.get("mode") and (bound is None or bound >= slots):
            groups[trial.point][trial.label].append(trial)
    unequal: dict[tuple[str, str], str] = {}
    for point, labels in groups.items():
        opened = {
            label: float(np.median([t.ledger.connections_opened for t in trials if t.ledger]))
            for label, trials in labels.items()
        }
        usual = float(np.median(list(opened.values())))
        every = [trial for trials in labels.values() for trial in trials]
        slots = max(number_param(trial, "slots") or 0.0 for trial in every)
        pages = min(trial.pages or 0 for trial in every)
        sparse = pages < MANY_ROUNDS * slots or any(trial.response_time for trial in every)
        for label, trials in labels.items():
            if any(trial.ledger and trial.ledger.repeated for trial in trials):
                unequal[point, label] = "requested a page twice"
            elif sparse and opened[label] > slots + MORE_OPENED * pages:
                unequal[point, label] = (
                    f"opened {opened[label]:.0f} connections for {slots:.0f} slots"
                )
            elif not sparse and abs(opened[label] - usual) > MORE_OPENED * min(
                trial.pages or 0 for trial in trials
            ):
                others = f"{usual:.0f} of the others"
                unequal[point, label] = f"opened {opened[label]:.0f} connections, {others}"
    return EqualWork(tuple(groups), unequal)
