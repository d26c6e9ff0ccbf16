"""Small experiments for claims that no crawl can answer.

Each is a function of its name, in the module that :data:`EXPERIMENTS` gives. It returns an
:class:`ExperimentResult` and runs in a fresh process of its own: :func:`main` with its name.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from importlib import import_module
from typing import Final

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


@dataclass(slots=True)
class ExperimentResult:
    """Values by name; None for a missing value, with the reason under the same name.

    The page shows the fact ``note`` beside the number.
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
