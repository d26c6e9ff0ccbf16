"""``python -m server``: serve a site until told to stop."""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # built in, so Ctrl-C cannot interrupt it
import sys

if (__name__ == "__main__" or sys.argv[0].endswith("c10k-server")) and _signal.getsignal(
    _signal.SIGINT
) is _signal.default_int_handler:
    _signal.signal(_signal.SIGINT, _signal.SIG_DFL)

from server.output import open_closed_streams
from server.signals import leave, on_stop

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point; returns the exit status."""
    open_closed_streams()
    on_stop(leave)  # the next import takes a while
    words = sys.argv[1:] if arguments is None else arguments
    if words and words[0] == "models":
        from server.models.catalogue import patch

        patch(words[1:2])
        from server.models_cli import models

        return models(words[1:])
    from server.cli import command

    return command(arguments)


if __name__ == "__main__":
    sys.exit(main())
