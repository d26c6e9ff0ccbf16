"""Small experiments for claims that no crawl can answer.

Each is a function of its name, in the module that :data:`EXPERIMENTS` gives. It returns an
:class:`ExperimentResult` and runs in a fresh process of its own: :func:`main` with its name.
The module of an experiment has the servers that it needs, too.

The imports stand in functions where a server whose heap counts runs without them.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from importlib import import_module
from typing import Final, Self

#: Name -> its module, and the most repeats; None: as many as asked for. In the order of running
#: them: the ones that fill the machine come last. Counts that cannot vary need one repeat.
EXPERIMENTS: Final[dict[str, tuple[str, int | None]]] = {
    "awaiting": ("coroutines", None),
    "bytecode": ("coroutines", 1),
    "coroutines": ("coroutines", 3),
    "deep_stack": ("chapter", None),
    "echo": ("echo", 6),
    "interpreter": ("chapter", 1),
    "readiness": ("waiting", None),
    "seen_set": ("coroutines", 6),
    "sleeping": ("chapter", 5),
    "spinning": ("chapter", 5),
    "stack_ripping": ("stack_ripping", 1),
    "steps": ("chapter", 3),
    "thread_ceiling": ("waiting", 5),
}
START_S: Final = 30.0


@dataclass(slots=True)
class ExperimentResult:
    """Values by name; None for a missing value, with the reason under the same name.

    ``facts`` explain the values; the page shows the fact ``note`` beside the number.
    """

    values: dict[str, float | None] = field(default_factory=dict)
    facts: dict[str, str | int | float | list[str]] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)

    def lacks(self, reason: str, *names: str) -> None:
        for name in names:
            self.values[name], self.reasons[name] = None, reason

    def ratio(self, name: str, above: str, below: str) -> None:
        """One value over another; missing where one of them is."""
        one, other = self.values[above], self.values[below]
        if one is None or other is None:
            self.lacks(self.reasons.get(above) or self.reasons[below], name)
        else:
            self.values[name] = one / other


def main() -> None:
    """Run the experiment that the command line names; print its result as one line of JSON."""
    name = " ".join(sys.argv[1:])
    if name not in EXPERIMENTS:
        raise SystemExit(f"name one experiment: {', '.join(EXPERIMENTS)}")
    module = import_module(f"{__name__}.{EXPERIMENTS[name][0]}")
    print(json.dumps(asdict(getattr(module, name)())), flush=True)
    # Ends without joining the sleeping threads, of which there may be thousands.
    os._exit(0)


def running(function: Callable[..., None], *arguments: object) -> list[str]:
    name = function.__name__
    return ["-c", f"from {function.__module__} import {name}; {name}(*{arguments!r})"]


class ExperimentServer:
    """A server in a process of its own: a function that prints its port and serves until killed.

    It runs on the processors that the experiment does not use, if there are any, and dies with
    the experiment.
    """

    def __init__(self, serve: Callable[..., None], *arguments: object) -> None:
        from bench.sides.process import Child

        self._child = Child(f"the server {serve.__name__}", running(serve, *arguments))
        if hasattr(os, "sched_setaffinity"):
            mine = os.sched_getaffinity(0)
            others = set(range(os.cpu_count() or 1)) - mine
            os.sched_setaffinity(self._child.pid, others or mine)
        self.port = int(self._child.receive(time.monotonic() + START_S))

    def cpu_s(self) -> float:
        from bench.machine import cpu

        return cpu.used_s(self._child.pid)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._child.close(0.0)  # it serves until it is killed
