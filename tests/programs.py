"""Programs that tests run: to their end as processes, or their ``main`` in this one."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

from bench.launch import ROOT

Done = subprocess.CompletedProcess[str]


def python(*arguments: str, cwd: Path = ROOT, env: Mapping[str, str] | None = None) -> Done:
    """Run Python with these arguments, and these variables in its environment."""
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=cwd,
        env=os.environ | dict(env or {}),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def inside(main: Callable[[Sequence[str]], int], *arguments: str) -> Done:
    """Run a ``main`` in this process."""
    out, errors = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(errors):
        try:
            code = main(arguments)
        except SystemExit as leaving:
            code = leaving.code if isinstance(leaving.code, int) else int(bool(leaving.code))
    return Done(arguments, code, out.getvalue(), errors.getvalue())


def program(path: Path, script: str) -> Path:
    """A script at this path that can be run."""
    path.write_text(script)
    path.chmod(0o755)
    return path
