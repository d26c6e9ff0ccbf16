"""The two ends of a trial, as the runner sees them: one is under test, the other is there for it.

Either a worker crawls the site of a fixture server, or a load asks a server under test
(:mod:`bench.run.serving`). Both are told by a :class:`bench.sides.protocol.Command` and answer with
a :class:`bench.sides.protocol.Result`, so :mod:`bench.run.block` runs both alike.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any, Final

from bench.controls import FAMILY, REPEATS
from bench.machine import memory
from bench.plan.workloads import SITE_SEED, WORK_EVERY
from bench.run import record
from bench.run.judge import crawl_reason
from bench.run.trial import Trial, recorder
from bench.run.turns import GroupEndedError
from bench.run.working import measure as calibrate
from bench.sides.process import Child, WorkerProcess
from bench.sides.progress import Progress
from bench.sides.protocol import Command, Schedule, Working
from bench.sides.servers import Server, ServerError

MARGIN: Final = 2
"""A crawl with so many times the exchanges that it should have is broken, and may fail."""

PATIENCE: Final = 10.0
"""A crawl that takes turns may last so many times a point's deadline: it waits for the others."""


class Sides(ABC):
    """Both ends of one trial, from their start to what they saw."""

    start_s = 30.0  # how long it may take to get ready
    theirs: Sequence[str] = memory.WATCH  # what the other end holds (memory.kernel_growth)
    settle_s = 0.1  # between "all are held" and the reading, so that everybody can go to sleep

    def __init__(
        self, trial: Trial, server: Server, worker: WorkerProcess, tested: Child, other: Child
    ) -> None:
        self.trial, self.server, self.worker = trial, server, worker
        self.tested, self.other = tested, other
        self.progress: Progress | None = None
        self.total = 10**12  # exchanges; a load has no end
        self.count: Callable[[], int] = int
        self.look: Callable[[], None] | None = None  # see :class:`bench.run.turns.Taker`
        self.server_cpu = (0.0, 0.0)
        self.working = 1.0  # share of the server's time that was not polling

    @abstractmethod
    def ready(self) -> None:
        """Wait for a fixture server: without one there is no campaign.

        Raises :class:`bench.sides.servers.ServerError` when it does not start.
        """

    @abstractmethod
    def tell(self) -> None:
        """Tell the worker what to do; it warms up at once."""

    @abstractmethod
    def warm(self) -> None:
        """Make the server warm, and see to it that it counts from now on."""

    @abstractmethod
    def begin(self) -> None:
        """Read what was used so far. From now on everything is part of the trial."""

    @abstractmethod
    def rest(self) -> None:
        """Nothing is timed any more: the other end may sleep, and may stop."""

    @abstractmethod
    def collect(self) -> None:
        """Ask both ends what they saw, when the worker has given its result."""

    @abstractmethod
    def reason(self) -> str | None:
        """Why the trial does not count, or None when it does."""

    @abstractmethod
    def fields(self) -> dict[str, Any]:
        """The fields of the record that need a result."""

    @abstractmethod
    def hold(self) -> None:
        """Keep every connection open from now on."""

    @abstractmethod
    def held(self) -> int: ...

    @abstractmethod
    def release(self) -> None: ...


class Crawling(Sides):
    """A crawler under test, and a fixture server."""

    def __init__(self, trial: Trial, stack: ExitStack, server: Server | None = None) -> None:
        """Start a worker, and a server unless there is one; neither is waited for."""
        bench, point = trial.bench, trial.point
        self._own = server is None
        if server is None:
            server = Server(
                point.site,
                delay=point.delay,
                seed=SITE_SEED,
                cores=bench.pinning.server,
                wait=False,
                tls=trial.way.tls,
            )
            stack.enter_context(server)
        worker = WorkerProcess(
            python=bench.pythons[trial.turn.label.interpreter],
            hash_seed=trial.hash_seed,
            extra_environment=trial.environment,
        )
        stack.enter_context(worker)
        trial.unpinned = trial.pinning.keep(worker.pid, trial.pinning.client)
        super().__init__(trial, server, worker, worker, server.child)
        self._before = (0.0, 0.0, 0.0)

    def ready(self) -> None:
        if self._own:
            self.server.ready()

    def tell(self) -> None:
        trial, server = self.trial, self.server
        if not self._own:  # the trials of a block share it, and place it differently
            trial.unpinned = trial.unpinned or trial.pinning.keep(server.pid, trial.pinning.server)
        self.total = server.urls * (REPEATS if trial.backend.family == FAMILY else 1)
        if trial.point.interleaved and not trial.turn.label.null_recorder:
            self.progress = Progress(MARGIN * self.total)
            self.count = self.progress.count
        if trial.point.null_recorder:  # for all labels: one way of counting for what is compared
            ledger = LedgerCount(server)
            self.count, self.look = ledger.count, ledger.look
        if trial.point.work_ms is not None:
            trial.round_us = calibrate(server, trial.bench.pinning.client)
        self.worker.command(command(trial, self))

    def warm(self) -> None:
        trial, server = self.trial, self.server
        if self._own:
            server.warm()
        if trial.rounds:
            trial.work_expected = trial.bench.work.check(
                trial.point, server, trial.rounds, trial.schedule_seed
            )
        server.reset()

    def begin(self) -> None:
        self._before = (*self.server.cpu(), self.server.work_s())
        if self.trial.server_polls:
            self.server.poll(True)

    def _used(self) -> tuple[float, float]:
        user_s, system_s = self.server.cpu()
        return user_s - self._before[0], system_s - self._before[1]

    def rest(self) -> None:
        if self.trial.server_polls:
            self.server.poll(False)
        if (used_s := sum(self._used())) > 0:
            self.working = (self.server.work_s() - self._before[2]) / used_s

    def collect(self) -> None:
        self.server_cpu = self._used()
        self.trial.ledger = self.server.ledger()

    def reason(self) -> str | None:
        return crawl_reason(self.trial, self.server.digest)

    def fields(self) -> dict[str, Any]:
        return record.measured(self.trial, self.server_cpu, self.working)

    def hold(self) -> None:
        self.server.hold()

    def held(self) -> int:
        return self.server.held()

    def release(self) -> None:
        if self.server.alive:
            self.server.release()


def command(trial: Trial, sides: Sides) -> Command:
    point, server = trial.point, sides.server
    schedule = None
    if point.rate is not None:
        schedule = Schedule(kind="poisson", rate=point.rate, seed=trial.schedule_seed)
    elif point.opening is not None:
        schedule = Schedule(
            kind="ramp",
            rate=point.opening.per_s,
            slots=point.slots,
            delay_s=point.opening.delay_s,
            lead_s=point.opening.lead_s,
        )
    elif point.ramp_per_s is not None:
        schedule = Schedule(kind="constant", rate=point.ramp_per_s)
    rounds = trial.rounds
    return Command(
        backend=trial.turn.label.name,
        prefix=server.prefix,
        warmup_prefix=trial.warmup.prefix,
        urls=point.urls,
        slots=point.slots,
        timeout_s=trial.deadline_s * (PATIENCE if point.interleaved else 1),
        schedule=schedule,
        switch_interval_s=point.switch_interval_s,
        recorder=recorder(point, trial.turn),
        out=str(trial.times),
        progress=None if sides.progress is None else sides.progress.file,
        cafile=trial.cafile(server),
        keep_alive=trial.way.keep_alive,
        cancel=point.kind == "cancel",
        work=Working(rounds=rounds, every=WORK_EVERY, seed=trial.schedule_seed) if rounds else None,
        flip=trial.flip,
    )


class LedgerCount:
    """Exchanges counted at the server, where the cost of counting in the worker is measured.

    After a turn the server has answered what was still asked, so the number is ahead of the
    worker's by the requests in flight: as many after each turn, one or none for each slot.
    """

    def __init__(self, server: Server) -> None:
        self._server, self._served = server, 0

    def count(self) -> int:
        return self._served

    def look(self) -> None:
        try:
            self._served = self._server.served()
        except ServerError:
            raise GroupEndedError from None
