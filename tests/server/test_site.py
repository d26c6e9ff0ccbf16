"""Sites: the same for the same seed, and as large as they say."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from pathlib import Path
from zlib import crc32

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from server import reference
from server.site import Directory, Site, SiteError, digest_of, make_site

AUTHORITY = "127.0.0.1:8000"


def digest_by_definition(outcomes: dict[str, tuple[int, int]]) -> str:
    lines = sorted((key, f"{key} {code} {crc:08x}\n") for key, (code, crc) in outcomes.items())
    return hashlib.sha256("".join(line for _, line in lines).encode()).hexdigest()


@given(
    pages=st.integers(1, 400),
    fanout=st.integers(1, 12),
    seed=st.integers(),
    authority=st.sampled_from([AUTHORITY, "[::1]:99", "127.0.0.1:80", None]),
)
@settings(max_examples=40, deadline=None)
def test_an_independent_crawl_of_a_tree_finds_what_was_built(
    pages: int, fanout: int, seed: int, authority: str | None
) -> None:
    site = make_site(f"tree:{pages}:{fanout}:4096", seed, authority)
    found, page_bytes = reference.crawl(site.find, authority or "localhost")
    assert found == site.expected()
    assert digest_by_definition(found) == site.digest == digest_of(found)
    assert site.pages == pages
    assert site.urls == len(found)
    assert site.page_bytes == page_bytes == pages * 4096


@given(seed=st.integers(0, 50), size=st.integers(2000, 5000))
@settings(max_examples=10, deadline=None)
def test_a_tree_is_a_function_of_its_seed(seed: int, size: int) -> None:
    first = make_site(f"tree:60:5:{size}", seed, AUTHORITY)
    again = make_site(f"tree:60:5:{size}", seed, AUTHORITY)
    other = make_site(f"tree:60:5:{size}", seed + 1, AUTHORITY)
    payloads = {key: one.payload for key, one in first.routes.items()}
    assert payloads == {key: one.payload for key, one in again.routes.items()}
    assert first.digest == again.digest != other.digest


def test_a_tree_stays_the_same_from_release_to_release() -> None:
    """A changed generator makes old results incomparable: change this only on purpose."""
    assert make_site("tree:200:5:2048", 1, None).digest == (
        "4b6993bd3d41779c9d6af855c916e7ca0554ccb1fc88d81c84a018108ce92a07"
    )


def test_a_small_tree_has_every_special_kind() -> None:
    site = make_site("tree:200:5:2048", 1, AUTHORITY)
    expected = site.expected()
    statuses = Counter(status for status, _ in expected.values())
    assert statuses[200] == 200
    assert statuses[404] == 2
    redirects = sum(statuses[code] for code in (301, 302, 303, 307, 308))
    assert redirects == 10
    assert all(resource.size == 2048 for resource in site.routes.values() if resource.status == 200)
    assert any("?" in key for key in expected)
    assert any("%C3%A9" in key for key in expected)
    assert any("%c3%af" in key for key in expected)
    assert any("%20" in key for key in expected)
    everything = b"".join(resource.payload for resource in site.routes.values())
    for needle in (b'"../', b'"./', b"&amp;", b"//127.0.0.1", b"<!-- <a", b"mailto:", b"<base"):
        assert needle in everything
    locations = [resource.location for resource in site.routes.values() if resource.location]
    targets = Counter(reference.resolve(f"http://{AUTHORITY}/moved/0", one) for one in locations)
    assert max(targets.values()) > 1, "no two redirects merge"


def test_redirect_chains_are_well_below_ten_hops() -> None:
    site = make_site("tree:3000:5:2048", 1, AUTHORITY)
    depths = []
    for key, resource in site.routes.items():
        target, hops, current = key[4:].decode(), 0, resource
        while current.location is not None:
            link = reference.resolve(f"http://{AUTHORITY}{target}", current.location)
            assert link is not None
            target = link.removeprefix(f"http://{AUTHORITY}")
            found = site.find(target.encode())
            assert found is not None
            current, hops = found, hops + 1
        depths.append(hops)
    assert max(depths) == 5


@pytest.mark.parametrize("pages", [1, 2, 9, 10, 11, 99, 100, 101, 1234])
def test_a_list_is_n_pages(pages: int) -> None:
    site = make_site(f"list:{pages}:300", 1, AUTHORITY)
    expected = site.expected()
    assert list(expected) == [f"/p/{number}" for number in range(pages)]
    assert site.digest == digest_by_definition(expected)
    page = site.find(b"/p/0")
    assert page is not None
    assert crc32(page.body) == page.checksum == expected["/p/0"][1]
    assert len(page.body) == 300
    assert reference.links(page.body, "http://x/") == []


@pytest.mark.parametrize(
    "target", ["/", "/p/", "/p/100", "/p/00", "/p/-1", "/p/+1", "/p/1_0", "/p/1 ", "/p/٣", "/p/1?x"]
)
def test_a_list_has_one_name_per_page(target: str) -> None:
    assert make_site("list:100:10", 1, None).find(target.encode()) is None


def test_a_list_counts_each_page() -> None:
    site = make_site("list:50:0", 1, None)
    for target in (b"/p/3", b"/p/3", b"/p/49"):
        assert site.find(target) is not None
    assert list(site.hits()) == [("/p/3", 200, 2), ("/p/49", 200, 1)]
    site.reset()
    assert list(site.hits()) == []


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("tree:200:50:2048", "write tree:200:50:3"),
        ("tree:0:5:2048", "PAGES must be from 1"),
        ("tree:5:0:2048", "FANOUT must be from 1"),
        ("tree:a:5:2048", "whole numbers"),
        ("tree:1:2:3:4", "of the form tree:PAGES:FANOUT:BYTES"),
        ("tree:-1:5:2048", "whole numbers"),
        ("tree:1000000:5:67108864", "do not fit"),
        ("list:0:10", "N must be from 1"),
        ("list:2000000:10", "N must be from 1 to 1000000"),
        ("dir:", "not a site"),
        ("dir:/nonexistent/folder", "no such directory"),
        ("forest", "not a site"),
        ("", "not a site"),
    ],
)
def test_a_bad_spec_says_what_to_change(spec: str, said: str) -> None:
    with pytest.raises(SiteError) as caught:
        make_site(spec, 1, None)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_size_a_tree_asks_for_is_enough() -> None:
    with pytest.raises(SiteError) as caught:
        make_site("tree:300:40:100", 1, AUTHORITY)
    spec = str(caught.value).partition("write ")[2].partition(" ")[0]
    assert make_site(spec, 1, AUTHORITY).pages == 300


# --- directories ---


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "root"
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
    (root / "big.bin").write_bytes(bytes(range(256)) * 20_000)
    (tmp_path / "secret.html").write_text("secret")
    (root / "out.html").symlink_to(tmp_path / "secret.html")
    (root / "parent").symlink_to(tmp_path)
    (root / "loop").symlink_to(root)
    (root / "in.html").symlink_to("index.html")
    return root


def test_a_directory_is_served_as_a_static_server_would(folder: Path) -> None:
    site = make_site(f"dir:{folder}", 1, AUTHORITY)
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
    assert site.digest == digest_by_definition(site.expected())
    kinds = {
        "/": b"text/html; charset=utf-8",
        "/a%20b.txt": b"text/plain; charset=utf-8",
        "/archive.gz": b"application/octet-stream",
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
    assert big.file is not None
    assert crc32(big.body) == big.checksum
    assert big.size == 256 * 20_000


@pytest.mark.parametrize(
    "target",
    [
        "/../secret.html",
        "/sub/../../secret.html",
        "/%2e%2e/secret.html",
        "/.%2E/secret.html",
        "/..%2fsecret.html",
        "/sub%2f..%2f..%2fsecret.html",
        "/%2e%2e%2fsecret.html",
        "/%252e%252e/secret.html",
        "/..\\secret.html",
        "/..%5csecret.html",
        "/parent/secret.html",
        "/loop/parent/secret.html",
        "/out.html",
        "//secret.html",
        "//etc/passwd",
        "/%2fetc/passwd",
        "/index.html%00.txt",
        "/index.html/",
        "/sub/.",
        "/sub/..",
        "/./index.html",
        "/" + "a" * 5000,
        "/" + "a/" * 3000,
        "/%ff%fe",
        "secret.html",
        "",
    ],
)
def test_nothing_outside_a_directory_is_served(folder: Path, target: str) -> None:
    assert make_site(f"dir:{folder}", 1, AUTHORITY).find(target.encode()) is None


SEGMENTS = st.lists(
    st.sampled_from(
        [
            "..",
            ".",
            "",
            "%2e%2e",
            "%2f",
            "..%2f",
            "sub",
            "parent",
            "loop",
            "secret.html",
            "\\",
            "%00",
        ]
    ),
    max_size=8,
)


@given(segments=SEGMENTS)
@settings(max_examples=300, deadline=None)
def test_no_target_finds_the_secret(shared_folder: Directory, segments: list[str]) -> None:
    found = shared_folder.find(("/" + "/".join(segments)).encode())
    assert found is None or b"secret" not in found.body.replace(b"../secret.html", b"")


@pytest.fixture(scope="module")
def shared_folder(tmp_path_factory: pytest.TempPathFactory) -> Directory:
    base = tmp_path_factory.mktemp("shared")
    root = base / "root"
    (root / "sub").mkdir(parents=True)
    (root / "index.html").write_text("hello")
    (root / "sub" / "index.html").write_text("hello")
    (base / "secret.html").write_text("secret")
    (root / "parent").symlink_to(base)
    (root / "loop").symlink_to(root)
    site = make_site(f"dir:{root}", 1, AUTHORITY)
    assert isinstance(site, Directory)
    return site


def test_a_directory_needs_an_index(tmp_path: Path) -> None:
    with pytest.raises(SiteError, match=r"no index\.html"):
        make_site(f"dir:{tmp_path}", 1, None)


def test_outcomes_are_remembered_until_anything_changes(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "loop").unlink()
    (folder / "parent").unlink()
    cache = tmp_path / "cache"
    crawls = []
    crawl = reference.crawl

    def counted(*arguments: object) -> object:
        crawls.append(arguments)
        return crawl(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(reference, "crawl", counted)

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


def test_a_cache_that_cannot_be_written_is_no_error(folder: Path, tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    assert make_site(f"dir:{folder}", 1, AUTHORITY, blocked / "cache").pages == 6


def test_the_environment_does_not_change_a_site(tmp_path: Path) -> None:
    """Content types come from Python's own table, not from the machine's."""
    (tmp_path / "index.html").write_text("x")
    (tmp_path / "x.woff2").write_text("x")
    site: Site = make_site(f"dir:{tmp_path}", 1, None)
    found = site.find(b"/x.woff2")
    assert found is not None
    assert b"Content-Type: application/octet-stream" in found.payload or b"font/" in found.payload
    assert os.sep == "/"
