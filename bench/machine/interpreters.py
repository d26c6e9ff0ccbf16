"""The CPython interpreters of this machine, and how to start a worker with one.

A worker on another interpreter gets only that interpreter's standard library
(``-S``: no installed packages). So all of them run the same source with the same
parser, and no release benefits from packages that are built for it. The harness
and the fixture server stay on the harness's own interpreter.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from bench import BenchError
from bench.launch import run_module
from bench.schema import Interpreter

RELEASES = ("3.11", "3.12", "3.13", "3.13t", "3.14", "3.14t", "3.15", "3.15t")
"""The releases to look for; t is the free-threaded build, which has no interpreter lock."""

JIT = "j"
"""Ends the name of an interpreter that runs with its JIT on, as in "3.15.2j"."""

ALONE = ("-s", "-S")
"""Options with which an interpreter sees its standard library only."""

TIMEOUT_S = 20.0


class InterpreterError(BenchError):
    """A requested interpreter cannot be used; the message says why."""


@dataclass(frozen=True, slots=True)
class FoundInterpreter:
    """An interpreter: what is recorded of it, its release as in :data:`RELEASES`, and where."""

    record: Interpreter
    version: tuple[int, ...]
    path: Path

    @property
    def name(self) -> str:
        """The part after the ``@`` of a backend: "3.13.5t"."""
        return self.record.name

    @property
    def release(self) -> str:
        """The name without the micro version: "3.13t"."""
        return f"{self.version[0]}.{self.version[1]}{'t' * self.name.endswith('t')}"

    @property
    def command(self) -> tuple[str, ...]:
        return command(self.path, jit=self.name.endswith(JIT))


def command(path: Path, *, jit: bool) -> tuple[str, ...]:
    return *(("env", "PYTHON_JIT=1") if jit else ()), str(path), *ALONE


def examine(path: Path, *, jit: bool = False) -> FoundInterpreter:
    """Start an interpreter, with its JIT on if you say so, to learn its version and build.

    Raises :class:`InterpreterError` when it does not run, is not CPython, is
    too old for the crawlers or has no JIT to be on.
    """
    try:
        done = run_module(command(path, jit=jit), "bench.machine.build", timeout_s=TIMEOUT_S)
        done.check_returncode()
        answer = json.loads(done.stdout)
    except OSError as error:
        raise InterpreterError(f"{path}: {error.strerror}; give the path of a python") from None
    except (subprocess.SubprocessError, ValueError):
        raise InterpreterError(f"{path}: does not run as a CPython of 3.11 or later") from None
    version, name, build = tuple(answer["version"]), answer["name"], answer["build"]
    if answer["implementation"] != "CPython" or version < (3, 11):
        raise InterpreterError(
            f"{path}: {answer['implementation']} {name}, but the crawlers are compared on "
            "CPython 3.11 and later"
        )
    if jit and build.get("jit") != "enabled":
        raise InterpreterError(f"{path}: PYTHON_JIT=1 does not switch a JIT on")
    return FoundInterpreter(Interpreter(name=name + JIT * jit, build=build), version, path)


def with_jit(interpreters: Sequence[FoundInterpreter]) -> list[FoundInterpreter]:
    """These, and each of them that has its JIT compiled in and off a second time with it on."""
    off = [found.path for found in interpreters if found.record.build.get("jit") == "disabled"]
    return in_order([*interpreters, *(examine(path, jit=True) for path in off)])


def candidates() -> list[Path]:
    """Files on PATH and under pyenv that are named like one of the releases, each once."""
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    folders = [*map(Path, os.get_exec_path())]
    with suppress(PermissionError):  # somebody else's
        folders += sorted((pyenv / "versions").glob("*/bin"))
    files = (folder / f"python{release}" for release in RELEASES for folder in folders)
    # An environment's python is a link to the one that it was made with.
    return list(dict.fromkeys(file.resolve() for file in files if os.access(file, os.X_OK)))


def find() -> tuple[list[FoundInterpreter], dict[str, str]]:
    """Every interpreter found, oldest first, and the releases that are missing, with why."""
    interpreters = []
    for path in candidates():
        # A pyenv shim or a broken installation does not run: the release counts as missing.
        with suppress(InterpreterError):
            interpreters.append(examine(path))
    why = "no such program on PATH or under pyenv that runs"
    return in_order(interpreters), missing(interpreters, why)


def chosen(paths: Sequence[Path]) -> tuple[list[FoundInterpreter], dict[str, str]]:
    """The interpreters at these paths, or of these releases, in the form of :func:`find`.

    Raises :class:`InterpreterError` when one cannot be used or found, or when two have
    the same name, because their trials would have the same labels.
    """
    by_name: dict[str, FoundInterpreter] = {}
    named = {str(path) for path in paths} & {*RELEASES}
    here = {found.release: found for found in find()[0]} if named else {}
    for path in paths:
        if str(path) in named - here.keys():
            raise InterpreterError(f"no CPython {path} on PATH or under pyenv: give its path")
        found = here.get(str(path)) or examine(path)
        other = by_name.setdefault(found.name, found)
        if other is not found:
            raise InterpreterError(
                f"{other.path} and {path} are both CPython {other.name}: give one"
            )
    interpreters = in_order(by_name.values())
    return interpreters, missing(interpreters, "not among those given")


def missing(interpreters: Iterable[FoundInterpreter], why: str) -> dict[str, str]:
    releases = {found.release for found in interpreters}
    return {release: why for release in RELEASES if release not in releases}


def in_order(interpreters: Iterable[FoundInterpreter]) -> list[FoundInterpreter]:
    """Oldest first; of two with the same name only the first."""
    unique = {interpreter.name: interpreter for interpreter in reversed(list(interpreters))}
    return sorted(unique.values(), key=lambda interpreter: (interpreter.version, interpreter.name))


def again(
    recorded: Sequence[Interpreter], here: Sequence[FoundInterpreter]
) -> list[FoundInterpreter]:
    """The interpreters of a campaign to resume.

    Raises :class:`InterpreterError` when one is missing or is another build.
    """
    by_name = {interpreter.name: interpreter for interpreter in with_jit(here)}
    for interpreter in recorded:
        if interpreter.name not in by_name or by_name[interpreter.name].record != interpreter:
            raise InterpreterError(
                f"the campaign was started with CPython {interpreter.name}, which was not found "
                "in the same build: resume with python -m bench study interpreters and its path"
            )
    return [by_name[interpreter.name] for interpreter in recorded]
