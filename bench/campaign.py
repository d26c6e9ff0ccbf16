"""A campaign: its blocks one after the other, every record on the disk at once."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from statistics import median
from typing import Any

from bench import ceiling, interrupts, trial
from bench.backends import Known
from bench.order import Turn
from bench.plan import Plan
from bench.probes import cpu
from bench.process import OWN_PYTHON
from bench.progress import Display, Estimate
from bench.schema import CampaignRecord, CeilingRecord, EndRecord, TrialRecord
from bench.servers import Server, ServerError
from bench.store import Store
from bench.trial import Bench
from bench.workloads import NULL_SUFFIX, SITE_SEED, WARMUP_SITE, Point, backend_of

INTERRUPTED = "interrupted"
SHARED_SERVER_SLOTS = 1000
"""Trials of one block and point share a server up to so many slots."""


@dataclass(slots=True)
class Campaign:
    """One run of a campaign, from where it stands to its end."""

    record: CampaignRecord
    plan: Plan
    store: Store
    display: Display
    backends: Mapping[str, Known]
    trials: list[TrialRecord] = field(default_factory=list)
    ceilings: list[CeilingRecord] = field(default_factory=list)
    refusals: Mapping[tuple[str, str], str] = field(default_factory=dict)
    deadline_s: float | None = None
    pythons: Mapping[str, Sequence[str]] = field(default_factory=lambda: {"": OWN_PYTHON})
    _estimate: Estimate = field(init=False)
    _left: list[Turn] = field(init=False)
    _began: float = field(init=False, default=0.0)
    _trials_s: float = field(init=False, default=0.0)
    _number: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        self._estimate = Estimate(self.plan.points)
        for record in self.trials:
            self._estimate.learn(record)
        done = {trial.key(record) for record in self.trials}
        self._left = [turn for turn in self.plan.turns if turn.key not in done]
        self._number = max((record.trial for record in self.trials), default=-1) + 1

    def run(self) -> EndRecord:
        """Run all trials that are not yet done, and write the last record.

        Ctrl-C and SIGTERM end it in good order, with ``complete=False``.
        """
        self._began = time.monotonic()
        reason = None
        with interrupts.deferred(), ExitStack() as stack:
            try:
                self._run(stack)
                stack.close()
            except KeyboardInterrupt:
                reason = INTERRUPTED
            except ServerError as error:
                reason = str(error)
            finally:
                self.display.close()
            end = EndRecord(
                ended=trial.now(),
                complete=reason is None,
                reason=reason,
                wall_s=time.monotonic() - self._began,
                trial_wall_s=self._trials_s,
            )
            self.store.append(end)
        return end

    def _run(self, stack: ExitStack) -> None:
        pinning = stack.enter_context(out_of_the_way())
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="c10k-")))
        bench = Bench(
            warmup=stack.enter_context(warmup_server(pinning)),
            backends=self.backends,
            pinning=pinning,
            seed=self.record.seed,
            scratch=scratch,
            deadline_s=self.deadline_s,
            pythons=self.pythons,
        )
        self._learn_ceilings(bench)
        for (_, point_id), turns in groupby(list(self._left), lambda t: (t.block, t.point)):
            self._point(bench, stack, self.plan.points[point_id], list(turns))

    def _point(self, bench: Bench, campaign: ExitStack, point: Point, turns: list[Turn]) -> None:
        """One block of one point: a fresh server, and every label's trial.

        A server that somebody ended costs the trial that it was in, and no more.
        """
        with ExitStack() as stack:
            server: Server | None = None
            for turn in turns:
                if refusal := self.refusals.get((point.id, turn.label)):
                    self._keep(refused(bench, point, turn, self._number, refusal))
                    continue
                if not bench.warmup.listens:
                    self.display.note("the warm-up server is gone; starting another")
                    bench.warmup = campaign.enter_context(warmup_server(bench.pinning))
                # A large hold leaves thousands of connections behind in the server's
                # ports and memory, so the next one gets a server of its own.
                if server is None or not server.listens or point.slots > SHARED_SERVER_SLOTS:
                    stack.close()
                    self._show(f"{point.id}: starting the server")
                    server = stack.enter_context(start(point, bench.pinning))
                    if point.ceiling:
                        self._ceiling(bench, point, server, turn.block)
                self._show(
                    f"block {turn.block + 1}/{len(self.plan.blocks)} {point.id} {turn.label}"
                )
                self._keep(trial.run(bench, point, turn, server, self._number))

    def _ceiling(self, bench: Bench, point: Point, server: Server, block: int) -> None:
        """Measure the server's ceiling, once in each block."""
        if any(record.block == block for record in self.ceilings):
            return
        self._show(f"{point.id}: the server's ceiling")
        try:
            record = ceiling.measure(server, block, bench.pinning.client)
        except ceiling.CeilingError as error:
            self.display.note(f"the server's ceiling is not known for block {block + 1}: {error}")
            return
        self.store.append(record)
        self.ceilings.append(record)
        self._learn_ceilings(bench)

    def _learn_ceilings(self, bench: Bench) -> None:
        """The ceiling that stamps go by: the median of what was measured so far."""
        if self.ceilings:
            bench.ceilings[""] = median(record.requests_per_s for record in self.ceilings)

    def _keep(self, record: TrialRecord) -> None:
        """Write a trial down and count it."""
        self.store.append(record)
        self.trials.append(record)
        self._left.pop(0)
        self._number += 1
        self._trials_s += record.trial_s
        self._estimate.learn(record)
        self._estimate.learn_overhead(time.monotonic() - self._began, self._trials_s)
        self.display.advance(record)

    def _show(self, what: str) -> None:
        self.display.now(what, self._estimate.left_s(self._left))


def warmup_server(pinning: cpu.Pinning) -> Server:
    """The server on which every worker warms up, whatever its workload.

    One small site without delay, so that all backends warm up alike and a
    trial's own server sees nothing but the trial.
    """
    return Server(WARMUP_SITE, seed=SITE_SEED, cores=pinning.server)


def start(point: Point, pinning: cpu.Pinning) -> Server:
    """The server for one block of a point, warmed."""
    server = Server(point.site, delay=point.delay, seed=SITE_SEED, cores=pinning.server)
    server.warm()
    return server


def refused(bench: Bench, point: Point, turn: Turn, number: int, reason: str) -> TrialRecord:
    """The record of a trial that this machine's limits do not allow."""
    known = bench.backends[backend_of(turn.label)]
    nothing: dict[str, Any] = dict.fromkeys(trial.EMPTY)
    return TrialRecord(
        trial=number,
        block=turn.block,
        position=turn.position,
        workload=point.workload,
        point=point.id,
        params=trial.params(point, turn),
        backend=known.name,
        label=turn.label.removesuffix(NULL_SUFFIX),
        family=known.family,
        rung=known.rung,
        status="refused",
        reason=reason,
        started=trial.now(),
        trial_s=0.0,
        statuses={},
        errors={},
        digest_expected=None,
        mechanism={},
        kernel={},
        host=None,
        pinning={},
        seeds={},
        **nothing,
    )


@contextmanager
def out_of_the_way() -> Iterator[cpu.Pinning]:
    """Decide who runs where, and keep the harness off the client's processor."""
    pinning = cpu.split_cores()
    before = os.sched_getaffinity(0) if pinning.harness else None
    if before:
        cpu.pin(os.getpid(), pinning.harness)
    try:
        yield pinning
    finally:
        if before:
            cpu.pin(os.getpid(), sorted(before))
