"""The reference extraction, against the definition of a normal URL."""

from __future__ import annotations

import re

import pytest

from server.sites.reference import links, resolve
from tests.crawlers.tables import rows

BASE = "http://h:1/a/b/c?q"


RELATIVE = [row for row in rows("urls", "urls") if not re.search("//|[:\ud800]", row[0])]
ABSOLUTE = [
    ("//other/x", "http://other/x"),
    ("HTTP://H:80/", "http://h/"),
    ("https://h:443", "https://h/"),
    ("http://h:1?x", "http://h:1/?x"),
    ("mailto:a@b", None),
    ("javascript:x", None),
    ("http://h:bad/", None),
    ("http://", None),
    ("http://[::1]:7/x", "http://[::1]:7/x"),
]


@pytest.mark.parametrize(("reference", "url"), [*RELATIVE, *ABSOLUTE])
def test_a_reference_becomes_a_normal_url(reference: str, url: str | None) -> None:
    """The same as in the crawlers, by other code."""
    assert resolve("http://a/b/c/d?q", reference) == url


def test_only_links_of_the_document_count() -> None:
    html = (
        b"<A HREF=one>1</A><area href='two'><a name=x><link href=no><!-- <a href=no> -->"
        b"<script>'<a href=no>'</script><a data-href=no href=&#x74;hree><a href=four href=no>"
        b"<a href=one>again"
    )
    names = ["one", "two", "three", "four"]
    assert links(html, BASE) == [f"http://h:1/a/b/{name}" for name in names]


@pytest.mark.parametrize("odd", [b"<![", b"<![x[", b"<![endif]", b"<![ ", b"<!['"])
def test_an_odd_comment_does_not_end_a_crawl(odd: bytes) -> None:
    assert (
        links(b"<a href=one>" + odd + b"<a href=no><a href=two>", BASE)[0] == "http://h:1/a/b/one"
    )
    assert links(odd + b"> <a href=two>", BASE) == ["http://h:1/a/b/two"]


def test_the_first_base_counts() -> None:
    html = b"<base target=x><base href='/z/'><base href=/no/><a href=y><a href='#t'>"
    assert links(html, BASE) == ["http://h:1/z/y", "http://h:1/z/"]
