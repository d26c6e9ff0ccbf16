"""The ladder from threads to coroutines: one change per rung."""

from __future__ import annotations

from bench.charts.facts import Facts
from bench.charts.rungs import plan_rungs
from bench.charts.style import Plan, Skip
from bench.workloads import MODELS

FAMILIES = ("threads", "callbacks", "generators")


def plan(facts: Facts) -> Plan | Skip:
    """The four models and what is hand-built like them."""
    return plan_rungs(
        facts,
        "ladder",
        "From threads to coroutines, one change per rung",
        lambda rung: rung.family in FAMILIES or rung.name in MODELS,
    )
