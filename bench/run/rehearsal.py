"""A few seconds of A/A before a campaign: how fast is this machine, and how noisy?

Two small blocks in turns, with each of a few backends under two labels. They are like
the blocks of the campaign, so their time against the plan's says how long the campaign
will take, start-up included; and how far a backend is from itself says which noise
floor to expect.
"""

from __future__ import annotations

import math
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean

from bench.plan.budget import block_s
from bench.plan.cast import TWINS, Cast
from bench.plan.labels import Label
from bench.plan.order import Turn
from bench.plan.plan import PlannedPoint
from bench.plan.workloads import Point, fetch
from bench.run import together
from bench.run.campaign import out_of_the_way, warmup_server
from bench.run.servers import ServerError
from bench.run.state import Bench
from bench.schema import TrialRecord
from crawlers.backend import Backend

BLOCKS = 2
URLS = 15_000
LIKELY = 1.96
"""A floor is what A/A differences stay below 19 times in 20."""


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """What a rehearsal has shown.

    ``slowness`` is the time of a block here over its time on the reference machine.
    ``spread`` is how far a backend was from itself within one block, as the root mean
    square of the logarithm of the ratio of processor times per page; None if unknown.
    ``work_s`` is how much work of the reference machine each label did for that.
    """

    slowness: float
    spread: float | None
    work_s: float

    def floor_percent(self, work_s: float, blocks: int) -> float | None:
        """The floor to expect, ±x %, from so many blocks with so much work for each label.

        The disturbance is short, so that it averages out over turns as it does over blocks.
        """
        if self.spread is None or not work_s:
            return None
        log = LIKELY * self.spread * math.sqrt(self.work_s / work_s / blocks)
        return 100 * math.expm1(log)


def rehearse(
    known: Sequence[Backend], point: Point | None = None, blocks: int = BLOCKS
) -> Rehearsal | None:
    """Run a few small blocks with every backend that is usually a twin; None if none succeeds."""
    point = point or fetch(100, URLS, Cast(blocks))
    names = [backend.name for backend in known if backend.name in TWINS] or [known[0].name]
    labels = [Label(name, twin=twin) for name in names for twin in (False, True)]
    entry = PlannedPoint(point, dict.fromkeys(labels, 1))
    logs, took, planned = [], 0.0, 0.0
    with ExitStack() as stack:
        pinning = stack.enter_context(out_of_the_way())
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="c10k-")))
        try:
            warmup = stack.enter_context(warmup_server(pinning))
            bench = Bench(warmup, {backend.name: backend for backend in known}, pinning, 0, scratch)
            for block in range(blocks):
                turns = {
                    place: Turn(block, point.id, place, label) for place, label in enumerate(labels)
                }
                began = time.monotonic()
                records, _ = together.run(bench, point, turns)
                # Void for want of a counted turn: the block took its time all the same.
                if all(record.status in ("ok", "void") for record in records):
                    took += time.monotonic() - began
                    planned += block_s(entry)
                    logs += ratios(records)
        except ServerError:
            return None
    if not planned:
        return None
    spread = math.sqrt(fmean(log * log for log in logs)) if logs else None
    return Rehearsal(took / planned, spread, point.work_s)


def ratios(records: Sequence[TrialRecord]) -> list[float]:
    """For each backend the logarithm of its twin's processor time per page over its own."""
    costs = {
        Label.of(record): record.turns.cpu_s / record.turns.exchanges
        for record in records
        if record.turns is not None and record.turns.exchanges and record.turns.cpu_s
    }
    return [
        math.log(cost / costs[replace(label, twin=False)])
        for label, cost in costs.items()
        if label.twin and replace(label, twin=False) in costs
    ]
