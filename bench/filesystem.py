"""Whole files: text in UTF-8 whatever the locale, and written completely or not at all."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from bench import BenchError


def read_text(file: Path) -> str:
    """The text of a file. Raises :class:`BenchError`."""
    try:
        return file.read_text(encoding="utf-8")
    except OSError as error:
        raise BenchError(f"{file}: {error.strerror}") from None
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
        raise unwritable(Path(error.filename or folder), error) from None


def unwritable(place: Path, error: OSError) -> BenchError:
    """What to say where nothing can be written."""
    then = "free some space" if error.errno in (errno.ENOSPC, errno.EDQUOT) else "choose another"
    return BenchError(f"{place}: {error.strerror or error}; {then}")


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
        raise unwritable(file, error) from None
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)
