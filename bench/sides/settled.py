"""Starts a program with malloc in the state that every worker has: see :mod:`crawlers.heap`.

``python -m bench.sides.settled server models threads``: a module, and its arguments.
"""

from __future__ import annotations

import runpy
import sys

from crawlers import heap

if __name__ == "__main__":
    heap.settle()
    sys.argv = sys.argv[1:]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
