"""What a trial says at its end of the interpreter's lock, and whom it suspects."""

from __future__ import annotations

import subprocess
import sys
from importlib.machinery import ExtensionFileLoader
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from bench.launch import ROOT
from bench.machine import build, interpreters

FREE = "3.14.2 free-threading build (main, Nov 25 2026, 14:33:24) [GCC 12.2.0]"


def extension(name: str) -> ModuleType:
    module = ModuleType(name)
    module.__loader__ = ExtensionFileLoader(name, f"/nowhere/{name}.so")
    return module


def made_free(monkeypatch: pytest.MonkeyPatch, *, lock: bool) -> None:
    monkeypatch.setattr(sys, "version", FREE)
    monkeypatch.setattr(sys, "_is_gil_enabled", lambda: lock, raising=False)


def test_a_lock_that_is_off_and_one_that_every_build_has_need_no_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if sys.version_info < (3, 13):
        assert build.locked_by() == ""
    monkeypatch.setattr(sys, "version", FREE.replace(" free-threading build", ""))
    assert build.locked_by() == ""
    made_free(monkeypatch, lock=False)
    assert build.locked_by() == ""
    assert build.gil() == "disabled"


def test_modules_that_can_have_switched_it_on_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    made_free(monkeypatch, lock=True)
    plain = {name: sys.modules[name] for name in ("sys", "json", "bench.machine.build")}
    monkeypatch.setattr(sys, "modules", {**plain, "_ssl": extension("_ssl")})
    assert build.locked_by() == "an unknown module"
    for name in ("zlibber", "uvloop.loop", "uvloop.other"):
        sys.modules[name] = extension(name)
    assert build.locked_by() == "uvloop, zlibber"


def test_whoever_asked_for_the_lock_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    made_free(monkeypatch, lock=True)
    monkeypatch.setattr(sys, "flags", SimpleNamespace(gil=1))
    assert build.locked_by() == "PYTHON_GIL=1 or -X gil=1"


def free_threaded() -> Path:
    there = interpreters.find()[0]
    found = [each.path for each in there if each.record.build.get("free_threaded_build")]
    return found[0] if found else pytest.skip("no free-threaded CPython on PATH or under pyenv")


@pytest.mark.slow
@pytest.mark.parametrize(("options", "by"), [((), ""), (("-X", "gil=1"), "PYTHON_GIL=1 or")])
def test_a_free_threaded_interpreter_says_so_itself(options: tuple[str, ...], by: str) -> None:
    code = "from bench.machine import build; print(build.locked_by())"
    command = [str(free_threaded()), *interpreters.ALONE, *options, "-c", code]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.startswith(by or "\n")
