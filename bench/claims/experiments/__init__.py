"""Small experiments for claims that no crawl can answer, one module each.

Each has ``measure()``, which returns an
:class:`~bench.claims.experiments.result.ExperimentResult`, and runs in a fresh process:
``python -m bench.claims.experiments NAME`` prints the result as JSON.
"""

from __future__ import annotations

from typing import Final

#: In the order of running them; the ones that fill the machine come last.
NAMES: Final = (
    "awaiting",
    "bytecode",
    "coroutines",
    "echo",
    "http_clients",
    "readiness",
    "releases",
    "seen_set",
    "spinning_connect",
    "stack_ripping",
    "held_threads",
    "thread_ceiling",
)
MOST_REPEATS: Final = {
    "bytecode": 1,
    "stack_ripping": 1,
    "coroutines": 3,
    "echo": 6,
    "http_clients": 6,
    "releases": 5,
    "seen_set": 6,
    "held_threads": 3,
    "thread_ceiling": 5,
}
"""Counts that cannot vary need one repeat; the long experiments get fewer than the others."""
