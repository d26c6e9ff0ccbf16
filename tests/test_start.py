"""Signals before a program has begun, and after it has ended: no traceback from our files on."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from bench.launch import ROOT
from tests.programs import python

PROGRAMS = {"bench": "c10k-bench", "crawlers": "c10k-crawl", "server": "c10k-server"}

STRUCK_AT_AN_IMPORT = """
import os, sys

class Strike:
    place, number = os.environ["STRIKE"].split()
    near = False

    def find_spec(self, name, path=None, target=None):
        if self.near or name == self.place:
            self.near, self.place = False, ""
            os.kill(os.getpid(), int(self.number))
        elif self.place == name + "+":
            self.near = True

sys.meta_path.insert(0, Strike())
"""
"""At an import; with ``+``, at the next one, which is the first that this module asks for."""

WITHOUT = """
import sys
sys.modules[{!r}] = None  # the import fails as that of a missing package
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


def started(
    package: str,
    by: str,
    custom: str,
    folder: Path,
    *arguments: str,
    strike: str = "",
) -> tuple[int, str, str]:
    """Exit code, output and errors of a program with this ``sitecustomize``."""
    (folder / "sitecustomize.py").write_text(custom)
    script = folder / PROGRAMS[package]
    script.write_text(SCRIPT.format(package=package))
    command = ["-m", package] if by == "module" else [str(script)]
    path = os.pathsep.join([str(folder), str(ROOT)])
    done = python(*command, *arguments, cwd=folder, env={"PYTHONPATH": path, "STRIKE": strike})
    return done.returncode, done.stdout, done.stderr


WAYS = [("bench", "module"), ("bench", "script"), ("crawlers", "module"), ("server", "script")]
"""Each program, and each way to start one."""


@pytest.mark.parametrize(
    ("package", "by", "at"),
    [
        *((package, by, f"{package}.__main__+") for package, by in WAYS),
        ("crawlers", "module", "rich+"),
    ],
)
def test_ctrl_c_at_an_import_is_no_traceback(
    package: str, by: str, at: str, tmp_path: Path
) -> None:
    """At the first one of the program, and when it has begun with those that take long."""
    strike = f"{at} {int(signal.SIGINT)}"
    ended = started(package, by, STRUCK_AT_AN_IMPORT, tmp_path, "--help", strike=strike)
    assert ended == (-signal.SIGINT, "", "")


@pytest.mark.parametrize(
    ("module", "number"),
    [
        ("argparse", signal.SIGINT),
        ("server.sites.specs", signal.SIGINT),
        ("uvloop", signal.SIGINT),
        ("httptools", signal.SIGINT),
        ("argparse", signal.SIGTERM),
        ("argparse", signal.SIGHUP),
        ("server.polling", signal.SIGHUP),
    ],
)
def test_a_signal_while_the_server_starts_is_no_error(
    module: str, number: signal.Signals, tmp_path: Path
) -> None:
    strike = f"{module} {int(number)}"
    cached = ("--cache", "")
    ended = started("server", "module", STRUCK_AT_AN_IMPORT, tmp_path, *cached, strike=strike)
    assert ended == (0, "", "")


@pytest.mark.parametrize(("package", "by"), WAYS)
def test_ctrl_c_while_the_interpreter_ends_is_no_traceback(
    package: str, by: str, tmp_path: Path
) -> None:
    code, _, complained = started(package, by, STRUCK_AT_THE_END, tmp_path, "--help")
    assert code in (0, -signal.SIGINT)
    assert complained == ""


@pytest.mark.parametrize(
    ("package", "missing", "typed"),
    [("bench", "rich", "--help"), ("bench", "pydantic", "list"), ("crawlers", "rich", "--help")],
)
def test_a_package_that_is_not_installed_is_named_with_what_to_do(
    package: str, missing: str, typed: str, tmp_path: Path
) -> None:
    code, _, said = started(package, "module", WITHOUT.format(missing), tmp_path, typed)
    assert code == 1
    assert said.startswith(f"python -m {package} needs {missing}, which is not installed here.")
    assert "pip install" in said
    assert "Traceback" not in said
