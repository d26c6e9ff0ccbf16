"""How a closed loop with many slots starts: at a pace, and measured when all slots are at work.

A closed loop that starts all its slots at once opens all connections at once. With ten
thousand of them the accept queue overflows, and the crawl measures the kernel's
retransmissions. So the first request of each slot is due on a ramp. When a slot would start its
second request before the ramp has ended, that request waits until then: a fast
backend would otherwise use up the pages with the slots that it has. Second requests are spread
over one delay, so that the answers do not all come at once. From then on nothing is paced.
The ramp begins when even ten thousand threads should have been started.
"""

from __future__ import annotations

from dataclasses import dataclass

OPENED_PER_S = 10_000
"""Connections opened per second: the server accepts them faster than that."""

MADE_PER_S = 10_000
"""Slots that a backend makes per second, before the ramp begins.

Starting a thread takes most, about 0.1 ms. Without this time ten thousand threads would all be late
for the ramp, and open their connections at once after all.
"""


@dataclass(frozen=True, slots=True)
class Opening:
    """The ramp of so many slots behind a delay."""

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
    def opened_s(self) -> float:
        """When the ramp ends, from the start of the crawl."""
        return self.lead_s + self.ramp_s

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
        return self.opened_s + self.delay_s * self.held
