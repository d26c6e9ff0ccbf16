"""The ladder above async and await: loops, libraries, ways to the socket."""

from __future__ import annotations

from bench.charts.facts import Facts
from bench.charts.ladder import FAMILIES
from bench.charts.rungs import plan_rungs
from bench.charts.style import Plan, Skip
from bench.ladder import STACK


def plan(facts: Facts) -> Plan | Skip:
    """Whatever awaits, from asyncio to the libraries beside it."""
    return plan_rungs(
        facts,
        "ladder-async",
        "Async and await, one change per rung",
        lambda rung: rung.family not in (*FAMILIES, STACK),
    )
