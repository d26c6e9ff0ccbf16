"""Finds commands, shows their help and runs them.

A command is a module in :mod:`bench.cli.commands`: see :class:`CommandModule`. Its name is the
module's, and its help is the module's docstring. Only the module of the command that was asked
for is imported: a command such as ``list`` does not wait for matplotlib.
"""

from __future__ import annotations

import argparse
import ast
import errno
import importlib
import logging
import os
import pkgutil
import resource
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import NoReturn, Protocol, cast

from rich.console import Console

from bench import BenchError, launch
from bench.cli import DONE, FAILED, INTERRUPTED, USAGE, commands
from bench.terminal import Terminal, prepare_streams
from bench.text import one_line
from crawlers.terminal import discard

MIN_ADDRESS_SPACE = 1 << 30
"""Bytes that numpy, scipy and matplotlib need, with room to work."""

CURES = {errno.EMFILE: "ulimit -n", errno.EAGAIN: "ulimit -u or pids.max"}
"""What to raise where a process cannot start."""

OVERVIEW = """\
Compares one web crawler, written once for each concurrency model, against a local
fixture server. Every trial runs in a fresh process on its own processor, and is
checked for correctness while it is timed.

To get started:

  {program} doctor                 is this machine fit to measure on?
  {program} run --profile smoke    measure a little of everything
  {program} run                    the quick profile: charts, tables and a report
  {program} COMMAND --help         what a command does, with examples
"""
EXITS = "Exit codes: 0 done, 1 something failed or got worse, 2 bad usage, 130 interrupted."


class Parser(argparse.ArgumentParser):
    """The parser of one command, which imports the command only when it is asked for.

    Its error messages are one line, whatever was typed.
    """

    module = ""

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        if not self.module:
            return super().parse_known_args(args, namespace)
        check_address_space()
        cast("CommandModule", importlib.import_module(self.module)).add_arguments(self)
        self.module = ""  # for options among arguments, argparse comes here twice more
        below = self._subparsers  # with commands below, argparse has no such order
        parse = self.parse_known_args if below else self.parse_known_intermixed_args
        parsed, unknown = parse(args, namespace)
        if unknown:  # with the usage of this command, not of the program
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return parsed, unknown

    def error(self, message: str) -> NoReturn:
        super().error(one_line(message))


class CommandModule(Protocol):
    """A module in :mod:`bench.cli.commands`.

    The first line of its docstring appears in the overview, and all of it in ``--help``.
    """

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare the command's arguments."""

    def run(self, arguments: argparse.Namespace, console: Console) -> int:
        """Run the command and return its exit code.

        ``console`` is for people. It writes to standard error if ``--json`` was given, because
        standard output is then for the JSON object alone.
        """


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; every expected error becomes one line.

    Without ``argv`` this is the whole program: it takes over the standard streams and signals.
    """
    if argv is not None:
        return in_one_line(lambda: execute(argv))
    return whole_program(lambda: execute(sys.argv[1:], prepare=handle_signals))


def whole_program(run: Callable[[], int], name: str = "") -> int:
    """Run a program to its end; returns its exit code. It takes over the standard streams."""
    output = prepare_streams()
    code = in_one_line(lambda: ended(run), name)
    if output.error:
        return complain(f"standard output: {output.error.strerror}", FAILED, name)
    return code


def in_one_line(run: Callable[[], int], name: str = "") -> int:
    """Run what may fail; returns the exit code. An expected error becomes one line."""
    try:
        code = run()
        sys.stdout.flush()
    except BenchError as error:
        return complain(str(error), FAILED if error.full else USAGE, name)
    except subprocess.TimeoutExpired as error:
        return complain(
            f"a child process did not answer in {error.timeout:g} s: this machine is overloaded",
            FAILED,
            name,
        )
    except MemoryError:
        return complain(
            "out of memory: raise ulimit -v or close other programs. All records are safe; "
            "continue with --resume",
            FAILED,
            name,
        )
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # The reader is gone. Python flushes once more at exit, so give it somewhere to write.
        discard(sys.stdout)
        return FAILED
    except OSError as error:
        if error.errno not in CURES:
            raise
        return complain(f"{error.strerror}: raise {CURES[error.errno]}", FAILED, name)
    return code


def complain(message: str, code: int, name: str) -> int:
    print(f"{name or launch.program()}: {one_line(with_program(message))}", file=sys.stderr)
    return code


def ended(run: Callable[[], int]) -> int:
    """The exit code of what may also end with SystemExit: after help, or a mistake in arguments."""
    try:
        return run()
    except SystemExit as stop:
        if isinstance(stop.code, str):
            print(stop.code, file=sys.stderr)
            return FAILED
        return stop.code or DONE


def execute(argv: Sequence[str], prepare: Callable[[], None] = lambda: None) -> int:
    """Run the command that these arguments name; returns its exit code.

    Calls ``prepare`` once everything is imported. Raises :class:`bench.BenchError` for an
    error that is worth one line, and SystemExit after help or an error in the arguments.
    """
    draw_to_files()
    arguments = overview().parse_args(argv)
    prepare()
    return load(arguments.command).run(
        arguments, Terminal(stderr=getattr(arguments, "json", False))
    )


def draw_to_files() -> None:
    """Forget the screen that the user draws on: a name unknown to matplotlib ends its import.

    Without a home to write to it keeps its fonts in a temporary folder, and need not say so.
    """
    os.environ.pop("MPLBACKEND", None)
    logging.getLogger("matplotlib").setLevel(logging.ERROR)


def handle_signals() -> None:
    """Let Ctrl-C, SIGTERM and a closed terminal (SIGHUP) raise KeyboardInterrupt.

    Each then cleans up: no temporary folder or child process is left behind. A signal that the
    parent process ignores (``nohup``, ``&``) stays ignored.
    """
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler)


def names(package: ModuleType = commands) -> list[str]:
    return sorted(module.name for module in pkgutil.iter_modules(package.__path__))


def load(name: str, package: ModuleType = commands) -> CommandModule:
    return cast("CommandModule", importlib.import_module(f"{package.__name__}.{name}"))


def description(name: str, package: ModuleType = commands) -> str:
    """A command's docstring, read without importing the command."""
    source = Path(package.__path__[0], f"{name}.py").read_text(encoding="utf-8")
    return with_program(ast.get_docstring(ast.parse(source)) or "")


def summary(text: str) -> str:
    """The first line of a description, for a list of them."""
    line = text.partition("\n")[0].removesuffix(".")
    return line[:1].lower() + line[1:]


def with_program(text: str) -> str:
    """Help with its examples spelled as this program was started."""
    return text.replace("python -m bench", launch.program())


def overview() -> argparse.ArgumentParser:
    parser = Parser(
        prog=launch.program(),
        description=OVERVIEW.format(program=launch.program()),
        epilog=EXITS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_commands(parser, commands, dest="command", metavar="COMMAND", title="commands")
    return parser


def add_commands(
    parser: argparse.ArgumentParser, package: ModuleType, *, dest: str, metavar: str, title: str
) -> None:
    """Make every module of a package a command below this one."""
    known = cast(
        "argparse._SubParsersAction[Parser]",
        parser.add_subparsers(dest=dest, required=True, metavar=metavar, title=title),
    )
    for name in names(package):
        text = description(name, package)
        below = known.add_parser(
            name,
            help=summary(text),
            description=text,
            epilog=EXITS,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        below.module = f"{package.__name__}.{name}"


def check_address_space() -> None:
    """Refuse an address space too small for numpy: libraries fail in obscure ways there."""
    space, _ = resource.getrlimit(resource.RLIMIT_AS)
    if space != resource.RLIM_INFINITY and space < MIN_ADDRESS_SPACE:
        raise BenchError(
            f"the harness needs 1 GiB of address space, but this process may use only "
            f"{space >> 20} MiB: raise ulimit -v"
        )
