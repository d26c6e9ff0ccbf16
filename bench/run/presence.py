"""Tells the campaigns of a machine about each other: they would share its processors.

Every campaign holds a shared lock on one file in the temporary folder while it runs, and touches
the file when it starts. One that cannot get an exclusive lock is not alone; one that finds the
file touched at its end was not alone all the time. The last one removes the file.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from rich.console import Console

FILE_NAME = "c10k-crawlers.campaigns"
SHARE_S = 1.0
LOOK_S = 0.02


@contextmanager
def announced(console: Console) -> Iterator[None]:
    """Warn about other campaigns at the start, and at the end."""
    file = Path(tempfile.gettempdir()) / FILE_NAME
    try:
        number = _open(file)
    except OSError as error:
        console.print(
            f"warning: other campaigns on this machine go unnoticed: {error.strerror}: {file}",
            style="yellow",
        )
        yield
        return
    try:
        if not _lock(number):
            console.print(
                "warning: another campaign is running on this machine; both will measure each "
                "other's load. Stop one of them",
                style="yellow",
            )
        _share(number)
        with suppress(OSError):
            os.utime(number)
        touched = os.fstat(number).st_mtime_ns
        try:
            yield
        finally:
            _leave(file, number, touched, console)
    finally:
        os.close(number)


def _leave(file: Path, number: int, touched: int, console: Console) -> None:
    """Warn about campaigns that came meanwhile; remove the file if this was the last one."""
    alone = _lock(number)
    if not alone or os.fstat(number).st_mtime_ns != touched:
        console.print(
            "warning: another campaign ran on this machine at the same time, so both measured "
            "each other's load. Run them one after the other",
            style="yellow",
        )
    if alone:
        with suppress(OSError):
            file.unlink()


def _open(file: Path) -> int:
    """The file's descriptor; the file is made so that other users can lock and touch it.

    Any user may have put something else there. Without O_NONBLOCK, opening a FIFO waits for ever.
    """
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        number = os.open(file, flags)
    except FileNotFoundError:
        number = os.open(file, flags | os.O_CREAT, 0o666)
        with suppress(OSError):
            # The file holds nothing, and everybody must be able to touch it.
            os.fchmod(number, 0o666)  # nosec B103
    if not stat.S_ISREG(os.fstat(number).st_mode):
        os.close(number)
        raise OSError(errno.EINVAL, "not a regular file")
    return number


def _share(number: int) -> None:
    """Take the shared lock; not if somebody keeps the exclusive one, which any user may do."""
    until = time.monotonic() + SHARE_S
    while time.monotonic() < until:
        try:
            return fcntl.flock(number, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:  # another campaign looks whether it is alone
            time.sleep(LOOK_S)


def _lock(number: int) -> bool:
    """Take the exclusive lock, if no other campaign holds one; returns whether that worked."""
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
