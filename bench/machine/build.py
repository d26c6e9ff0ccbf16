"""How the running interpreter was built, and what can be switched in it: its lock and its JIT.

``python -m bench.machine.build`` prints it as one JSON object. It needs only the
standard library, so any interpreter can run it. Workers import this to read the switches when a
trial ends, so what only the build needs is imported where it is used: their memory is measured.
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


def configure_flags(text: str) -> str:
    """The ``--enable``, ``--disable``, ``--with`` and ``--without`` flags, without paths.

    A value with a slash in it is replaced by ``…``. Text that cannot be split into words gives an
    empty string.
    """
    import shlex

    try:
        words = shlex.split(text)
    except ValueError:
        return ""
    kept = []
    for word in words:
        if word.startswith(("--enable-", "--disable-", "--with-", "--without-")):
            name, equals, value = word.partition("=")
            if "/" in name or "\\" in name:
                continue
            kept.append(f"{name}=…" if equals and ("/" in value or "\\" in value) else word)
    return " ".join(kept)


def python_build() -> dict[str, str | bool | None]:
    """How this interpreter was built, which affects every figure (one loop: 0.066 or 0.091 s)."""
    import platform
    import re
    import sysconfig

    variables = sysconfig.get_config_vars()
    arguments = str(variables.get("CONFIG_ARGS") or "")
    linked = arguments + " " + str(variables.get("PY_CORE_LDFLAGS") or "")
    # Windows and some packagers record no arguments. Debian optimises on make's command
    # line instead of configure's, and then records no flags for the use of a profile.
    known = bool(arguments) and bool(variables.get("PGO_PROF_USE_FLAG"))
    # Of several levels, the compiler uses the last.
    levels = re.findall(r"(?<!\S)-O\S*", str(variables.get("PY_CORE_CFLAGS") or ""))
    return {
        "compiler": platform.python_compiler(),
        "level": levels[-1] if levels else None,
        "pgo": "--enable-optimizations" in arguments if known else None,
        "lto": ("--with-lto" in linked or "-flto" in linked) if known else None,
        "debug": bool(variables.get("Py_DEBUG")) or hasattr(sys, "gettotalrefcount"),
        "gil": gil() == "enabled",
        # Before 3.14 there is none to record.
        **({"jit": jit()} if hasattr(sys, "_jit") else {}),
        "free_threaded_build": bool(variables.get("Py_GIL_DISABLED")),
        "configure": configure_flags(arguments) or None,
    }


def main() -> None:
    import json
    import platform
    import sysconfig

    suffix = "t" if sysconfig.get_config_var("Py_GIL_DISABLED") else ""
    answer = {
        "implementation": platform.python_implementation(),
        "version": list(sys.version_info[:3]),
        "name": platform.python_version() + suffix,
        "build": python_build(),
    }
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
