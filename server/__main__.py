"""``python -m server``: serve a site until told to stop."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from server.signals import leave, on_stop

if TYPE_CHECKING:
    from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point; returns the exit status."""
    on_stop(leave)  # the next import takes a while
    from server.cli import command

    return command(arguments)


if __name__ == "__main__":
    sys.exit(main())
