"""How many of a slot's callers the traceback of each model shows; see the exhibit."""

from __future__ import annotations

from bench.claims.experiments.result import ExperimentResult
from bench.exhibits import stack_ripping


def measure() -> ExperimentResult:
    """Callers left, and the function to set a breakpoint in."""
    result = ExperimentResult()
    for ripped in stack_ripping.rip_all():
        result.values[f"{ripped.model}_callers"] = float(ripped.callers)
        result.facts[f"{ripped.model}_breakpoint"] = ripped.breakpoint.function
        result.facts[f"{ripped.model}_frames"] = [frame.function for frame in ripped.frames]
    return result
