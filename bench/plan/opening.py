"""How a closed loop with many slots starts: at a pace, and measured when all slots are at work.

A closed loop that starts all its slots at once opens all connections at once. With ten
thousand of them the accept queue overflows, and the crawl measures the kernel's
retransmissions. So the first request of each slot is due on a ramp. When a slot would start its
second request before the ramp has ended, that request waits until then: a fast
backend would otherwise use up the pages with the slots that it has. Second requests are spread
over one delay, so that the answers do not all come at once. From then on nothing is paced.
"""

from __future__ import annotations

from dataclasses import dataclass

OPENED_PER_S = 10_000
"""Connections opened per second: threads start at about this pace, and the server keeps up."""


@dataclass(frozen=True, slots=True)
class Opening:
    """The ramp of so many slots behind a delay."""

    slots: int
    delay_s: float

    @property
    def ramp_s(self) -> float:
        """How long the ramp takes: at least one delay, so that answers are spread as well."""
        return max(self.slots / OPENED_PER_S, self.delay_s)

    @property
    def per_s(self) -> float:
        """Connections opened per second."""
        return self.slots / self.ramp_s

    @property
    def held(self) -> bool:
        """Whether second requests wait for the end of the ramp."""
        return self.ramp_s > self.delay_s

    @property
    def settled_s(self) -> float:
        """From when on answers come at the pace of a crawl with all its slots."""
        return self.ramp_s + self.delay_s * self.held
