"""A crawler is under test, and a fixture server is there for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Final

from bench.conditions.condition import Condition, Fields
from bench.controls import FAMILY, REPEATS
from bench.plan.workloads import SITE_SEED, Point
from bench.run.judge import limiter, slot_bound, void_reason
from bench.run.trial import Trial
from bench.run.turns import GroupEndedError
from bench.schema import Shares
from bench.sides.process import WorkerProcess
from bench.sides.progress import Progress
from bench.sides.protocol import Command, Result
from bench.sides.servers import Server, ServerError, authorities
from bench.sides.sides import Sides

MARGIN: Final = 2
"""A crawl with so many times the exchanges that it should have is broken, and may fail."""

PATIENCE: Final = 10.0
"""A crawl that takes turns may last so many times a point's deadline: it waits for the others."""


class Crawling(Sides):
    def __init__(self, trial: Trial, stack: ExitStack, server: Server | None = None) -> None:
        """Start a worker, and a server unless there is one; neither is waited for."""
        bench, pinning = trial.bench, trial.pinning
        self._trial, self._own, self._holds = trial, server is None, False
        self._before, self._served = (0.0, 0.0, 0.0), 0
        if server is None:
            cores, under = bench.pinning.server, trial.conditions
            server = stack.enter_context(start_server(trial.point, under, cores, wait=False))
        worker = WorkerProcess(
            python=bench.pythons[trial.turn.label.interpreter], extra_environment=trial.environment
        )
        stack.enter_context(worker)
        trial.unpinned = pinning.keep(worker.pid, pinning.client)
        super().__init__(
            server,
            worker,
            worker,
            server.child,
            slots=trial.point.slots,
            out=trial.times,
            seed=trial.schedule_seed,
            cores=bench.pinning.client,
        )

    def ready(self) -> None:
        """Wait for a server of its own: without one there is no campaign.

        Raises :class:`bench.sides.servers.ServerError` when it does not start.
        """
        if self._own:
            self.server.ready()

    def tell(self) -> None:
        """Tell the worker what to crawl; it warms up at once."""
        trial, point, server = self._trial, self._trial.point, self.server
        if not self._own:  # the trials of a block share it, and place it differently
            trial.unpinned = trial.unpinned or trial.pinning.keep(server.pid, trial.pinning.server)
        self.total = server.urls * (REPEATS if trial.backend.family == FAMILY else 1)
        if point.interleaved and all(one.counted for one in trial.conditions):
            self.progress = Progress(MARGIN * self.total)
            self.count = self.progress.count
        if not all(one.counted for one in point.varied):
            # For all labels: one way of counting for what is compared.
            self.count, self.look = lambda: self._served, self._look
        command = Command(
            backend=trial.turn.label.name,
            prefix=server.prefix,
            warmup_prefix=trial.warmup.prefix,
            urls=point.urls,
            slots=point.slots,
            timeout_s=trial.deadline_s * (PATIENCE if point.interleaved else 1),
            out=str(trial.times),
            progress=None if self.progress is None else self.progress.file,
            cafile=authorities(trial.times.with_suffix(".pem"), trial.warmup, server),
        )
        for one in trial.conditions:
            command = one.command(command, self)
        self.command = command
        self.worker.command(command)

    def warm(self) -> None:
        if self._own:
            self.server.warm()
        self.server.reset()

    def begin(self) -> None:
        """Read what was used so far. From now on everything is part of the trial."""
        self._before = (*self.server.cpu(), self.server.work_s())
        if self._trial.server_polls:
            self.server.poll(True)

    def rest(self) -> None:
        """Nothing is timed any more: the server may sleep."""
        if self._trial.server_polls:
            self.server.poll(False)
        if (used_s := sum(self._used())) > 0:
            self.working = (self.server.work_s() - self._before[2]) / used_s

    def _used(self) -> tuple[float, float]:
        user_s, system_s = self.server.cpu()
        return user_s - self._before[0], system_s - self._before[1]

    def collect(self) -> None:
        self.server_cpu = self._used()
        self.ledger = self.server.ledger()

    def reason(self, result: Result, parts: Fields) -> str | None:
        """Why the trial does not count, or None when it does."""
        trial, ledger = self._trial, self.ledger
        assert ledger is not None
        control = trial.backend.name if trial.backend.family == FAMILY else None
        return void_reason(
            trial.conditions,
            result,
            ledger,
            self.slots,
            self.server.digest,
            urls=trial.point.urls,
            control=control,
            parts=parts,
        )

    def strain(self, result: Result, rate: float, fields: Fields) -> Fields:
        """How busy both sides were, and what limited the trial."""
        trial, turns = self._trial, self._trial.turns
        if turns is None:
            client_s, wall_s = result.user_s + result.system_s, result.call_s
            server_s = sum(self.server_cpu)
        else:  # its own clocks ran on while it was stopped
            client_s, server_s, wall_s = turns.cpu_s, turns.server_cpu_s, turns.wall_s
        client = client_s / wall_s if wall_s else 0.0
        # A server that polls is always busy; what counts is its work.
        server = server_s / wall_s * min(1.0, self.working) if wall_s else 0.0
        # It was measured with keep-alive on plain HTTP, and says nothing about other ways.
        plain = all(one.keep_alive and one.tls is None for one in trial.conditions)
        shares = Shares(
            client_share=client,
            processors=trial.most_busy,
            server_share=server,
            ceiling_share=share_of(rate, trial.bench.ceiling if plain else None),
            offered_share=share_of(rate, fields.get("offered_per_s")),
            slots_share=share_of(rate, slot_bound(self.slots, trial.point.delay)),
        )
        limited = all(one.limited for one in trial.conditions)
        return {
            "shares": shares,
            "limiter": limiter(shares) if limited else None,
            "page_faults": result.page_faults,
            "server_polls": trial.server_polls,
        }

    @property
    def mechanism(self) -> Mapping[str, str | int]:
        return self.result.mechanism if self.result else {}

    def hold(self) -> None:
        self.server.hold()
        self._holds = True

    def held(self) -> int:
        return self.server.held()

    def release(self) -> None:
        if self._holds and self.server.alive:
            self.server.release()
        self._holds = False

    def _look(self) -> None:
        """Count exchanges at the server, where the cost of counting in the worker is measured.

        After a turn the server has answered what was still asked, so the number is ahead of the
        worker's by the requests in flight: as many after each turn, one or none for each slot.
        """
        try:
            self._served = self.server.served()
        except ServerError:
            raise GroupEndedError from None


def start_server(
    point: Point, conditions: Sequence[Condition], cores: list[int], *, wait: bool
) -> Server:
    """Start a fixture server. Raises what :class:`Server` raises."""
    options = [option for one in conditions for option in one.server()]
    return Server(
        point.site, delay=point.delay, seed=SITE_SEED, cores=cores, wait=wait, options=options
    )


def share_of(rate: float, most: float | None) -> float | None:
    return rate / most if most else None
