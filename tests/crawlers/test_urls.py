"""URL normalisation: tables and properties."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawlers.links import extract
from crawlers.urls import normalise

PAGE = "http://host/dir/page.html"

BASE = "http://host:8000/a/b/c?d"


@pytest.mark.parametrize(
    ("href", "url"),
    [
        # RFC 3986 section 5.4, on http://a/b/c/d?q
        ("g", "http://a/b/c/g"),
        ("./g", "http://a/b/c/g"),
        ("g/", "http://a/b/c/g/"),
        ("/g", "http://a/g"),
        ("//g", "http://g/"),
        ("?y", "http://a/b/c/d?y"),
        ("g?y", "http://a/b/c/g?y"),
        ("#s", "http://a/b/c/d?q"),
        ("g?y#s", "http://a/b/c/g?y"),
        (";x", "http://a/b/c/;x"),
        ("", "http://a/b/c/d?q"),
        (".", "http://a/b/c/"),
        ("./", "http://a/b/c/"),
        ("..", "http://a/b/"),
        ("../g", "http://a/b/g"),
        ("../..", "http://a/"),
        ("../../../../g", "http://a/g"),
        ("/../g", "http://a/g"),
        ("g.", "http://a/b/c/g."),
        ("..g", "http://a/b/c/..g"),
        ("./g/.", "http://a/b/c/g/"),
        ("g;x=1/../y", "http://a/b/c/y"),
        ("g?y/../x", "http://a/b/c/g?y/../x"),
        ("http:g", "http://a/b/c/g"),
        # the URL Standard
        ("http:/g", "http://a/g"),
        ("http:\\\\g\\h", "http://g/h"),
        ("https:g", "https://g/"),
        ("https:///g", "https://g/"),
        ("///g", "http://g/"),
        ("\\g\\h?i\\j", "http://a/g/h?i\\j"),
        ("/\\g", "http://g/"),
        ("  \x00 g\t\n/h \r", "http://a/b/c/g/h"),
        ("%2e%2E/g/%2e/h", "http://a/b/g/h"),
        (".%2e/g", "http://a/b/g"),
        ("//////g", "http://g/"),
        ("/a//b///c", "http://a/a//b///c"),
        ("/a//../b", "http://a/a/b"),
        ("HTTP://EXAMPLE.com:80", "http://example.com/"),
        ("http://example.com:", "http://example.com/"),
        ("http://example.com:0080/", "http://example.com/"),
        ("http://example.com:443/", "http://example.com:443/"),
        ("https://example.com:443?x", "https://example.com/?x"),
        ("http://u:p@example.com/", "http://example.com/"),
        ("http://u@v@example.com", "http://example.com/"),
        ("http://ex%41mple.com", "http://example.com/"),
        ("http://bücher.de/ä", "http://xn--bcher-kva.de/%C3%A4"),
        ("http://\uff45xample.com", "http://example.com/"),
        ("http://0x7f.1", "http://127.0.0.1/"),
        ("http://017700000001", "http://127.0.0.1/"),
        ("http://127.0.0.1.", "http://127.0.0.1/"),
        ("http://[::1]:8080/x", "http://[::1]:8080/x"),
        ("http://[1:0:0:2:0:0:0:3]", "http://[1:0:0:2::3]/"),
        ("http://[0:0:0:0:0:FFFF:1.2.3.4]", "http://[::ffff:102:304]/"),
        # percent-encoding
        ("ä b\"<>`{}^'|", "http://a/b/c/%C3%A4%20b%22%3C%3E%60%7B%7D%5E'|"),
        ("?ä b\"<>`{}^'|", "http://a/b/c/d?%C3%A4%20b%22%3C%3E`{}^%27|"),
        ("%c3%A4%zz%", "http://a/b/c/%c3%A4%zz%"),
        ("\U0001f600", "http://a/b/c/%F0%9F%98%80"),
        ("a\ud800b", "http://a/b/c/a%EF%BF%BDb"),
        ("a:b/c", None),
        ("./a:b/c", "http://a/b/c/a:b/c"),
        ("/x\r\nHost: evil\r\n", "http://a/xHost:%20evil"),
        ("/x%0d%0aHost:evil", "http://a/x%0d%0aHost:evil"),
        ("/c/%252e%252e/x", "http://a/c/%252e%252e/x"),
        ("/c\\..\\x", "http://a/x"),
        # hosts that look like others
        ("http://g@else.test/x", "http://else.test/x"),
        ("http://g\\@else.test/x", "http://g/@else.test/x"),
        ("http://g%40else.test/x", None),
        ("http://g%2Fx/", None),
        ("http://g\0/x", None),
        ("ht\ttp:\n//g\t/x", "http://g/x"),
        ("http://g:0/x", "http://g:0/x"),
        ("http://[::ffff:127.0.0.1]/x", "http://[::ffff:7f00:1]/x"),
        ("http://[v1.x]/x", None),
        ("http://１２７.０.０.１/x", "http://127.0.0.1/x"),
        ("http://g。test/x", "http://g.test/x"),
        ("http://g\u00adg/x", "http://gg/x"),
        ("http://xn--\u00fc/x", None),
        ("http://\ud800.test/x", None),
        (f"http://{'é' * 100_000}/x", None),
        # no URL
        ("http://", None),
        ("http:///", None),
        ("http://:80/", None),
        ("http://u@/x", None),
        ("http://a b/", None),
        ("http://a%20b/", None),
        ("http://a<b/", None),
        ("http://example.com:x", None),
        ("http://example.com:65536", None),
        ("http://example.com:8\uff10", None),
        ("http://256.1.1.1", None),
        ("http://1.2.3.4.5", None),
        ("http://1.2.3.0x", "http://1.2.3.0/"),
        ("http://1.2.3.09", None),
        ("http://[::1", None),
        ("http://[::1]x", None),
        ("http://[::1::2]", None),
        ("http://[1:2:3:4:5:6:7]", None),
        ("http://[::1%25eth0]", None),
        ("http://\xad/", None),
        # other schemes
        ("mailto:a@b", None),
        ("javascript:void(0)", None),
        ("JavaScript:x", None),
        (" \tjava\nscript:x", None),
        ("data:text/html,x", None),
        ("ftp://host/", None),
        ("file:///x", None),
        ("about:blank", None),
        ("x-y+z.1:/x", None),
        (":x", "http://a/b/c/:x"),
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


REFERENCE = st.lists(
    st.sampled_from(
        [
            *("http:", "https:", "mailto:", "/", "//", "///", "\\", ".", "..", "./", "../", "%2e"),
            *("a", "b.c", "é", "%41", "%zz", "?", "#", "&", "=", "@", ":", ":80", ":x", "host"),
            *("[::1]", "1.2", "~", "-", "_", '"', "'", "<", ">", "`", "{", "}", "|", "^"),
            *(" ", "\t", "\n", "\0", "\x7f", "\ud800", "\uff0e"),
        ]
    ),
    max_size=8,
).map("".join)


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
