"""What newer CPythons promise of asyncio, on the interpreters that this machine has."""

from __future__ import annotations

import json

from bench.claims.experiments.result import ExperimentResult
from bench.launch import run_module
from bench.plan.interpreters import FoundInterpreter, find

MODULE = "bench.claims.experiments.on_release"
TIMEOUT_S = 60.0
NEEDS = "needs CPython 3.12 or later; none is on this machine"


def newest() -> FoundInterpreter | None:
    """The newest interpreter from 3.12 up that has the lock."""
    found = [each for each in find()[0] if each.version >= (3, 12) and each.name[-1] != "t"]
    return found[-1] if found else None


def measure() -> ExperimentResult:
    """Eager tasks over others, and current_task in Python over that in C, on one interpreter."""
    result = ExperimentResult()
    interpreter = newest()
    if interpreter is None:
        for name in ("eager_tasks", "current_task"):
            result.lacks(name, NEEDS)
        return result
    done = run_module(interpreter.command, MODULE, timeout_s=TIMEOUT_S)
    done.check_returncode()
    result.values.update(json.loads(done.stdout))
    result.facts["note"] = f"on CPython {interpreter.name}"
    return result
