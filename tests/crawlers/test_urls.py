"""URL normalisation: tables and properties."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawlers.links import extract
from crawlers.urls import normalise
from tests.crawlers.tables import rows

PAGE = "http://host/dir/page.html"

BASE = "http://host:8000/a/b/c?d"


@pytest.mark.parametrize(
    ("href", "url"),
    [
        *rows("urls", "urls"),
        (f"http://{'é' * 100_000}/x", None),
        (f"http://{'0' * 1024}/", "http://0.0.0.0/"),
        (f"http://{'0' * 1025}/", None),
    ],
)
def test_normalise(href: str, url: str | None) -> None:
    assert normalise("http://a/b/c/d?q", href) == url


def test_a_base_that_is_no_base() -> None:
    assert normalise("mailto:a@b", "x") is None
    assert normalise("", "//host/x") is None
    assert normalise("", "http:host/x") == "http://host/x"
    assert normalise("about:blank", "http://host/x") == "http://host/x"
    assert extract(b'<a href="x"><a href="http://host/y">', "about:blank", None) == [
        "http://host/y"
    ]


PIECES = r"""
    http: https: mailto: / // /// \ . .. ./ ../ %2e a b.c é %41 %zz ? # & = @ : :80 :x host
    [::1] 1.2 ~ - _ " ' < > ` { } | ^
"""
BLANKS = [" ", "\t", "\n", "\0", "\x7f", "\ud800", "\uff0e"]
REFERENCE = st.lists(st.sampled_from(PIECES.split() + BLANKS), max_size=8).map("".join)


def assert_normal(link: str) -> None:
    """A URL as the frontier and the request line need it."""
    assert link.startswith(("http://", "https://"))
    assert link.isascii()
    assert link.isprintable()
    assert not set(' "<>#') & set(link)
    assert "/" in link[8:]


@given(REFERENCE, st.sampled_from([PAGE, "https://[::1]:8080/?q", "http://host"]))
def test_normalising_again_changes_nothing(href: str, base: str) -> None:
    url = normalise(base, href)
    if url is not None:
        assert_normal(url)
        assert normalise(base, url) == url
        assert normalise(url, "") == url


@given(st.text(), st.text())
def test_normalise_never_raises(base: str, href: str) -> None:
    url = normalise(base, href)
    assert url is None or url == normalise(url, url)
