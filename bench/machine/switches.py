"""What can be switched in an interpreter, and is read when a trial ends: its lock and its JIT.

Workers import this, so it needs nothing but ``sys``.
"""

from __future__ import annotations

import sys


def gil() -> str:
    """Whether the interpreter's lock is "enabled" or "disabled" at this moment."""
    enabled = getattr(sys, "_is_gil_enabled", None)
    return "enabled" if enabled is None or enabled() else "disabled"


def jit() -> str:
    """Whether the JIT compiler is "enabled", "disabled" or "absent": not compiled in."""
    compiler = getattr(sys, "_jit", None)  # from CPython 3.14 on
    if compiler is None or not compiler.is_available():
        return "absent"
    return "enabled" if compiler.is_enabled() else "disabled"
