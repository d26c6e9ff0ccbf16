"""Measures how fast this machine is, with a few ordinary trials before a campaign."""

from __future__ import annotations

import tempfile
from contextlib import ExitStack
from pathlib import Path
from statistics import median

from bench.plan.budget import trial_s
from bench.plan.cast import Cast
from bench.plan.labels import Label
from bench.plan.order import Turn
from bench.plan.workloads import Point, throughput
from bench.run import trial
from bench.run.campaign import out_of_the_way, start, warmup_server
from bench.run.servers import ServerError
from bench.run.state import Bench
from crawlers.backend import Backend

TRIALS = 3


def slowness(backend: Backend, point: Point | None = None, trials: int = TRIALS) -> float | None:
    """Time of a trial here over its time on the reference machine; the median of a few.

    None when no trial succeeds.
    """
    point = point or throughput(100, 5000, Cast(1))
    label = Label(backend.name)
    with ExitStack() as stack:
        pinning = stack.enter_context(out_of_the_way())
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="c10k-")))
        try:
            warmup = stack.enter_context(warmup_server(pinning))
            bench = Bench(warmup, {backend.name: backend}, pinning, seed=0, scratch=scratch)
            server = stack.enter_context(start(point, pinning))
        except ServerError:
            return None
        turns = (Turn(number, point.id, 0, label) for number in range(trials))
        records = [trial.run(bench, point, turn, server, turn.block) for turn in turns]
    times = [record.trial_s for record in records if record.status == "ok"]
    return median(times) / trial_s(point, label) if times else None
