"""What can be switched in an interpreter, and is read when a trial ends: its lock and its JIT.

Workers import this, so it needs nothing but ``sys``.
"""

from __future__ import annotations

import sys


def gil() -> str:
    """Whether the interpreter's lock is "enabled" or "disabled" at this moment."""
    enabled = getattr(sys, "_is_gil_enabled", None)
    return "enabled" if enabled is None or enabled() else "disabled"


def locked_by() -> str:
    """What may have switched the lock of a free-threaded build on; empty where it is not on.

    An extension module that does not declare that it needs no lock (``Py_mod_gil``) switches it on
    when it is imported, with a warning that few will see. Which one it was is not kept.
    """
    if "free-threading build" not in sys.version or gil() == "disabled":
        return ""
    if getattr(sys.flags, "gil", None) == 1:
        return "PYTHON_GIL=1 or -X gil=1"
    extensions = {
        name.partition(".")[0]
        for name, module in list(sys.modules.items())
        if type(getattr(module, "__loader__", None)).__name__ == "ExtensionFileLoader"
    }
    return ", ".join(sorted(extensions - sys.stdlib_module_names)) or "an unknown module"


def jit() -> str:
    """Whether the JIT compiler is "enabled", "disabled" or "absent": not compiled in."""
    compiler = getattr(sys, "_jit", None)  # from CPython 3.14 on
    if compiler is None or not compiler.is_available():
        return "absent"
    return "enabled" if compiler.is_enabled() else "disabled"
