"""The size of the terminal, where the environment says nonsense about it, and errors on it."""

from __future__ import annotations

import argparse
import os
import re
from typing import NoReturn

SIZE = re.compile(r"[1-9][0-9]{0,3}")


class Parser(argparse.ArgumentParser):
    """A parser whose error messages are one line."""

    def error(self, message: str) -> NoReturn:
        """Print the message and exit."""
        shown = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in message)
        self.exit(2, f"crawlers: {shown} (see --help)\n")


def forget_impossible_size() -> None:
    """Leave the size to the terminal unless ``COLUMNS`` and ``LINES`` are possible ones.

    rich prints nothing with 0 columns, and fails at ``²``.
    """
    for name in ("COLUMNS", "LINES"):
        if not SIZE.fullmatch(os.environ.get(name, "1")):
            del os.environ[name]
