"""The signals that stop the server, without a traceback at any time.

Ctrl-C, ``SIGTERM`` and the end of the terminal (``SIGHUP``) mean the same. While
modules are being imported the process just ends: there is nothing to clean up,
and an exception in the middle of an import prints a traceback. While it prepares
a site, it is interrupted. After that its event loop handles the signals.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import NoReturn


def stop_signals() -> list[signal.Signals]:
    """The signals that stop the server; ``SIGHUP`` does not under ``nohup``."""
    numbers = [signal.SIGINT, signal.SIGTERM]
    if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:
        numbers.append(signal.SIGHUP)
    return numbers


def on_stop(handler: Callable[[int, FrameType | None], NoReturn] | signal.Handlers) -> None:
    """Handle the signals that stop the server from now on."""
    for number in stop_signals():
        signal.signal(number, handler)


def when_the_parent_ends(act: Callable[[], object]) -> None:
    """Call a function when standard input ends, which it does when the parent dies.

    This takes a thread, because no loop can wait for every kind of file.
    """

    def wait() -> None:
        with contextlib.suppress(OSError):
            while os.read(0, 4096):
                pass
        act()

    threading.Thread(target=wait, daemon=True).start()


def leave(number: int, frame: FrameType | None) -> NoReturn:
    """End the process, successfully."""
    os._exit(0)


def interrupt(number: int, frame: FrameType | None) -> NoReturn:
    """Raise :class:`KeyboardInterrupt`."""
    raise KeyboardInterrupt
