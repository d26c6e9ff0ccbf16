"""Measure, report, compare: ``python -m bench COMMAND``, or ``c10k-bench COMMAND``.

Little is imported here, so that Ctrl-C is handled from the first moment.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # built in, so Ctrl-C cannot interrupt it
import sys

if (__name__ == "__main__" or sys.argv[0].endswith("c10k-bench")) and _signal.getsignal(
    _signal.SIGINT
) is _signal.default_int_handler:
    _signal.signal(_signal.SIGINT, _signal.SIG_DFL)

import os
import signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import FrameType

INTERRUPTED = 130
OURS = ("bench", "crawlers", "server")
NOT_INSTALLED = (
    "python -m bench needs {}, which is not installed here. After nox -s bench, use its "
    "environment: . .nox/bench/bin/activate. Or install it in your own, in the folder of a "
    "clone: python -m pip install -e '.[bench,variants]'"
)
STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code.

    ``argv`` is for tests; without it this is a program of its own, which handles signals.
    """
    for number in filter(_is_usual, STOPS if argv is None else ()):
        # An exception during an import would end in a traceback, and there is nothing to clean up.
        signal.signal(number, _leave)
    # Without room for a thread for each processor, OpenBLAS would send this process a SIGINT.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        from bench.cli import command

        return command.main(argv)
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package in ("", *OURS):
            raise
        print(NOT_INSTALLED.format(package), file=sys.stderr)
        return 1
    finally:
        if argv is None:
            for number in filter(_is_usual, STOPS):
                signal.signal(number, signal.SIG_DFL)  # nothing is left to clean up


def _is_usual(number: signal.Signals) -> bool:
    """Whether a signal does what Python, or this program, makes it do."""
    ours = (signal.SIG_DFL, signal.default_int_handler, _leave)
    return signal.getsignal(number) in ours


def _leave(number: int, frame: FrameType | None) -> None:
    try:
        os.write(2, b"interrupted\n")
    finally:
        os._exit(INTERRUPTED)


if __name__ == "__main__":
    raise SystemExit(main())
