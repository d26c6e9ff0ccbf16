"""One archive of a campaign: records, charts, tables, page and checksums.

A bundle is an uncompressed tar file with sorted names and no times or owners, so
that the same files give the same bytes on any machine. It is read member by
member and never unpacked, so a name in it cannot lead anywhere.
"""

from __future__ import annotations

import hashlib
import io
import re
import shutil
import tarfile
import tempfile
from pathlib import Path

from bench import output, store
from bench.claims.records import FILE_NAME as EXPERIMENTS
from bench.errors import BenchError

SUMS = "SHA256SUMS"
SUM_LINE = re.compile(r"([0-9a-f]{64})  (.+)")


class BundleError(BenchError):
    """Not a bundle, or one that is damaged; the message says where."""


def files_of(records_file: Path) -> dict[str, bytes]:
    """Every file of a campaign's bundle, all but the two of records made anew from them.

    Raises :class:`bench.store.StoreError`.
    """
    experiments = records_file.parent / EXPERIMENTS
    with tempfile.TemporaryDirectory(prefix="c10k-") as scratch:
        folder = Path(scratch)
        shutil.copyfile(records_file, folder / store.FILE_NAME)
        if experiments.is_file():
            shutil.copyfile(experiments, folder / EXPERIMENTS)
        output.build(store.load(folder), folder, folder / store.FILE_NAME)
        found = {
            file.relative_to(folder).as_posix(): file.read_bytes()
            for file in sorted(folder.rglob("*"))
            if file.is_file()
        }
    sums = (f"{hashlib.sha256(found[name]).hexdigest()}  {name}\n" for name in sorted(found))
    return {SUMS: "".join(sums).encode()} | found


def write(records_file: Path, file: Path) -> int:
    """Make the bundle of a campaign; returns how many files it holds.

    Raises :class:`BundleError` when it cannot be written.
    """
    found = files_of(records_file)
    top = f"c10k-{store.load(records_file).campaign.campaign}"
    if "/" in top or top in (".", ".."):
        raise BundleError(f"{top!r} is no name for a folder")
    try:
        # PAX without times, owners or rights of its own: bytes depend on the files alone.
        with tarfile.open(file, "w", format=tarfile.PAX_FORMAT) as archive:
            for name in sorted(found):
                member = tarfile.TarInfo(f"{top}/{name}")
                member.size = len(found[name])
                archive.addfile(member, io.BytesIO(found[name]))
    except OSError as error:
        raise BundleError(f"{file}: {error.strerror}") from None
    return len(found)


def read(file: Path) -> dict[str, bytes]:
    """The files of a bundle, by their names below its one folder.

    Raises :class:`BundleError` for an archive with links, devices, names that
    lead out of its folder, a name twice, or no proper checksums.
    """
    found: dict[str, bytes] = {}
    tops = set()
    try:
        with tarfile.open(file, "r:") as archive:
            for member in archive:
                top, _, name = member.name.partition("/")
                tops.add(top)
                if member.type != tarfile.REGTYPE or member.sparse is not None:
                    raise BundleError(f"{file}: {member.name!r} is no plain file")
                if not name or ".." in member.name.split("/") or len(tops) > 1 or not top:
                    raise BundleError(f"{file}: {member.name!r} lies outside the bundle's folder")
                if name in found:
                    raise BundleError(f"{file}: {name!r} is there twice")
                opened = archive.extractfile(member)
                found[name] = opened.read() if opened is not None else b""
    except OSError as error:
        raise BundleError(f"{file}: {error.strerror or error}") from None
    except tarfile.TarError as error:
        raise BundleError(f"{file}: not a bundle ({error})") from None
    if store.FILE_NAME not in found or SUMS not in found:
        raise BundleError(f"{file}: not a bundle: it has no {store.FILE_NAME} or no {SUMS}")
    return found


def faults(file: Path) -> list[str]:
    """What is wrong with a bundle by its own checksums, one line each.

    Raises :class:`BundleError` when it is none at all.
    """
    found = read(file)
    sums = {}
    for line in found.pop(SUMS).decode(errors="replace").splitlines():
        match = SUM_LINE.fullmatch(line)
        if match is None:
            raise BundleError(f"{file}: {SUMS} has a line that is no checksum: {line[:80]!r}")
        sums[match[2]] = match[1]
    wrong = [f"{name}: missing" for name in sorted(sums.keys() - found.keys())]
    wrong += [f"{name}: has no checksum" for name in sorted(found.keys() - sums.keys())]
    wrong += [
        f"{name}: is not what its checksum says"
        for name in sorted(sums.keys() & found.keys())
        if hashlib.sha256(found[name]).hexdigest() != sums[name]
    ]
    return wrong


def differences(file: Path) -> list[str]:
    """Names of the files that come out otherwise when made anew from the bundle's records."""
    found = read(file)
    with tempfile.TemporaryDirectory(prefix="c10k-") as scratch:
        for name in (store.FILE_NAME, EXPERIMENTS):
            if name in found:
                (Path(scratch) / name).write_bytes(found[name])
        made = files_of(Path(scratch) / store.FILE_NAME)
    # The list of checksums differs whenever a file does.
    names = sorted((found.keys() | made.keys()) - {SUMS})
    return [name for name in names if found.get(name) != made.get(name)]
