"""Programs that run for a long time: faults, leaks, soaks, races, limits, signals.

Each module is a command, ``python -m tests.torture.NAME``; README.md here lists them.
"""

from __future__ import annotations

import json
from typing import Any

from bench.launch import RESULTS


def keep(name: str, found: dict[str, Any]) -> None:
    """Write the counts of a program to ``results/reliability/NAME.json``."""
    folder = RESULTS / "reliability"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.json").write_text(json.dumps(found, indent=1) + "\n")
