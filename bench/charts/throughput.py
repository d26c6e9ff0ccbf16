"""Throughput against slots, closed loop without delay: what the model costs when busy."""

from __future__ import annotations

from bench.charts.facts import Facts
from bench.charts.slots import plan_slots
from bench.charts.style import Plan, Skip


def plan(facts: Facts) -> Plan | Skip:
    """Pages per second against slots with no delay at the server."""
    return plan_slots(
        facts,
        "throughput",
        "Throughput against slots",
        "Pages per second with no delay at the server",
    )
