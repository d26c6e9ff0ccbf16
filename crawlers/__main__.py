"""Crawl a site: ``python -m crawlers BACKEND URL``. See :mod:`crawlers.command`."""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # built in, so Ctrl-C cannot interrupt it
import sys

if (__name__ == "__main__" or sys.argv[0].endswith("c10k-crawl")) and _signal.getsignal(
    _signal.SIGINT
) is _signal.default_int_handler:
    _signal.signal(_signal.SIGINT, _signal.SIG_DFL)

import signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

INTERRUPTED = 130
NOT_INSTALLED = (
    "python -m crawlers needs rich, which is not installed here. After nox -s bench, use its "
    "environment: . .nox/bench/bin/activate. Or, in the folder of a clone: "
    "python -m pip install -e ."
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit status.

    Its imports take a third of a second. Ctrl-C ends the program without a
    traceback during that time too, and while the interpreter ends.
    """
    usual = signal.getsignal(signal.SIGINT)
    ours = usual in (signal.default_int_handler, signal.SIG_DFL)
    try:
        if ours:
            signal.signal(signal.SIGINT, signal.SIG_DFL)
        from crawlers import command

        if ours:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        return command.main(arguments)
    except KeyboardInterrupt:
        return INTERRUPTED
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "rich":
            raise
        print(NOT_INSTALLED, file=sys.stderr)
        return 1
    finally:
        if ours:
            signal.signal(signal.SIGINT, usual if arguments is not None else signal.SIG_DFL)


if __name__ == "__main__":
    sys.exit(main())
