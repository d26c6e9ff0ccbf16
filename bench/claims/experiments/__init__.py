"""Small experiments for claims that no crawl can answer, one module each.

Each has ``measure()``, which returns an
:class:`~bench.claims.experiments.result.ExperimentResult`, and runs in a fresh process:
``python -m bench.claims.experiments NAME`` prints the result as JSON.
"""

from __future__ import annotations

from typing import Final

#: In the order of running them; the one that fills the machine comes last.
NAMES: Final = (
    "awaiting",
    "readiness",
    "seen_set",
    "spinning_connect",
    "stack_ripping",
    "stack_ripping",
    "thread_ceiling",
)
