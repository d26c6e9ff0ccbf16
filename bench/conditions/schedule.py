"""Requests that are due at set times: on a schedule, or while a closed loop starts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from bench.conditions import Condition, Fields, Params
from bench.schema import Ledger
from bench.sides.protocol import Command, Result, Schedule
from bench.sides.sides import Sides

if TYPE_CHECKING:  # a list of what to measure needs no numpy
    from bench.histograms import FloatArray as Floats


@dataclass(frozen=True, kw_only=True)
class Scheduled(Condition):
    """Arrivals on a schedule, after a warm-up.

    Of 4,000 requests in a second the first hundred, for which a slot starts and connects, would be
    more than the hundredth beyond a p99: threads had 7.2 ms with them and 0.85 ms without.
    """

    per_s: int
    warmup: int  # requests
    sleeps: bool = True
    seeded: bool = True

    def params(self, slots: int) -> Params:
        return {"rate": self.per_s, "warmup": self.warmup}

    def command(self, command: Command, sides: Sides) -> Command:
        schedule = Schedule(kind="poisson", rate=self.per_s, seed=sides.seed, warmup=self.warmup)
        return replace(command, schedule=schedule)

    def seen(self, sides: Sides, result: Result) -> Fields:
        # The rate of the schedule as drawn: a Poisson draw is seldom exactly its mean.
        urls, last_s = sides.command.urls, result.last_due_s
        return {
            "offered_per_s": urls / last_s if urls and last_s else None,
            "achieved_per_s": result.answered / result.elapsed_s if result.elapsed_s else 0.0,
            "late_starts": result.late,
            "response_time": sides.latency("response"),
            "service_time": sides.latency("warm"),
        }


# --- the start of a closed loop ------------------------------------------------------------


OPENED_PER_S = 10_000
"""Connections opened per second: the server accepts them faster than that."""

MADE_PER_S = 10_000
"""Slots that a backend makes per second, before the ramp begins.

Starting a thread takes most, about 0.1 ms. Without this time ten thousand threads would all be late
for the ramp, and open their connections at once after all.
"""


@dataclass(frozen=True, kw_only=True)
class Opening(Condition):
    """How a closed loop with many slots starts: at a pace, and measured when all are at work.

    A closed loop that starts all its slots at once opens all connections at once. With ten
    thousand of them the accept queue overflows, and the crawl measures the kernel's
    retransmissions. So the first request of each slot is due on a ramp. When a slot would start
    its second request before the ramp has ended, that request waits until then: a fast backend
    would otherwise use up the pages with the slots that it has. Second requests are spread over
    one delay, so that the answers do not all come at once. From then on nothing is paced. The
    ramp begins when even ten thousand threads should have been started.
    """

    slots: int
    delay_s: float

    @property
    def lead_s(self) -> float:
        """When the ramp begins, from the start of the crawl."""
        return self.slots / MADE_PER_S

    @property
    def ramp_s(self) -> float:
        """How long the ramp takes: at least one delay, so that answers are spread as well."""
        return max(self.slots / OPENED_PER_S, self.delay_s)

    @property
    def per_s(self) -> float:
        """Connections opened per second."""
        return self.slots / self.ramp_s

    @property
    def settled_s(self) -> float:
        """From when on answers come at the pace of a crawl with all its slots.

        Second requests wait for the end of a ramp that is longer than the delay.
        """
        waits_s = self.delay_s if self.ramp_s > self.delay_s else 0.0
        return self.lead_s + self.ramp_s + waits_s

    def params(self, slots: int) -> Params:
        return {"ramp_per_s": round(self.per_s)}

    def command(self, command: Command, sides: Sides) -> Command:
        schedule = Schedule(
            kind="ramp",
            rate=self.per_s,
            slots=self.slots,
            delay_s=self.delay_s,
            lead_s=self.lead_s,
        )
        return replace(command, schedule=schedule, recorder="slots")

    def seen(self, sides: Sides, result: Result) -> Fields:
        from bench.histograms import encode_latency

        part = steady(self, sides.seconds("ended"), sides.seconds("service"))
        if part is None:
            return {"elapsed_s": None, "pages_per_s": None}
        seconds, exchanges, service = part
        elapsed_s = result.answered / (exchanges / seconds)
        return {
            "elapsed_s": elapsed_s,
            "pages_per_s": result.pages / elapsed_s,
            "service_time": encode_latency(service),
        }

    def void(self, sides: Sides, result: Result, ledger: Ledger) -> str | None:
        return NOTHING_STEADY if sides.parts["pages_per_s"] is None else None


NOTHING_STEADY = "the list ran out before all slots should have been at work: too few pages"
"""Why a trial without a steady part does not count."""


def steady(opening: Opening, ended: Floats, service: Floats) -> tuple[float, int, Floats] | None:
    """The part of a crawl with a paced start in which all its slots should be at work.

    It begins when the start is over (:attr:`Opening.settled_s`), whether a
    backend has kept up with the start or not: what it has not opened by then is its own delay. It
    ends with the last start of an exchange, when the list has run out of pages.

    Takes when exchanges ended, from the start of the crawl, and how long they took. Gives the
    seconds of that part, the exchanges that ended in it, and the times of those that began in it;
    None where there is no such part.
    """
    started = ended - service
    since, until = opening.settled_s, float(started.max(initial=0.0))
    counted = int(((ended >= since) & (ended <= until)).sum())
    if until <= since or not counted:
        return None
    return until - since, counted, service[started >= since]
