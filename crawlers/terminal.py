"""The terminal: arguments, errors in one line, nothing that could control it, and its size."""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import NoReturn, TextIO

SIZE = re.compile(r"[1-9][0-9]{0,3}")
MOST = 10**9
"""Largest number that an option takes."""


class OutputError(Exception):
    """Standard output cannot be written; the message says why."""


@contextmanager
def writing() -> Iterator[None]:
    """Write to standard output; raises :class:`OutputError` if it cannot be written.

    A reader that closes the pipe early has read enough: that is no error.
    """
    try:
        yield
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError as error:
        discard(sys.stdout)
        if not isinstance(error, BrokenPipeError):
            raise OutputError(error.strerror) from error


class Parser(argparse.ArgumentParser):
    """A parser whose error messages are one line."""

    def print_help(self, file: object = None) -> None:
        """Print the help; argparse ignores a full disk."""
        with writing():
            print(self.format_help(), end="")

    def error(self, message: str) -> NoReturn:
        """Print the message and exit."""
        complain(f"{message} (see --help)")
        sys.exit(2)


def between(least: float, most: float, kind: Callable[[str], float]) -> Callable[[str], float]:
    """An argument type: a number from ``least`` to ``most``."""

    def number(text: str) -> float:
        try:
            value = kind(text if text.isascii() else "")
        except ValueError:
            raise argparse.ArgumentTypeError(f"not a number: {text!r}") from None
        if not least <= value <= most:
            end = f"at least {least}" if value < least else f"at most {most:.0f}"
            raise argparse.ArgumentTypeError(f"must be {end}, not {text}")
        return value

    return number


def whole(least: int) -> Callable[[str], float]:
    """An argument type: a whole number that is not below ``least``."""
    return between(least, MOST, int)


def complain(message: str) -> None:
    """Print one line on standard error, without anything that could control a terminal."""
    if sys.stderr is not None:
        try:
            print(f"crawlers: {printable(message)}", file=sys.stderr)
        except OSError:
            discard(sys.stderr)


def discard(stream: TextIO) -> None:
    """Send what is still buffered, and all that follows, to nowhere.

    Python flushes once more at exit.
    """
    with open(os.devnull, "w") as nothing:
        os.dup2(nothing.fileno(), stream.fileno())
    with suppress(OSError):
        stream.flush()


def printable(text: str) -> str:
    """The text without control characters: a hostile server may have chosen it."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)


def open_closed_streams() -> None:
    """Open /dev/null in place of each standard stream that is closed.

    Otherwise the next socket or file gets its number: uvloop aborts at such a socket.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free number


def forget_impossible_size() -> None:
    """Leave the size to the terminal unless ``COLUMNS`` and ``LINES`` are possible ones.

    rich prints nothing with 0 columns, and fails at ``²``.
    """
    for name in ("COLUMNS", "LINES"):
        if not SIZE.fullmatch(os.environ.get(name, "1")):
            del os.environ[name]
