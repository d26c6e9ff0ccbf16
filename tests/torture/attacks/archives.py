"""Hostile archives: tar files that ``bench bundle --verify`` must see through."""

from __future__ import annotations

import gzip
import hashlib
import io
import tarfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from bench import store
from bench.report import archive
from tests.torture.attacks.records import EITHER, call, guarded, joined, judged, lines_of


@dataclass(frozen=True, slots=True)
class Archive:
    """How the members of a bundle are spoilt."""

    name: str
    spoil: Callable[[tarfile.TarFile, dict[str, bytes]], None]
    wanted: int = 2  # the exit code of bundle --verify


def add(tar: tarfile.TarFile, name: str, data: bytes = b"", **changes: Any) -> None:
    """Add a member with any attributes."""
    member = tarfile.TarInfo(name)
    member.size = len(data)
    for attribute, value in changes.items():
        setattr(member, attribute, value)
    tar.addfile(member, io.BytesIO(data))


def whole(tar: tarfile.TarFile, files: dict[str, bytes], top: str = "top") -> None:
    """Add all files of a bundle."""
    for name, data in files.items():
        add(tar, f"{top}/{name}", data)


def twice(*tops: str) -> Callable[[tarfile.TarFile, dict[str, bytes]], None]:
    """Add all files once below each folder, or below none for a dot."""

    def spoil(tar: tarfile.TarFile, files: dict[str, bytes]) -> None:
        for top in tops:
            for name, data in files.items():
                add(tar, name if top == "." else f"{top}/{name}", data)

    return spoil


def sums(files: dict[str, bytes]) -> bytes:
    """The list of checksums."""
    return b"".join(
        f"{hashlib.sha256(data).hexdigest()}  {name}\n".encode() for name, data in files.items()
    )


def with_member(name: str, data: bytes = b"x", wanted: int = 2, **changes: Any) -> Archive:
    """A good bundle and one member more."""

    def spoil(tar: tarfile.TarFile, files: dict[str, bytes]) -> None:
        whole(tar, files)
        add(tar, name, data, **changes)

    what = f", {', '.join(f'{key} {value!r}' for key, value in changes.items())}" if changes else ""
    return Archive(f"a member {name!r:.40}{what:.60}", spoil, wanted)


def with_sums(name: str, text: bytes, wanted: int = 2) -> Archive:
    """A bundle whose checksums are these."""
    return Archive(name, lambda tar, files: whole(tar, files | {archive.SUMS: text}), wanted)


ARCHIVES: Final = (
    Archive("a good bundle", whole, 0),
    Archive("no members", lambda tar, files: None),
    Archive("a folder alone", lambda tar, files: add(tar, "top", type=tarfile.DIRTYPE)),
    Archive("all files twice", twice("top", "top")),
    Archive("two folders", twice("top", "b")),
    Archive("no folder", twice(".")),
    Archive("a folder of dots", lambda tar, files: whole(tar, files, "..")),
    Archive("a folder of one dot", lambda tar, files: whole(tar, files, "."), 0),
    Archive("an absolute folder", lambda tar, files: whole(tar, files, "/etc")),
    Archive("a folder with a newline", lambda tar, files: whole(tar, files, "a\nb\x1b[2J"), 0),
    with_member("../x"),
    with_member("/etc/x"),
    with_member("top/../../x"),
    with_member("top/a/../../../x"),
    with_member("top/.."),
    with_member("top/"),
    with_member("top//x", wanted=1),
    with_member("top/./x", wanted=1),
    with_member("other/x"),
    with_member("top/a\\..\\x", wanted=1),
    with_member("top/a\nb", wanted=1),
    with_member("top/\x1b[2J", wanted=1),
    with_member("top/" + "x" * 5000, wanted=1),
    with_member("top/" + "x/" * 2000 + "y", wanted=1),
    with_member("top/é\udcff", wanted=1),
    with_member("top/trials.jsonl"),
    with_member("top/TRIALS.JSONL", wanted=1),
    *(
        with_member("top/x", b"", type=kind, linkname="/etc/passwd")
        for kind in (
            *(tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE),
            *(tarfile.BLKTYPE, tarfile.DIRTYPE, tarfile.CONTTYPE),
        )
    ),
    with_member("top/x", wanted=1, mode=0o6777, uid=0, gname="root"),
    with_member("top/x", wanted=1, mtime=10**15),
    with_member("top/x", pax_headers={"path": "../../x"}),
    with_member("top/x", pax_headers={"size": "-1"}),
    with_member("top/x", pax_headers={"size": "9" * 30}),
    with_member("top/x", pax_headers={"size": "abc"}),
    with_member("top/x", pax_headers={"mtime": "nan"}, wanted=1),
    with_member("top/x", pax_headers={"GNU.sparse.map": "0,1", "GNU.sparse.size": "1"}),
    with_member("top/x", pax_headers={"GNU.sparse.map": "x"}),
    with_sums("no checksums in the list", b"", 1),
    with_sums("checksums of no format", b"abc"),
    with_sums("binary checksums", bytes(range(256))),
    with_sums("a checksum of upper case", b"A" * 64 + b"  trials.jsonl\n"),
    with_sums("a checksum of another file", b"a" * 64 + b"  ../../etc/passwd\n", 1),
    with_sums("a checksum with an escape", b"a" * 64 + b"  \x1b[2J\n", 1),
    with_sums("a million checksums", (b"a" * 64 + b"  x\n") * 20_000, 1),
    Archive("a byte of the records changed", lambda tar, files: whole(
        tar, files | {store.FILE_NAME: files[store.FILE_NAME].replace(b"0", b"1", 1)}), 1),
)  # fmt: skip
CUTS: Final = ("cut in a head", "cut in a file", "gzip", "zip", "a bit of a head changed")


def verify(case: Archive, at: Path) -> str | None:
    """Make an archive and verify it: what is wrong, None if nothing is."""
    files = {store.FILE_NAME: joined(lines_of())[:5000], "report.html": b"<p>"}
    files[archive.SUMS] = sums(files)
    file = at / "in" / "a.tar"
    file.parent.mkdir(exist_ok=True)
    with tarfile.open(file, "w", format=tarfile.PAX_FORMAT, errors="surrogateescape") as tar:
        case.spoil(tar, files)
    return verified(file, at, case.wanted)


def verified(file: Path, at: Path, wanted: int) -> str | None:
    """Verify an archive."""
    with guarded(at) as strays:
        try:
            code, out, errors = call("bundle", "--verify", str(file))
        except Exception as error:
            return f"{type(error).__name__}: {error}"[:200]
    if strays:
        return f"wrote {strays}"
    if code != wanted:
        return f"exit {code} instead of {wanted}: {out + errors!r:.200}"
    return judged(code, out, errors, EITHER)


def cut(name: str, at: Path) -> str | None:
    """Verify an archive whose bytes are damaged."""
    file = at / "in" / "b.tar"
    file.parent.mkdir(exist_ok=True)
    with tarfile.open(file, "w") as tar:
        files = {store.FILE_NAME: bytes(5000)}
        whole(tar, files | {archive.SUMS: sums(files)})
    data = file.read_bytes()
    damaged = {
        "cut in a head": data[:300],
        "cut in a file": data[:2000],
        "gzip": gzip.compress(data),
        "zip": b"PK\x03\x04" + bytes(600),
        "a bit of a head changed": data[:100] + bytes([data[100] ^ 1]) + data[101:],
    }
    file.write_bytes(damaged[name])
    return verified(file, at, 2)


def checks(at: Path) -> dict[str, Callable[[], str | None]]:
    """Every case as a call: by name, what it does."""
    found: dict[str, Callable[[], str | None]] = {}
    for each in ARCHIVES:
        found[f"archive: {each.name}"] = lambda each=each: verify(each, at)  # type: ignore[misc]
    for name in CUTS:
        found[f"archive: {name}"] = lambda name=name: cut(name, at)  # type: ignore[misc]
    return found
