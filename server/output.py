"""Standard output, which can be closed, full or unable to encode a path."""

from __future__ import annotations

import contextlib
import os
import sys
from typing import TextIO


def open_closed_streams() -> None:
    """Open /dev/null in place of each standard stream that is closed.

    Otherwise the next socket gets its number, and uvloop aborts at such a socket.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free number


def say(text: str) -> None:
    """Print a line; raises :class:`OSError` with a message for people."""
    if sys.stdout is None:
        raise OSError("cannot write to standard output: it is closed")
    encoding = sys.stdout.encoding
    try:
        print(text.encode(encoding, "backslashreplace").decode(encoding), flush=True)
    except OSError as error:
        # The interpreter would try once more at its end, and print a traceback.
        _discard(sys.stdout)
        reason = os.strerror(error.errno or 0).lower()
        raise OSError(f"cannot write to standard output: {reason}") from None


def complain(text: str) -> None:
    """Print a line on standard error, if that can be written."""
    if sys.stderr is not None:
        try:
            print(text, file=sys.stderr)
        except OSError:
            _discard(sys.stderr)


def one_line(text: str) -> str:
    """Text for a terminal: line ends and control characters become visible escapes."""
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)


def _discard(stream: TextIO) -> None:
    with contextlib.suppress(OSError, ValueError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, stream.fileno())
        os.close(null)
