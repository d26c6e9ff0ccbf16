"""The terminal: errors in one line, nothing that could control it, and its size."""

from __future__ import annotations

import argparse
import os
import re
import sys
from contextlib import suppress
from typing import NoReturn

SIZE = re.compile(r"[1-9][0-9]{0,3}")


class Parser(argparse.ArgumentParser):
    """A parser whose error messages are one line."""

    def error(self, message: str) -> NoReturn:
        """Print the message and exit."""
        complain(f"{message} (see --help)")
        sys.exit(2)


def complain(message: str) -> None:
    """Print one line on standard error, without anything that could control a terminal."""
    if sys.stderr is not None:
        with suppress(OSError):
            print(f"crawlers: {printable(message)}", file=sys.stderr)


def printable(text: str) -> str:
    """The text without control characters: a hostile server may have chosen it."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)


def forget_impossible_size() -> None:
    """Leave the size to the terminal unless ``COLUMNS`` and ``LINES`` are possible ones.

    rich prints nothing with 0 columns, and fails at ``²``.
    """
    for name in ("COLUMNS", "LINES"):
        if not SIZE.fullmatch(os.environ.get(name, "1")):
            del os.environ[name]
