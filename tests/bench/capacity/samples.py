"""Made-up costs, round enough to calculate with by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from bench.capacity.costs import Added, Backend, Costs, MemoryHeld

MIB = 1 << 20
HELD = MemoryHeld(5000, 11 * MIB, 10_000)


def added(of: str) -> dict[str, Added]:
    """What everything adds, as measured with a backend."""
    costs_us = {"TLS": 10.0, "opening a connection": 40.0, "a handshake": 600.0}
    return {what: Added(us, of) for what, us in costs_us.items()}


def backend(name: str, page: float = 50.0, **changes: Any) -> Backend:
    """A backend whose page took so many microseconds in each of five blocks, give or take 1 %."""
    blocks = {block: page * (1 + 0.005 * (block - 2)) for block in range(5)}
    made = Backend(
        name=name,
        most=100_000_000,
        why_most="One process holds at most 100,000,000 connections.",
        no_tls=None,
        page=page,
        blocks=blocks,
        factors=[(10, 0.9), (100, 1.0), (1000, 1.5)],
        added=added(name),
        plain=HELD,
        encrypted=replace(HELD, each=34_000),
    )
    return replace(made, **changes)


def costs(*backends: Backend, **changes: Any) -> Costs:
    """A campaign of these backends, measured on two processors."""
    made = Costs(
        campaign="made-up",
        machine="a machine",
        point="ladder-100",
        slots=100,
        floor=0.02,
        longest_delay_ms=50.0,
        processors=2,
        backends=backends,
    )
    return replace(made, **changes)
