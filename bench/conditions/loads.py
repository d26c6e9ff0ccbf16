"""A server is under test: how the load asks it (:class:`bench.sides.protocol.Load`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from bench.conditions import Condition, Fields, Params
from bench.machine.cpu import Pinning
from bench.schema import LoadReport, Quantiles
from bench.sides.protocol import WORK_EVERY, Command, How, Load, Result
from bench.sides.sides import Sides


@dataclass(frozen=True, kw_only=True)
class UnderLoad(Condition):
    how: How
    per_s: int | None = None  # on a schedule
    seconds: float = 0.0  # of the schedule
    work_ms: float | None = None

    def params(self, slots: int) -> Params:
        return {
            "role": "server",
            **({"rate": self.per_s} if self.per_s else {}),
            **({"connections": slots} if self.fills else {}),
            **({"work_ms": self.work_ms} if self.work_ms else {}),
        }

    def server(self) -> Sequence[str]:
        return ("--work", f"{WORK_EVERY}:{self.work_ms:g}") if self.work_ms else ()

    def command(self, command: Command, sides: Sides) -> Command:
        load = Load(
            how=self.how,
            awake=sides.server_polls,
            rate=self.per_s or 0,
            seconds=self.seconds,
            seed=sides.seed,
            every=WORK_EVERY if self.work_ms else 0,
        )
        return replace(command, load=load)

    def place(self, now: Pinning, narrow: Pinning, name: str) -> Pinning:
        return narrow if now == narrow or self.fills else narrow.spread("apart")

    def seen(self, sides: Sides, result: Result) -> Fields:
        report = LoadReport(
            connections_opened=result.loaded.connections if result.loaded else None,
            working=quantiles(sides, "working"),
            alone=quantiles(sides, "alone"),
        )
        others = sides.latency("others")
        if others is None:
            return {"loaded": report}
        return {
            "loaded": report,
            "response_time": others,
            "offered_per_s": self.per_s,
            "late_starts": result.late,
        }


def quantiles(sides: Sides, name: str) -> Quantiles | None:
    times = sides.latency(name)
    return Quantiles(p50_ms=times.p50_ms, p90_ms=times.p90_ms) if times else None


def under(
    how: How, per_s: int | None = None, seconds: float = 0.0, work_ms: float | None = None
) -> UnderLoad:
    """A load with its schedule; one that only holds has no processor to keep awake."""
    return UnderLoad(
        how=how,
        per_s=per_s,
        seconds=seconds,
        work_ms=work_ms,
        sleeps=how == "hold",
        seeded=how == "schedule",
        fills=how in ("hold", "slow"),
    )
