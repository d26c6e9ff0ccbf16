"""Turns a finished exchange into a page for the frontier."""

from __future__ import annotations

import re
import zlib
from functools import lru_cache
from typing import Final
from zlib import crc32

from crawlers.http import Exchange
from crawlers.job import MAX_ROBOTS, Fetch, PageResult
from crawlers.links import extract
from crawlers.urls import normalise

REDIRECTS = frozenset({301, 302, 303, 307, 308})
HTML = frozenset({"text/html", "application/xhtml+xml"})
UNCODED = frozenset({"", "identity"})
ZLIB = frozenset({"gzip", "x-gzip", "deflate"})
_TYPE: Final = re.compile(r"[\w!#$%&'*+.^`|~-]+/[\w!#$%&'*+.^`|~-]+", re.ASCII)
_LISTED: Final = re.compile(r'(?:[^,"]|"(?:[^"\\]|\\.)*+"?)++')


def read_page(fetch: Fetch, exchange: Exchange, follow: bool) -> PageResult:
    """Checksum the body, resolve a redirect, extract the links.

    ``follow`` is the job's: without it, links and redirects are not read. Of a
    robots.txt the text is kept, and redirects are read in any case. We ask for content
    without a coding, so a page in one is ``coded``, and its links are not read.
    """
    body = exchange.body
    status = exchange.status
    page = PageResult(status, len(body), crc32(body))
    if exchange.error is not None:
        page.error = exchange.error
        return page
    headers = exchange.headers or {}
    kind, is_html, encoding = content_type(headers.get(b"content-type", b""))
    page.content_type = kind
    if not follow and not fetch.robots:
        return page
    if fetch.robots and status is not None and 200 <= status < 300:
        text = decoded(body, codings(headers))
        page.text, page.error = (text, None) if text is not None else (b"", "coded")
    elif status == 200:
        if is_html:
            if b"content-encoding" in headers and codings(headers):
                page.error = "coded"
            else:
                page.links = extract(body, fetch.url, encoding)
    elif status in REDIRECTS:
        location = exchange.location
        page.redirect = normalise(fetch.url, location) if location else None
        if page.redirect is None:
            page.error = "bad_redirect"
    return page


@lru_cache(maxsize=256)
def content_type(value: bytes) -> tuple[str, bool, str | None]:
    """A Content-Type header as text, whether it is HTML, and its charset.

    The last type of several counts, and inherits the charset if it repeats the type
    (WHATWG Fetch, "extract a MIME type").
    """
    kind, essence, encoding = value.decode("latin-1").strip(), "", None
    for listed in map(str.strip, _LISTED.findall(kind)):
        name = listed.partition(";")[0].rstrip().lower()
        if _TYPE.fullmatch(name) and name != "*/*":
            inherited = encoding if name == essence else None
            kind, essence, encoding = listed, name, charset(listed) or inherited
    return kind, essence in HTML, encoding


def codings(headers: dict[bytes, bytes]) -> list[str]:
    """The content codings of an answer, in the order in which they were applied."""
    named = headers.get(b"content-encoding", b"").decode("latin-1").lower().split(",")
    return [coding for each in named if (coding := each.strip()) not in UNCODED]


def decoded(body: bytes, codings: list[str]) -> bytes | None:
    """A robots.txt without its codings; None if that cannot be had, or is too long."""
    for coding in reversed(codings):
        if coding not in ZLIB:
            return None
        raw = coding == "deflate" and body[:1] and body[0] & 15 != zlib.DEFLATED
        plain = b""
        try:
            while body:  # gzip may have several members
                unpack = zlib.decompressobj(-zlib.MAX_WBITS if raw else 32 + zlib.MAX_WBITS)
                plain += unpack.decompress(body, MAX_ROBOTS + 1 - len(plain))
                body = unpack.unused_data
                if not unpack.eof or len(plain) > MAX_ROBOTS:
                    return None
        except zlib.error:
            return None
        body = plain
    return body


def charset(content_type: str) -> str | None:
    """The charset parameter of a content type, or None."""
    if "=" not in content_type:
        return None
    for parameter in content_type.split(";")[1:]:
        name, _, value = parameter.partition("=")
        if name.strip().lower() == "charset":
            return value.strip().strip("\"'") or None
    return None
