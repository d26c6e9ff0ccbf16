"""Where the suite is, and how it starts its own programs: folder, interpreter, environment."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
"""The folder of the packages. Child processes start here, so that they run the same code."""

IS_CLONE = (ROOT / "pyproject.toml").is_file()
"""Whether this is a clone of the repository, not an installed wheel."""

RESULTS = ROOT / "results" if IS_CLONE else Path("results")
"""The folder for campaigns: the clone's, or one in the current folder."""

OWN_PYTHON = (sys.executable, "-s")
"""Starts a child process with the harness's own interpreter."""

SCRIPT = "c10k-bench"
"""The command that installing the suite puts on ``PATH``."""


def program() -> str:
    """How this program was started, for messages that can be pasted into a shell."""
    return SCRIPT if Path(sys.argv[0]).name == SCRIPT else "python -m bench"


def shown(path: Path) -> Path:
    """A path as you would type it here: relative if it is below the current folder."""
    here = Path(os.path.abspath(path))
    try:
        return here.relative_to(Path.cwd())
    except (OSError, ValueError):
        return here


def install(extra: str) -> str:
    """The command that installs an extra of this suite, which is not on the package index."""
    if IS_CLONE:
        return f"python -m pip install '{shown(ROOT)}[{extra}]'"
    return f"in the folder of a clone, python -m pip install '.[{extra}]'"


def environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """A clean environment: what the interpreter needs, a fixed hash seed, nothing else.

    Keeps ``PYTHONPATH``, because an external backend may be on it.
    """
    kept = {
        name: os.environ[name]
        for name in ("PATH", "PYTHONPATH", "LD_LIBRARY_PATH", "TMPDIR", "SYSTEMROOT")
        if name in os.environ
    }
    return {**kept, "LANG": "C.UTF-8", "PYTHONHASHSEED": "0", **(extra or {})}


def run_module(
    python: Sequence[str], module: str, *arguments: str, timeout_s: float
) -> subprocess.CompletedProcess[str]:
    """Run a module of this suite with an interpreter: see :func:`output`."""
    return output([*python, "-m", module, *arguments], timeout_s)


def output(
    words: Sequence[str], timeout_s: float, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a program without input, by default in a clean environment, and keep what it writes.

    Raises :class:`OSError` when there is no such program, and
    :class:`subprocess.TimeoutExpired`. Whether it failed is for the caller to check.
    """
    return subprocess.run(
        words,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        cwd=ROOT,
        env=environment() if env is None else env,
        timeout=timeout_s,
    )
