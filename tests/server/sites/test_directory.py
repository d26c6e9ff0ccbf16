"""Directories: served as a static file server would, and nothing outside them."""

from __future__ import annotations

import errno
import json
from pathlib import Path
from zlib import crc32

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from server.sites import reference
from server.sites.directory import MOST_MIB, Directory
from server.sites.site import SiteError, digest_of
from server.sites.specs import make_site
from tests.programs import python

AUTHORITY = "127.0.0.1:8000"


def make_folder(base: Path) -> Path:
    """A site with everything in it, and a secret beside it."""
    root = base / "root"
    (root / "sub" / "deep").mkdir(parents=True)
    (root / "empty").mkdir()
    (root / "index.html").write_text(
        '<a href="sub">s</a><a href="a%20b.txt">t</a><a href="gone.html">g</a>'
        '<a href="caf&eacute;.html?x=1#y">c</a><a href="empty/">e</a><a href="big.bin">b</a>'
        '<a href="out.html">o</a><a href="../secret.html">u</a><!-- <a href="no.html"> -->'
    )
    (root / "sub" / "index.html").write_text('<base href="deep/"><a href="../../archive.gz">d</a>')
    (root / "a b.txt").write_text('<a href="not-html">')
    (root / "café.html").write_text("<a href='/sub/'>s</a>")
    (root / "archive.gz").write_bytes(b"\x1f\x8b")
    (root / "page.html.gz").write_bytes(b"\x1f\x8b")
    (root / "big.bin").write_bytes(bytes(range(256)) * 20_000)
    (base / "secret.html").write_text("secret")
    (root / "out.html").symlink_to(base / "secret.html")
    (root / "in.html").symlink_to("index.html")
    return root


def add_loops(root: Path) -> Path:
    """Links to folders: no outcome of such a site is remembered."""
    (root / "parent").symlink_to(root.parent)
    (root / "loop").symlink_to(root)
    return root


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make_folder(tmp_path)


@pytest.fixture(scope="module")
def shared_folder(tmp_path_factory: pytest.TempPathFactory) -> Directory:
    root = add_loops(make_folder(tmp_path_factory.mktemp("shared")))
    site = make_site(f"dir:{root}", 1, AUTHORITY)
    assert isinstance(site, Directory)
    return site


def test_a_directory_is_served_as_a_static_server_would(shared_folder: Directory) -> None:
    site = shared_folder
    assert {key: status for key, (status, _) in site.expected().items()} == {
        "/": 200,
        "/sub": 301,
        "/sub/": 200,
        "/a%20b.txt": 200,
        "/gone.html": 404,
        "/caf%C3%A9.html?x=1": 200,
        "/empty/": 404,
        "/archive.gz": 200,
        "/big.bin": 200,
        "/out.html": 404,
        "/secret.html": 404,
    }
    assert site.pages == 6
    assert site.digest == digest_of(site.expected())
    kinds = {
        "/": b"text/html; charset=utf-8",
        "/a%20b.txt": b"text/plain; charset=utf-8",
        "/archive.gz": b"application/octet-stream",
        "/page.html.gz": b"application/octet-stream",
        "/in.html": b"text/html; charset=utf-8",
        "/loop/loop/sub/": b"text/html; charset=utf-8",
    }
    for target, kind in kinds.items():
        found = site.find(target.encode())
        assert found is not None
        assert b"Content-Type: " + kind + b"\r\n" in found.payload
    moved = site.find(b"/sub?q=1")
    assert moved is not None
    assert moved.location == "/sub/?q=1"
    big = site.find(b"/big.bin")
    assert big is not None
    assert crc32(big.body) == big.checksum
    assert big.size == 256 * 20_000


TARGETS = r"""
    /../secret.html /sub/../../secret.html /%2e%2e/secret.html /.%2E/secret.html
    /..%2fsecret.html /sub%2f..%2f..%2fsecret.html /%2e%2e%2fsecret.html /%252e%252e/secret.html
    /..\secret.html /..%5csecret.html /parent/secret.html /loop/parent/secret.html /out.html
    //secret.html //etc/passwd /%2fetc/passwd /index.html%00.txt /index.html/ /sub/. /sub/..
    /./index.html /%ff%fe secret.html
"""


@pytest.mark.parametrize("target", [*TARGETS.split(), "/" + "a" * 5000, "/" + "a/" * 3000, ""])
def test_nothing_outside_a_directory_is_served(shared_folder: Directory, target: str) -> None:
    assert shared_folder.find(target.encode()) is None


NAMES = r".. . %2e%2e %2f ..%2f \ %00 sub parent loop secret.html"
SEGMENTS = st.lists(st.sampled_from(["", *NAMES.split()]), max_size=8)


@given(segments=SEGMENTS)
@settings(max_examples=3 * settings().max_examples, deadline=None)
def test_no_target_finds_the_secret(shared_folder: Directory, segments: list[str]) -> None:
    found = shared_folder.find(("/" + "/".join(segments)).encode())
    assert found is None or b"secret" not in found.body.replace(b"../secret.html", b"")


@pytest.fixture
def crawls(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Grows by one with each reference crawl."""
    made: list[object] = []
    crawl = reference.crawl

    def counted(*arguments: object) -> object:
        made.append(arguments)
        return crawl(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(reference, "crawl", counted)
    return made


def test_outcomes_are_remembered_until_anything_changes(
    folder: Path, tmp_path: Path, crawls: list[object]
) -> None:
    cache = tmp_path / "cache"

    def digest() -> str | None:
        return make_site(f"dir:{folder}", 1, AUTHORITY, cache).digest

    first = digest()
    assert digest() == first
    assert len(crawls) == 1
    for store in cache.iterdir():
        store.write_text("damaged")
    assert digest() == first
    assert len(crawls) == 2
    (folder / "gone.html").write_text("here now")
    second = digest()
    assert second != first
    (folder / "empty" / "index.html").write_text("no longer empty")
    assert digest() not in (first, second)
    (folder / "gone.html").write_text(f'<a href="http://{AUTHORITY}/in.html">')
    before = len(crawls)
    digest()
    digest()
    assert len(crawls) == before + 2, "a page that names this very port is crawled each time"


def test_no_outcome_depends_on_code_outside_the_package_that_is_hashed() -> None:
    code = "import sys, server.sites.directory; print(*sys.modules)"
    done = python("-c", code)
    loaded = {name for name in done.stdout.split() if name.partition(".")[0] == "server"}
    assert "server.sites.reference" in loaded
    assert {name for name in loaded if not name.startswith("server.sites.")} == {
        "server",
        "server.sites",
    }


def test_a_folder_that_does_not_fit_is_refused(folder: Path) -> None:
    """By the sizes of its files: this one takes no room."""
    with (folder / "huge").open("wb") as file:
        file.truncate((MOST_MIB << 20) + 1)
    with pytest.raises(SiteError, match="more than 512 MiB"):
        make_site(f"dir:{folder}", 1, AUTHORITY)


def test_a_cache_that_cannot_be_written_is_no_error(folder: Path, tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    assert make_site(f"dir:{folder}", 1, AUTHORITY, blocked / "cache").pages == 6


def test_a_full_disk_leaves_nothing_in_the_cache(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(json, "dump", full)
    cache = tmp_path / "cache"
    assert make_site(f"dir:{folder}", 1, AUTHORITY, cache).pages == 6
    assert list(cache.iterdir()) == []


def test_no_file_depends_on_the_locale(folder: Path, tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from server.sites.specs import make_site\n"
        "for _ in range(2): make_site(f'dir:{sys.argv[1]}', 1, None, Path(sys.argv[2]))"
    )
    options = ["-X", "warn_default_encoding", "-W", "error::EncodingWarning"]
    done = python(*options, "-c", code, str(folder), str(tmp_path / "cache"))
    assert (done.returncode, done.stderr) == (0, "")
