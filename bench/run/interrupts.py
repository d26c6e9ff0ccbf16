"""Ctrl-C only where it is safe.

An exception at an arbitrary moment could leave a child or a file half open.
While :func:`deferred` is active, SIGINT, SIGTERM and SIGHUP (a closed terminal)
take effect only where the harness waits, in an :func:`interruptible` section.
That is nearly always. A second signal takes effect at once.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

_pending = False
_waiting = False


def _handle(number: int, frame: FrameType | None) -> None:
    global _pending
    if _waiting or _pending:
        raise KeyboardInterrupt
    _pending = True


@contextmanager
def deferred() -> Iterator[None]:
    """Let :data:`SIGNALS` raise KeyboardInterrupt in interruptible sections only.

    A signal that the parent process ignores (``nohup``, ``&``) stays ignored. Does nothing
    outside the main thread, because Python handles signals there only.
    """
    global _pending
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in SIGNALS}
    handled = [number for number in SIGNALS if before[number] != signal.SIG_IGN]
    for number in handled:
        signal.signal(number, _handle)
    _pending = False
    try:
        yield
    finally:
        for number in handled:
            signal.signal(number, before[number])


@contextmanager
def interruptible() -> Iterator[None]:
    """A section in which a signal, also an earlier one, raises KeyboardInterrupt."""
    global _pending, _waiting
    _waiting = True
    try:
        if _pending:
            _pending = False
            raise KeyboardInterrupt
        yield
    finally:
        _waiting = False
