"""Tells the campaigns of a machine about each other: they would share its processors.

Every campaign holds a shared lock on one file in the temporary folder while it runs, and touches
the file when it starts. One that cannot get an exclusive lock is not alone; one that finds the
file touched at its end was not alone all the time. The last one removes the file.
"""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from rich.console import Console

FILE_NAME = "c10k-crawlers.campaigns"


@contextmanager
def announced(console: Console) -> Iterator[None]:
    """Warn about other campaigns at the start, and at the end."""
    file = Path(tempfile.gettempdir()) / FILE_NAME
    try:
        number = _open(file)
    except OSError:  # such as a file of another user: then nobody can be told
        yield
        return
    try:
        if not _lock(number):
            console.print(
                "warning: another campaign is running on this machine; both will measure each "
                "other's load. Stop one of them",
                style="yellow",
            )
        fcntl.flock(number, fcntl.LOCK_SH)
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
    """The file's descriptor; the file is made so that other users can lock and touch it."""
    try:
        return os.open(file, os.O_RDONLY | os.O_NOFOLLOW)
    except FileNotFoundError:
        number = os.open(file, os.O_RDONLY | os.O_CREAT | os.O_NOFOLLOW, 0o666)
        with suppress(OSError):
            # The file holds nothing, and everybody must be able to touch it.
            os.fchmod(number, 0o666)  # nosec B103
        return number


def _lock(number: int) -> bool:
    """Take the exclusive lock, if no other campaign holds one; returns whether that worked."""
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
