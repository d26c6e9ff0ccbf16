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
from bench.sides.protocol import Result
from bench.sides.servers import Server, ServerError

MARGIN: Final = 2
"""A crawl with so many times the exchanges that it should have is broken, and may fail."""


class Crawling(Trial):
    _own = False  # it has a server of its own
    _holds = False  # which holds its answers back
    _by_ledger = False  # counts exchanges at the server, since that is not free in the worker
    _before = 0.0, 0.0, 0.0
    _served = 0
    _working = 1.0  # share of the server's time that was not polling

    def start(self, stack: ExitStack, server: Server | None) -> None:
        cores = self.bench.pinning.server
        self._own = server is None
        # For all labels of the block: one way of counting for what is compared.
        self._by_ledger = not all(condition.counted for condition in self.point.varied)
        if server is None:
            server = start_server(self.point, self.conditions, cores)
            stack.enter_context(server)
        self.server = server
        python = self.bench.pythons[self.turn.label.interpreter]
        self.worker = WorkerProcess(python=python, extra_environment=self.environment)
        stack.enter_context(self.worker)
        self.tested, self.other = self.worker, server.child
        self.pin(self.worker.pid, self.pinning.client)

    def ready(self) -> None:
        if self._own:
            self.server.ready()

    def tell(self) -> None:
        if not self._own:  # the trials of a block share it, and place it differently
            self.pin(self.server.pid, self.pinning.server)
        total = self.server.urls * (REPEATS if self.backend.family == FAMILY else 1)
        self.taker.total = total
        if self.point.interleaved and all(condition.counted for condition in self.conditions):
            self.progress = Progress(MARGIN * total)
        super().tell()

    def warm(self) -> None:
        if self._own:
            self.server.warm()
        self.server.reset()

    def count(self) -> int:
        if self._by_ledger or self.progress is None:
            return self._served
        return self.progress.count()

    def look(self) -> None:
        """Count exchanges at the server, where the worker does not.

        After a turn the server has answered what was still asked, so the number is ahead of the
        worker's by the requests in flight: as many after each turn, one or none for each slot.
        """
        if self._by_ledger:
            try:
                self._served = self.server.served()
            except ServerError:
                raise GroupEndedError from None

    def begin(self) -> None:
        self._before = (*self.server.cpu(), self.server.work_s())
        if self.server_polls:
            self.server.poll(True)

    def rest(self) -> None:
        if self.server_polls:
            self.server.poll(False)
        if (used_s := sum(self._used())) > 0:
            self._working = (self.server.work_s() - self._before[2]) / used_s

    def _used(self) -> tuple[float, float]:
        user_s, system_s = self.server.cpu()
        return user_s - self._before[0], system_s - self._before[1]

    def collect(self) -> None:
        self.server_cpu = self._used()
        self.ledger = self.server.ledger()

    def why_void(self, result: Result, parts: Fields) -> str | None:
        assert self.ledger is not None
        return void_reason(
            self.conditions,
            result,
            self.ledger,
            self.slots,
            self.server.digest,
            urls=self.point.urls,
            control=self.backend.name if self.backend.family == FAMILY else None,
            parts=parts,
        )

    def strain(self, result: Result, fields: Fields) -> Fields:
        turns, elapsed_s = self.turns, fields["elapsed_s"]
        rate = result.answered / elapsed_s if elapsed_s else 0.0
        if turns is None:
            client_s, wall_s = result.user_s + result.system_s, result.call_s
            server_s = sum(self.server_cpu)
        else:  # its own clocks ran on while it was stopped
            client_s, server_s, wall_s = turns.cpu_s, turns.server_cpu_s, turns.wall_s
        # It was measured with keep-alive on plain HTTP, and says nothing about other ways.
        plain = all(condition.keep_alive and not condition.tls for condition in self.conditions)
        shares = Shares(
            client_share=client_s / wall_s if wall_s else 0.0,
            processors=self.most_busy,
            # A server that polls is always busy; what counts is its work.
            server_share=server_s / wall_s * min(1.0, self._working) if wall_s else 0.0,
            ceiling_share=share_of(rate, self.bench.ceiling if plain else None),
            offered_share=share_of(rate, fields.get("offered_per_s")),
            slots_share=share_of(rate, slot_bound(self.slots, self.point.delay)),
        )
        limited = all(condition.limited for condition in self.conditions)
        return {
            "shares": shares,
            "limiter": limiter(shares) if limited else None,
            "page_faults": result.page_faults,
            "server_polls": self.server_polls,
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


def start_server(point: Point, conditions: Sequence[Condition], cores: list[int]) -> Server:
    """Start a fixture server; it is not waited for."""
    options = [option for condition in conditions for option in condition.server()]
    return Server(
        point.site, delay=point.delay, seed=SITE_SEED, cores=cores, wait=False, options=options
    )


def share_of(rate: float, most: float | None) -> float | None:
    return rate / most if most else None
