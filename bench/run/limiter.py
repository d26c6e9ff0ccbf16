"""What limited a trial: the client, the server, the schedule, or it is unclear.

The rules, in this order; the thresholds are the constants below:

1. ``client``: the worker used at least 90 % of its processors, the server did not.
2. ``server``: the server used at least 90 % of a processor and the client did
   not, or the trial reached 85 % of the server's measured ceiling.
3. ``schedule``: an open loop achieved 95 % of its offered rate; or a closed
   loop behind a delay reached 80 % of slots / mean delay, the most that so
   many slots can do; or it left both processors idle for at least 30 % of the
   time, so that it mostly waited (ramp-up and last answers included).
4. ``unclear`` otherwise: both were busy, or neither was. A single slot without
   a delay ends here, because client and server take turns.
"""

from __future__ import annotations

from dataclasses import dataclass

from bench.plan.workloads import mean_delay_s
from bench.schema import Limiter

BUSY = 0.90
NEAR_CEILING = 0.85
NEAR_OFFERED = 0.95
NEAR_SLOT_BOUND = 0.80
IDLE = 0.70


@dataclass(frozen=True, slots=True)
class Load:
    """What a trial used and achieved; shares are of one processor.

    ``processors`` is how many the client may use.
    """

    client_share: float
    server_share: float | None
    rate: float
    ceiling: float | None = None
    offered: float | None = None
    slot_bound: float | None = None
    processors: int = 1


def slot_bound(slots: int, delay: str) -> float | None:
    """The most requests per second that so many slots can make behind a delay; None without one."""
    mean = mean_delay_s(delay)
    return slots / mean if mean > 0 else None


def limiter(load: Load) -> tuple[Limiter, str]:
    """The limiter, and the reason in words."""
    server = load.server_share
    client_busy = load.client_share >= BUSY * load.processors
    server_busy = server is not None and server >= BUSY
    shares = f"client {load.client_share:.0%} busy, server " + (
        "unknown" if server is None else f"{server:.0%} busy"
    )
    if client_busy and not server_busy:
        return "client", shares
    if server_busy and not client_busy:
        return "server", shares
    if load.ceiling and load.rate >= NEAR_CEILING * load.ceiling:
        return "server", f"{load.rate / load.ceiling:.0%} of the server's ceiling; {shares}"
    if load.offered and load.rate >= NEAR_OFFERED * load.offered:
        return "schedule", f"{load.rate / load.offered:.0%} of the offered rate; {shares}"
    if load.slot_bound and load.rate >= NEAR_SLOT_BOUND * load.slot_bound:
        return "schedule", f"{load.rate / load.slot_bound:.0%} of slots / delay; {shares}"
    if load.slot_bound and load.client_share <= IDLE and server is not None and server <= IDLE:
        return "schedule", f"waiting for delayed answers; {shares}"
    return "unclear", shares
