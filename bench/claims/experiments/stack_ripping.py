"""How many of a slot's callers each model's traceback still shows; see the exhibit."""

from __future__ import annotations

from bench.claims.experiments.outcome import Outcome
from bench.source import stack_ripping


def measure() -> Outcome:
    """Callers left, and the line where one would set a breakpoint."""
    outcome = Outcome()
    for ripped in stack_ripping.rip_all():
        outcome.values[f"{ripped.model}_callers"] = float(ripped.callers)
        outcome.facts[f"{ripped.model}_breakpoint"] = ripped.breakpoint.function
        outcome.facts[f"{ripped.model}_frames"] = [frame.function for frame in ripped.frames]
    return outcome
