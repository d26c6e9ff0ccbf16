"""Throughput against slots with a slow server: what the model is for."""

from __future__ import annotations

from bench.charts.facts import Facts
from bench.charts.slots import plan_slots
from bench.charts.style import Plan, Skip


def plan(facts: Facts) -> Plan | Skip:
    """Pages per second against slots when every answer takes its time."""
    return plan_slots(
        facts,
        "waiting",
        "Throughput against slots when the server is slow",
        "Pages per second with a delay before every answer",
    )
