"""Runs one experiment in this process and prints its result as one line of JSON."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict
from importlib import import_module

from bench.claims.experiments import NAMES


def main(arguments: list[str]) -> None:
    """Run the experiment with this name."""
    if len(arguments) != 1 or arguments[0] not in NAMES:
        raise SystemExit(f"name one experiment: {', '.join(NAMES)}")
    result = import_module(f"bench.claims.experiments.{arguments[0]}").measure()
    print(json.dumps(asdict(result)), flush=True)
    # Ends without joining the sleeping threads, of which there may be thousands.
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1:])
