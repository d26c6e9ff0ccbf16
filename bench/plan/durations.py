"""How long turns, trials and plans take.

Labels that take turns get the same time. A label that needs eight times as long for a
page fetches an eighth of the pages meanwhile, so it gets a smaller site: with equal sites
its crawl would go on, uncounted, for seven times as long as was measured. Every label has
a server of its own, so each crawl is still whole, and is checked page by page.

The pages that fill and empty the slots do not count, so every label has them on top. Nor do those
that a label with many threads fetches in each turn until it works as it does without stops.

The weights (weights.toml) need not be exact. If one is wrong, a crawl ends early, and the turns of
its block with it. The others' crawls then go on uncounted, and that time is lost. Where the first
pages of a site cost more than the others, turns count in the same part of every crawl
(:func:`bench.run.turns.level`).

The constants describe the machine of the reference campaign.
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from bench.plan.participants import BASE, Label
from bench.plan.plan import PlannedPoint
from bench.plan.workloads import Point
from crawlers.catalogue import OURS


@dataclass(frozen=True, slots=True)
class Weights:
    """A row of weights.toml."""

    listed: float = 3.0
    crawled: float | None = None
    many: float = 1.0
    many_crawled: float = 1.0
    few: float = 1.0
    alone: float = 1.0
    opened: float | None = None


_TABLE: Final = tomllib.loads(Path(__file__).with_name("weights.toml").read_text(encoding="utf-8"))
WEIGHTS: Final = {name: Weights(**row) for name, row in _TABLE.items()}
OTHER: Final = Weights()

DILUTED = 0.6
"""How much of a listed difference is left on a tree, for what has no weight there."""

MANY_SLOTS, FEW_SLOTS = 1000, 10

ASLEEP = {1: 1.9}
AWAKENED = 1.2
"""What a page takes from a server that sleeps: by slots, and with any other number of them."""

EDGES = 4
"""Pages for each slot that do not count: while slots fill up, and while the work runs out."""

PAGES_PER_SLOT = 6
"""The fewest pages for a slot: turns count only while each has work before and after."""


HELD_OVER_TLS = 0.12
"""How much of a difference between backends is left where each connection needs a handshake."""


TURN_S, LONG_TURN_S = 0.010, 0.020
"""How long a turn is meant to be: about where shorter stops helping, and with many slots.

A backend with a thousand slots reads hundreds of answers before it takes the next step, so
that a turn of 10 ms is part of one pass over its slots.
"""

WARM_S = 0.005
"""How long a backend runs before its turn counts: the caches hold what ran before it.

Without that, async libraries seem some 7 % dearer against callbacks, and more so while other
guests of the host use the caches: see docs/notebook/method-studies.md.
"""

ONLY_TURN_S = 0.040
"""The only turn in a round of a backend with several threads; all others take two.

Stops decide which of its threads has the interpreter's lock, and turns of 10 ms are mostly that.
Turns of 200 ms measure what those of 40 ms do: see docs/notebook/method-studies.md.
"""

LONG_TURN_SLOTS = 1000
"""From so many slots on turns are long."""


def turn_s(point: Point, label: Label) -> float:
    """How long a turn of this label should be, where labels take turns."""
    if once(point, label):
        return ONLY_TURN_S
    return LONG_TURN_S if point.slots >= LONG_TURN_SLOTS else TURN_S


def once(point: Point, label: Label) -> bool:
    """Whether a label takes one long turn in each round, and not two: no server does."""
    backend = OURS.get(label.name)
    return point.load is None and backend is not None and backend.several_threads


def round_s(point: Point, label: Label) -> float:
    """How long a label runs in a round: its turns, and before each of them."""
    return (WARM_S + turn_s(point, label)) * (1 if once(point, label) else 2)


def weight(point: Point, label: Label) -> float:
    """How long a page of this point takes with this label, in multiples of ``callbacks``."""
    row = WEIGHTS.get(label.name, OTHER)
    few = row.few if point.slots <= FEW_SLOTS else 1.0
    listed = row.listed * few
    under = point.under(label)
    opens = any(not condition.keep_alive and condition.tls is None for condition in under)
    if point.tls is not None:
        return 1 + HELD_OVER_TLS * (listed - 1)
    if point.urls is None:
        page = row.crawled * few if row.crawled else 1 + DILUTED * (listed - 1)
    elif row.opened and opens:
        page = row.opened
    else:
        page = listed + sum(condition.adds[0] + condition.adds[1] * listed for condition in under)
    if point.slots >= MANY_SLOTS:
        page *= row.many if point.urls else row.many_crawled
    if point.slots == 1:
        page *= row.alone
    asleep = any(condition.kind == "companion" for condition in under)
    return page * (ASLEEP.get(point.slots, AWAKENED) if asleep else 1.0)


def sized(point: Point, label: Label) -> Point:
    """The point as one label measures it: in turns, on a site that fits its speed."""
    if not point.interleaved or point.rounds or point.site.startswith("dir:"):
        return point
    kind, _, rest = point.site.split(":", 2)
    edges = EDGES * point.slots
    page_s = point.work_s / point.pages
    rounds = page_s * max(point.pages - edges, 0) / round_s(point, Label(BASE))
    counted = rounds * round_s(point, label) / (page_s * weight(point, label))
    aside = rounds * point.slots if once(point, label) else 0.0
    pages = max(edges + round(counted + aside), PAGES_PER_SLOT * point.slots)
    site = f"{kind}:{pages}:{rest}"
    for condition in point.under(label):
        site = condition.site(site)
    return replace(point, site=site)


# --- trials and plans --------------------------------------------------------------------


START_S = 0.25
"""A worker's start and warm-up, and the probes around it."""

TOGETHER_S = 0.45
"""A label's start in turns: its worker and its server, beside the others', on two processors."""

TURNS = 1.15
"""Turns take longer than the work in them: they fill up, stop and resume."""

SERVER_S = 0.35
"""Start and warm-up of a server for whole trials."""

SHARED_SERVER_SLOTS = 1000
"""The whole trials of a point in one block share a server, up to this many slots."""

CEILING_S = 1.3
"""Measuring the server's ceiling, once in each block of the campaign."""


def trial_s(point: Point, label: Label) -> float:
    if point.rounds:
        return TOGETHER_S + TURNS * point.rounds * round_s(point, label)
    share = sized(point, label).pages / point.pages
    work_s = point.work_s * weight(point, label) * share
    if point.interleaved:
        return TOGETHER_S + TURNS * work_s
    return point.waits_s + START_S + work_s


def plan_s(entries: Sequence[PlannedPoint]) -> float:
    total = CEILING_S * max((entry.blocks for entry in entries if entry.point.ceiling), default=0)
    for entry in entries:
        point = entry.point
        total += sum(n * trial_s(point, label) for label, n in entry.labels.items())
        if not point.interleaved:  # there, each label has its own, in TOGETHER_S
            trials = sum(entry.labels.values())
            servers = trials if point.slots > SHARED_SERVER_SLOTS else entry.blocks
            total += SERVER_S * servers
    return total
