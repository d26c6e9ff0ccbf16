"""Files: text in UTF-8 in any locale, written whole or not at all; folders that do not stay."""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Final

from bench import BenchError


def is_full(error: OSError) -> bool:
    return error.errno in (errno.ENOSPC, errno.EDQUOT)


def fault(path: object, error: OSError, *, writing: bool = False) -> BenchError:
    full = is_full(error)
    then = ("; free some space" if full else "; choose another") * writing
    return BenchError(f"{path}: {error.strerror or error}{then}", full=full)


def read_text(file: Path) -> str:
    """The text of a file. Raises :class:`BenchError`."""
    try:
        return file.read_text(encoding="utf-8")
    except OSError as error:
        raise fault(file, error) from None
    except UnicodeDecodeError as error:
        raise BenchError(f"{file}: not UTF-8 text ({error.reason} at byte {error.start})") from None


def write_text(file: Path, text: str) -> None:
    """Write a text file, and make its folder. Raises :class:`BenchError`."""
    write_bytes(file, text.encode())


def write_bytes(file: Path, data: bytes) -> None:
    """Write a file, and make its folder. Raises :class:`BenchError`."""
    with replacing(file) as part:
        part.write_bytes(data)


def make_folder(folder: Path) -> None:
    """Make a folder and those above it. Raises :class:`BenchError`."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise fault(error.filename or folder, error, writing=True) from None


@contextmanager
def replacing(file: Path) -> Iterator[Path]:
    """A path to write to, which takes the place of ``file`` once it is complete.

    After an error, such as a full disk, ``file`` is what it was before: no empty or torn file is
    left behind (after SIGKILL a hidden one is). A device such as /dev/stdout is written to
    directly. Raises :class:`BenchError`.
    """
    target = Path(os.path.realpath(file))
    part = target.with_name(f".{target.name[:200]}.{os.getpid()}.part")
    make_folder(target.parent)
    try:
        there = target.exists()
        if there and not target.is_file():
            yield target
            return
        yield part
        if there:
            shutil.copymode(target, part)
        part.replace(target)
    except OSError as error:
        raise fault(file, error, writing=True) from None
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)


# --- folders that do not stay --------------------------------------------------------------

SCRATCH: Final = "c10k-crawlers-"


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Raises :class:`OSError` while another process has it; a lock goes with its process."""
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(opened)


@contextmanager
def scratch() -> Iterator[Path]:
    """A folder for a while; what a process that was killed has left of such is removed first.

    It is locked before it has a name by which others find it. Raises :class:`BenchError`.
    """
    try:
        for left in Path(tempfile.gettempdir()).glob(f"{SCRATCH}*"):
            with suppress(OSError), locked(left):
                shutil.rmtree(left)
        made = Path(tempfile.mkdtemp())
    except OSError as error:
        raise fault(error.filename or "TMPDIR", error) from None
    with ExitStack() as stack:
        with suppress(OSError):  # not on every file system
            stack.enter_context(locked(made))
        folder = made.with_name(f"{SCRATCH}{made.name}")
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        yield made.rename(folder)
