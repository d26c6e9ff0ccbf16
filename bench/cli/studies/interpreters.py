"""Measure the models on several CPython releases.

One campaign measures all interpreters in the same blocks: the four models on every CPython
found on PATH and under pyenv, from 3.11 to 3.15, with and without the interpreter lock (3.13t,
3.14t, 3.15t). Workers see only the standard library. Missing interpreters are reported and
recorded, never downloaded. With --jit, an interpreter that has a JIT compiled in and off is
measured a second time with it on: 3.15.2 and 3.15.2j are the same program. The point "processors"
of the profile full measures what several processors gain with and without the lock.

  python -m bench study interpreters
  python -m bench study interpreters /opt/python3.14t/bin/python3.14t /usr/bin/python3.13
  python -m bench study interpreters 3.14 3.14t --profile full --only processors
  python -m bench study interpreters --jit /usr/bin/python3.14 /usr/bin/python3.15
"""

from __future__ import annotations

import argparse
from pathlib import Path

from rich.console import Console

from bench.cli import options
from bench.cli.commands.run import measure
from bench.machine import interpreters
from bench.show import words


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "pythons", nargs="*", type=Path, metavar="PYTHON", help="measure these, by path or release"
    )
    parser.add_argument(
        "--jit", action="store_true", help="measure those with a JIT with it on, too"
    )
    options.measuring(parser, profile="interpreters")


def run(arguments: argparse.Namespace, console: Console) -> int:
    given = arguments.pythons
    usable, missing = interpreters.chosen(given) if given else interpreters.find()
    if arguments.jit:
        plain, usable = usable, interpreters.with_jit(usable)
        if len(usable) == len(plain):
            missing["with a JIT"] = "none of these has one that is compiled in and off"
    for interpreter in usable:
        build = words.build_words(interpreter.record.build)
        console.print(f"CPython {interpreter.name}: {build}")
    if differing := words.differing_builds([interpreter.record for interpreter in usable]):
        console.print(f"WARNING: {differing}", style="bold yellow")
    for release, reason in missing.items():
        console.print(f"NOT MEASURED: CPython {release}: {reason}", style="bold yellow")
    if not usable:
        raise interpreters.InterpreterError("no CPython found: give the paths of some")
    chosen = options.chosen(arguments)
    chosen.interpreters, chosen.missing = usable, missing
    return measure(chosen, arguments, console)
