"""Starts a program with malloc in the state that every worker has: see :mod:`crawlers.heap`.

``python -m bench.sides.settled server models threads``: a module, and its arguments.
"""

from __future__ import annotations

import os
import runpy
import sys
from typing import Final

from crawlers import heap

SWITCH_INTERVAL: Final = "C10K_SWITCH_INTERVAL_S"
"""A variable of the environment, for a program that an instrument slows."""

if __name__ == "__main__":
    heap.settle()
    if SWITCH_INTERVAL in os.environ:
        sys.setswitchinterval(float(os.environ[SWITCH_INTERVAL]))
    sys.argv = sys.argv[1:]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
