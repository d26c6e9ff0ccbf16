"""Pages in all kinds of encodings."""

from __future__ import annotations

import pytest

from crawlers.links import extract


@pytest.mark.parametrize(
    ("body", "charset", "links"),
    [
        ('<a href="/é">'.encode(), None, ["/%C3%A9"]),
        ('<a href="/é">'.encode(), "utf-8", ["/%C3%A9"]),
        ('<a href="/é">'.encode(), "no-such-encoding", ["/%C3%A9"]),
        ('<a href="/é">'.encode(), "unicode_escape", ["/%C3%A9"]),
        ('<a href="/é">'.encode(), "utf-7", ["/%C3%A9"]),
        ('<a href="/é">'.encode("latin-1"), "ISO-8859-1", ["/%C3%A9"]),
        ('<a href="/é">'.encode("latin-1"), '"latin1"', ["/%C3%A9"]),
        (b"<a href=/\x80>", "us-ascii", ["/%E2%82%AC"]),
        (b"<a href=/\xff>", "utf-8", ["/%EF%BF%BD"]),
        ('<meta charset="latin-1"><a href="/é">'.encode("latin-1"), None, ["/%C3%A9"]),
        ('<meta charset="utf-16"><a href="/é">'.encode(), None, ["/%C3%A9"]),
        ('<meta charset="latin-1"><a href="/é">'.encode(), "utf-8", ["/%C3%A9"]),
        ('<a href="/ソ">'.encode("shift_jis"), "Shift_JIS", ["/%E3%82%BD"]),
        ('<a href="/ソ">'.encode("iso-2022-jp"), "iso-2022-jp", ["/%E3%82%BD"]),
        ('<a href="/é">'.encode("utf-16-le"), "utf-16", ["/%C3%A9"]),
        ('<a href="/é">'.encode("utf-16"), None, ["/%C3%A9"]),
        ('\ufeff<a href="/é">'.encode("utf-16-be"), "latin-1", ["/%C3%A9"]),
        ('\ufeff<a href="/é">'.encode(), "latin-1", ["/%C3%A9"]),
        (b'<a href="/a\0b">', "utf-8", ["/a%EF%BF%BDb"]),
        (b"<a\0 href=/b><a hre\0f=/b>", "utf-8", []),
        (b'<a href="/\xc0\xaf\xf4\x90\x80\x80">', None, ["/" + "%EF%BF%BD" * 6]),
        (b'<a href="\x1b$B"><a href="/x">', "iso-2022-jp", []),
        (('\ufeff<a href="/\ud800x">').encode("utf-16-le", "surrogatepass"), None, ["/%EF%BF%BDx"]),
        (('\ufeff<a href="/x">').encode("utf-16-le") + b"<", None, ["/x"]),
        (b" " * 1024 + '<meta charset=koi8-r><a href="/é">'.encode(), None, ["/%C3%A9"]),
        (b"", None, []),
    ],
)
def test_encodings(body: bytes, charset: str | None, links: list[str]) -> None:
    assert extract(body, "http://host/", charset) == [f"http://host{link}" for link in links]
