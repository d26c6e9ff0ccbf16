"""A campaign: runs its blocks one after another and writes every record to disk at once."""

from __future__ import annotations

import time
from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import groupby

from bench import store
from bench.plan.durations import SHARED_SERVER_SLOTS, trial_s
from bench.plan.plan import Plan, PlannedTrial, key
from bench.plan.workloads import Point
from bench.run import block, ceiling
from bench.run.block import refused
from bench.run.trial import Bench, made, start_server
from bench.schema import EndRecord, TrialRecord
from bench.sides.process import ProcessError, deferred
from bench.sides.servers import Server, ServerError
from bench.store import Log, Records
from bench.terminal import Phases
from bench.text import now

INTERRUPTED = "interrupted"


@dataclass(slots=True)
class Campaign:
    """One run of a campaign, from its first missing trial to its end."""

    earlier: Records  # of a new campaign: the first alone
    plan: Plan
    store: Log
    display: Phases
    bench: Bench
    _left: list[PlannedTrial] = field(init=False)
    _began: float = field(init=False, default=0.0)
    _trials_s: float = field(init=False, default=0.0)
    _planned_s: float = field(init=False, default=0.0)  # for the trials that have run
    _number: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        trials = self.earlier.every_trial
        done = {key(record) for record in trials}
        self._left = [trial for trial in self.plan.trials if trial.key not in done]
        self._number = max((record.trial for record in trials), default=-1) + 1

    def run(self) -> EndRecord:
        """Run all trials that are missing, and write the last record.

        Ctrl-C, SIGTERM and SIGHUP stop it cleanly, with ``complete=False``.
        """
        self._began = time.monotonic()
        self.display.phase("", len(self.plan.trials))
        reason = None
        with deferred():
            try:
                with self.bench.opened():
                    for (_, point), some in groupby(self._left[:], lambda t: (t.block, t.point)):
                        self._point(self.plan.points[point], list(some))
            except (KeyboardInterrupt, BrokenPipeError):  # the reader of our output is gone
                reason = INTERRUPTED
            except (ProcessError, ServerError) as error:
                reason = str(error)
            finally:
                self.display.close()
            end = EndRecord(
                ended=now(),
                complete=reason is None,
                reason=reason,
                wall_s=time.monotonic() - self._began,
                trial_wall_s=self._trials_s,
            )
            self.store.append(end)
        return end

    def _point(self, point: Point, planned: list[PlannedTrial]) -> None:
        """One block of one point: all its labels in turns, or a whole trial of each.

        Whole trials share a server. One that is killed fails the trial that was running, and no
        other. What takes turns is recorded when all have ended, all or none: half a block could
        not be paired with the half that a resume adds.
        """
        block_number = planned[0].block
        if point.ceiling and all(known.block != block_number for known in self.earlier.ceilings):
            self._ceiling(point, block_number)
        with ExitStack() as stack:
            shared: Server | None = None
            for together in [planned] if point.interleaved else [[one] for one in planned]:
                trials = [
                    made(self.bench, point, one, number)
                    for number, one in enumerate(together, self._number)
                ]
                able = [trial for trial in trials if trial.going]
                records = [refused(trial) for trial in trials if not trial.going]
                if able:
                    if point.load is None and not point.interleaved:
                        shared = self._fit(shared, stack, point)
                    names = ", ".join(str(trial.label) for trial in able)
                    where = f"block {block_number + 1}/{len(self.plan.blocks)} {point.id}"
                    self._show(f"{where} {names}")
                    measured, log = block.run(able, shared)
                    records += measured
                    if point.interleaved:
                        store.append_turns(self.store.path.parent, log)
                self._keep(*sorted(records, key=lambda record: record.trial))

    def _fit(self, server: Server | None, stack: ExitStack, point: Point) -> Server:
        """The server of the trials before, or another.

        A large hold leaves thousands of connections behind in the server's ports and memory, so
        the next one gets a server of its own.
        """
        used_up = point.slots > SHARED_SERVER_SLOTS
        if server is not None and not used_up and server.listens:
            return server
        stack.close()
        self._show(f"{point.id}: starting the server")
        server = stack.enter_context(self._server(point))
        server.warm()
        return server

    def _server(self, point: Point) -> Server:
        return start_server(point, point.conditions, self.bench.pinning.server)

    def _ceiling(self, point: Point, number: int) -> None:
        with self._server(point) as server:
            server.warm()
            self._show(f"{point.id}: the server's ceiling")
            record = ceiling.measure(server, number, self.bench.pinning.client)
        if record.reason is not None and not self.earlier.ceilings:
            self._note(record.reason)
        self.store.append(record)
        self.earlier.ceilings.append(record)

    def _keep(self, *records: TrialRecord) -> None:
        self.store.append(*records)
        for record in records:
            self._planned_s += self._plan_s([self._left.pop(0)])
            self._number += 1
            self._trials_s += record.trial_s
            if record.status != "ok":
                self._note(f"{record.status}: {record.label} on {record.point}: {record.reason}")

    def _show(self, what: str) -> None:
        left_s = self._left_s(time.monotonic() - self._began)
        self.display.to(len(self.plan.trials) - len(self._left), what, left_s)

    def _note(self, text: str) -> None:
        self.display.console.print(text)

    def _left_s(self, wall_s: float) -> float:
        """How long the rest will take: what the plan gives it, at the pace of what has run."""
        pace = wall_s / self._planned_s if self._planned_s else 1.0
        return pace * self._plan_s(self._left)

    def _plan_s(self, trials: Iterable[PlannedTrial]) -> float:
        able = (one for one in trials if (one.point, one.label) not in self.bench.refusals)
        return sum(trial_s(self.plan.points[one.point], one.label) for one in able)
