"""Ctrl-C where it does no harm.

An exception at any moment would leave children and files half opened. While
:func:`deferred` is active, SIGINT and SIGTERM take effect only where the
harness waits, in an :func:`interruptible` section, which is nearly always; a
second one takes effect at once.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM)

_pending = False
_waiting = False


def _handle(number: int, frame: FrameType | None) -> None:
    global _pending
    if _waiting or _pending:
        raise KeyboardInterrupt
    _pending = True


@contextmanager
def deferred() -> Iterator[None]:
    """Let SIGINT and SIGTERM raise KeyboardInterrupt in interruptible sections only.

    Does nothing outside the main thread, where Python handles no signals.
    """
    global _pending
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = [signal.signal(number, _handle) for number in SIGNALS]
    _pending = False
    try:
        yield
    finally:
        for number, handler in zip(SIGNALS, before, strict=True):
            signal.signal(number, handler)


@contextmanager
def interruptible() -> Iterator[None]:
    """A section in which a signal that came, or comes, raises KeyboardInterrupt."""
    global _pending, _waiting
    _waiting = True
    try:
        if _pending:
            _pending = False
            raise KeyboardInterrupt
        yield
    finally:
        _waiting = False
