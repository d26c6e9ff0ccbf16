"""Lists: as many pages as they say, each with one name and a count of its own."""

from __future__ import annotations

from zlib import crc32

import pytest

from server.sites import reference
from server.sites.site import digest_of
from server.sites.specs import make_site

AUTHORITY = "127.0.0.1:8000"


@pytest.mark.parametrize("pages", [1, 2, 9, 10, 11, 99, 100, 101, 1234])
def test_a_list_is_n_pages(pages: int) -> None:
    site = make_site(f"list:{pages}:300", 1, AUTHORITY)
    expected = site.expected()
    assert list(expected) == [f"/p/{number}" for number in range(pages)]
    assert site.digest == digest_of(expected)
    page = site.find(b"/p/0")
    assert page is not None
    assert crc32(page.body) == page.checksum == expected["/p/0"][1]
    assert len(page.body) == 300
    assert reference.links(page.body, "http://x/") == []


def test_pages_may_have_header_lines_that_no_other_has() -> None:
    site, plain = make_site("list:2000:300:20", 1, AUTHORITY), make_site("list:2000:300", 1, None)
    own = []
    for number in range(999):
        page = site.find(f"/p/{number}".encode())
        assert page is not None
        own += [line for line in page.payload.split(b"\r\n") if line.startswith(b"X-Line")]
    assert len(own) == len(set(own)) == 999 * 20
    assert site.digest == plain.digest  # which are about bodies


@pytest.mark.parametrize(
    "target", ["/", "/p/", "/p/100", "/p/00", "/p/-1", "/p/+1", "/p/1_0", "/p/1 ", "/p/٣", "/p/1?x"]
)
def test_a_list_has_one_name_per_page(target: str) -> None:
    assert make_site("list:100:10", 1, None).find(target.encode()) is None
