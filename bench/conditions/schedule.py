"""An open loop: requests are due on a Poisson schedule, whatever happens."""

from __future__ import annotations

from dataclasses import dataclass, replace

from bench.conditions.condition import Condition, Fields, Params
from bench.sides.protocol import Command, Schedule
from bench.sides.sides import Sides


@dataclass(frozen=True, kw_only=True)
class Scheduled(Condition):
    per_s: int
    sleeps: bool = True
    seeded: bool = True

    def params(self, slots: int) -> Params:
        return {"rate": self.per_s}

    def command(self, command: Command, sides: Sides) -> Command:
        return replace(command, schedule=Schedule(kind="poisson", rate=self.per_s, seed=sides.seed))

    def seen(self, sides: Sides, rate: float) -> Fields:
        result, command = sides.result, sides.command
        assert result is not None
        assert command is not None
        # The rate of the schedule as drawn: a Poisson draw is seldom exactly its mean.
        urls, last_s = command.urls, result.last_due_s
        return {
            "offered_per_s": urls / last_s if urls and last_s else None,
            "achieved_per_s": rate,
            "late_starts": result.late,
            "response_time": sides.latency("response"),
        }
