"""Pages in all kinds of encodings."""

from __future__ import annotations

import codecs
from urllib.parse import quote

import pytest
from webencodings.labels import LABELS

from crawlers.charsets import codec_of
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
        ('<meta charset="latin1"><a href="/é">'.encode("latin-1"), None, ["/%C3%A9"]),
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


@pytest.mark.parametrize(
    ("label", "raw", "text"),
    [
        ("Shift_JIS", b"\x87\x40", "①"),
        ("x-sjis", b"\xfb\xfc", "髙"),
        ("euc-kr", b"\x8cc", "똠"),
        ("ks_c_5601-1987", b"\x8cc", "똠"),
        ("csgb2312", b"\xd6\xd0", "中"),
        ("gbk", b"\x81\x30\x84\x36", "¥"),
        ("iso-8859-9", b"\x80", "€"),
        ("TIS-620", b"\x80", "€"),
        ("iso88591", b"\xe9", "é"),
        ("koi", b"\xd1", "я"),
        ("mac", b"\x8e", "é"),
    ],
)
def test_a_label_means_what_browsers_take_it_for(label: str, raw: bytes, text: str) -> None:
    """Python's codecs of the same names know fewer characters, or other labels."""
    assert extract(b'<a href="/%b">' % raw, "http://host/", label) == [f"http://host/{quote(text)}"]


def test_every_label_of_the_web_has_a_codec() -> None:
    for label in LABELS:
        codecs.lookup(codec_of(b"", label))
