"""One archive of a campaign: records, charts, tables, page and checksums.

A bundle is an uncompressed tar file with sorted names and no times or owners, so
the same files give the same bytes on any machine. It is read member by member
and never unpacked, so a malicious name in it can do no harm.
"""

from __future__ import annotations

import hashlib
import io
import re
import shutil
import tarfile
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from bench import filesystem, store, turnlog
from bench.analysis.analysis import Analysis
from bench.errors import BenchError
from bench.report import publish
from bench.report.extension import Extension

SUMS = "SHA256SUMS"
SUM_LINE = re.compile(r"([0-9a-f]{64})  (.+)")


class BundleError(BenchError):
    """Not a bundle, or a damaged one; the message says where."""


def files_of(records_file: Path, extensions: Sequence[Extension] = ()) -> dict[str, bytes]:
    """Every file of a campaign's bundle: the records, and all that is built from them.

    Raises :class:`bench.store.StoreError`.
    """
    with tempfile.TemporaryDirectory(prefix="c10k-") as scratch:
        folder = Path(scratch)
        (folder / store.FILE_NAME).write_bytes(store.read_bytes(records_file))
        for name in _further_records(extensions):
            if (records_file.parent / name).is_file():
                shutil.copyfile(records_file.parent / name, folder / name)
        publish.build(Analysis.load(folder), folder, folder / store.FILE_NAME, extensions)
        found = {
            file.relative_to(folder).as_posix(): file.read_bytes()
            for file in sorted(folder.rglob("*"))
            if file.is_file()
        }
    sums = (f"{hashlib.sha256(found[name]).hexdigest()}  {name}\n" for name in sorted(found))
    return {SUMS: "".join(sums).encode()} | found


def _further_records(extensions: Sequence[Extension]) -> list[str]:
    return [turnlog.FILE_NAME, *(name for one in extensions for name in one.records)]


def write(records_file: Path, file: Path, extensions: Sequence[Extension] = ()) -> int:
    """Write the bundle of a campaign; returns how many files it holds.

    Raises :class:`bench.errors.BenchError` when it cannot be written.
    """
    found = files_of(records_file, extensions)
    top = f"c10k-{store.load(records_file).campaign.campaign}"
    if "/" in top or top in (".", ".."):
        raise BundleError(f"{top!r} is not a valid name for a folder")
    with (
        filesystem.replacing(file) as part,
        # Without times, owners or rights, the bytes depend on the files alone.
        tarfile.open(part, "w", format=tarfile.PAX_FORMAT) as archive,
    ):
        for name in sorted(found):
            member = tarfile.TarInfo(f"{top}/{name}")
            member.size = len(found[name])
            archive.addfile(member, io.BytesIO(found[name]))
    return len(found)


def read(file: Path) -> dict[str, bytes]:
    """The files of a bundle, by their names below its one folder.

    Raises :class:`BundleError` for an archive with links, devices, names outside
    its folder, the same name twice, or without records or checksums.
    """
    found: dict[str, bytes] = {}
    tops, name, end = set(), "", 0
    try:
        with tarfile.open(file, "r:") as archive:
            for member in archive:
                top, _, name = member.name.partition("/")
                tops.add(top)
                if member.type != tarfile.REGTYPE or member.sparse is not None:
                    raise BundleError(f"{file}: {member.name!r} is not a regular file")
                if not name or ".." in member.name.split("/") or len(tops) > 1 or not top:
                    raise BundleError(f"{file}: {member.name!r} is outside the bundle's folder")
                if name in found:
                    raise BundleError(f"{file}: {name!r} occurs twice")
                opened = archive.extractfile(member)
                found[name] = opened.read() if opened is not None else b""
                end = member.offset_data + -(-member.size // tarfile.BLOCKSIZE) * tarfile.BLOCKSIZE
            if found and not _only_zeros(archive, end):  # /dev/zero has no member and no end
                raise BundleError(f"{file}: not a bundle (what follows {name!r} has no valid head)")
    except OSError as error:
        raise BundleError(f"{file}: {error.strerror or error}") from None
    except (tarfile.TarError, ValueError, OverflowError) as error:  # odd numbers in a head
        raise BundleError(f"{file}: not a bundle ({error})") from None
    if store.FILE_NAME not in found or SUMS not in found:
        raise BundleError(f"{file}: not a bundle: it has no {store.FILE_NAME} or no {SUMS}")
    return found


def _only_zeros(archive: tarfile.TarFile, end: int) -> bool:
    """Whether only zeros follow the last member; tarfile may stop at an odd head in silence."""
    archive.fileobj.seek(end)
    return not any(
        block.strip(b"\0") for block in iter(partial(archive.fileobj.read, 1 << 16), b"")
    )


def faults(file: Path) -> list[str]:
    """Where a bundle differs from its own checksums, one line for each file.

    Raises :class:`BundleError` if the file is not a bundle.
    """
    found = read(file)
    sums = {}
    for line in found.pop(SUMS).decode(errors="replace").splitlines():
        match = SUM_LINE.fullmatch(line)
        if match is None:
            raise BundleError(f"{file}: {SUMS} has a line that is not a checksum: {line[:80]!r}")
        sums[match[2]] = match[1]
    wrong = [f"{name}: missing" for name in sorted(sums.keys() - found.keys())]
    wrong += [f"{name}: has no checksum" for name in sorted(found.keys() - sums.keys())]
    wrong += [
        f"{name}: does not match its checksum"
        for name in sorted(sums.keys() & found.keys())
        if hashlib.sha256(found[name]).hexdigest() != sums[name]
    ]
    return wrong


def differences(file: Path, extensions: Sequence[Extension] = ()) -> list[str]:
    """Names of the files that rebuilding from the bundle's records changes."""
    found = read(file)
    with tempfile.TemporaryDirectory(prefix="c10k-") as scratch:
        for name in (store.FILE_NAME, *_further_records(extensions)):
            if name in found:
                (Path(scratch) / name).write_bytes(found[name])
        made = files_of(Path(scratch) / store.FILE_NAME, extensions)
    # The list of checksums differs whenever a file does.
    names = sorted((found.keys() | made.keys()) - {SUMS})
    return [name for name in names if found.get(name) != made.get(name)]
