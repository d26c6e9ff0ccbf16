"""Crawl a site: ``python -m crawlers BACKEND URL``. See :mod:`crawlers.command`."""

from __future__ import annotations

import signal
import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit status.

    Its imports take a third of a second. Ctrl-C ends the program without a
    traceback during that time too.
    """
    usual = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    try:
        if usual:
            signal.signal(signal.SIGINT, signal.SIG_DFL)
        from crawlers import command
    finally:
        if usual:
            signal.signal(signal.SIGINT, signal.default_int_handler)
    return command.main(arguments)


if __name__ == "__main__":
    sys.exit(main())
