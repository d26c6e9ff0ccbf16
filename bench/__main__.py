"""Measure, report, compare: ``python -m bench COMMAND``, or ``c10k-bench COMMAND``.

Little is imported here, so that Ctrl-C is handled from the first moment.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from contextlib import suppress
from types import FrameType

INTERRUPTED = 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code.

    ``argv`` is for tests; without it this is a program of its own, which handles signals.
    """
    if argv is None and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        # An exception during an import would end in a traceback, and there is nothing to clean up.
        signal.signal(signal.SIGINT, _leave)
    from bench.cli import command

    return command.main(argv)


def _leave(number: int, frame: FrameType | None) -> None:
    with suppress(OSError):
        os.write(2, b"interrupted\n")
    os._exit(INTERRUPTED)


if __name__ == "__main__":
    raise SystemExit(main())
