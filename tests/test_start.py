"""Ctrl-C before a program has begun, and after it has ended: no traceback from our files on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from bench.launch import ROOT

PROGRAMS = {"bench": "c10k-bench", "crawlers": "c10k-crawl", "server": "c10k-server"}

STRUCK_AT_AN_IMPORT = """
import os, signal, sys

class Strike:
    near = False

    def find_spec(self, name, path=None, target=None):
        if self.near:
            self.near = False
            os.kill(os.getpid(), signal.SIGINT)
        elif name == os.environ["STRIKE"]:
            self.near = True
            if name != "rich":
                del sys.modules["signal"]  # a fresh interpreter has not imported it

sys.meta_path.insert(0, Strike())
"""

WITHOUT_RICH = """
import sys
sys.modules["rich"] = None  # the import fails as that of a missing package
"""

STRUCK_AT_THE_END = """
import atexit, os, signal
atexit.register(lambda: os.kill(os.getpid(), signal.SIGINT))
"""

SCRIPT = """\
import sys
from {package}.__main__ import main
if __name__ == "__main__":
    sys.exit(main())
"""
"""What an installer makes of an entry point."""


def started(package: str, by: str, custom: str, folder: Path, strike: str = "") -> tuple[int, str]:
    """Exit code and standard error of a program with this ``sitecustomize``."""
    (folder / "sitecustomize.py").write_text(custom)
    script = folder / PROGRAMS[package]
    script.write_text(SCRIPT.format(package=package))
    command = ["-m", package] if by == "module" else [str(script)]
    path = os.pathsep.join([str(folder), str(ROOT)])
    done = subprocess.run(
        [sys.executable, *command, "--help"],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": path, "STRIKE": strike},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    return done.returncode, done.stderr


@pytest.mark.parametrize("by", ["module", "script"])
@pytest.mark.parametrize(
    ("package", "after"),
    [*((package, f"{package}.__main__") for package in PROGRAMS), ("crawlers", "rich")],
)
def test_ctrl_c_at_an_import_is_no_traceback(
    package: str, after: str, by: str, tmp_path: Path
) -> None:
    """At the first one of the program, and when it has begun with those that take long."""
    ended = started(package, by, STRUCK_AT_AN_IMPORT, tmp_path, after)
    assert ended == (-signal.SIGINT, "")


@pytest.mark.parametrize("by", ["module", "script"])
@pytest.mark.parametrize("package", PROGRAMS)
def test_ctrl_c_while_the_interpreter_ends_is_no_traceback(
    package: str, by: str, tmp_path: Path
) -> None:
    code, complained = started(package, by, STRUCK_AT_THE_END, tmp_path)
    assert code in (0, -signal.SIGINT)
    assert complained == ""


def test_a_package_that_is_not_installed_is_named_with_what_to_do(tmp_path: Path) -> None:
    code, said = started("bench", "module", WITHOUT_RICH, tmp_path)
    assert code == 1
    assert said.startswith("python -m bench needs rich, which is not installed here.")
    assert "pip install" in said
    assert "Traceback" not in said
