"""The HTTP stacks, which are no models: what all that they bring costs."""

from __future__ import annotations

from bench.charts.facts import Facts
from bench.charts.rungs import plan_rungs
from bench.charts.style import Plan, Skip
from bench.ladder import STACK


def plan(facts: Facts) -> Plan | Skip:
    """Whole HTTP stacks, beside one another."""
    return plan_rungs(
        facts,
        "ladder-stacks",
        "HTTP stacks: parser, pool and all else above the socket is theirs",
        lambda rung: rung.family == STACK,
    )
