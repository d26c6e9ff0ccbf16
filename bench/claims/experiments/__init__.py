"""Small experiments for the claims that no crawl answers, one module each.

Each has ``measure()``, which returns an
:class:`~bench.claims.experiments.outcome.Outcome`, and is run in a fresh process:
``python -m bench.claims.experiments NAME`` prints the outcome as JSON.
"""

from __future__ import annotations

from typing import Final

#: In the order in which they are run; the one that fills the machine last.
NAMES: Final = (
    "awaiting",
    "readiness",
    "seen_set",
    "spinning_connect",
    "stack_ripping",
    "stack_ripping",
    "thread_ceiling",
)
