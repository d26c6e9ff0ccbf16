"""Turns a finished exchange into a page for the frontier."""

from __future__ import annotations

from functools import lru_cache
from zlib import crc32

from crawlers.http import Exchange
from crawlers.job import Fetch, PageResult
from crawlers.links import extract
from crawlers.urls import normalise

REDIRECTS = frozenset({301, 302, 303, 307, 308})
UNCODED = frozenset({b"", b"identity"})
HTML = ("text/html", "application/xhtml+xml")


def read_page(fetch: Fetch, exchange: Exchange, follow: bool) -> PageResult:
    """Checksum the body, resolve a redirect, extract the links.

    ``follow`` is the job's: without it, links and redirects are not read. Of a
    robots.txt the text is kept, and redirects are read in any case.
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
    if status == 200:
        if fetch.robots:
            page.text = body
        elif is_html and headers.get(b"content-encoding", b"").lower() in UNCODED:
            page.links = extract(body, fetch.url, encoding)
    elif status in REDIRECTS:
        location = exchange.location
        page.redirect = normalise(fetch.url, location) if location else None
        if page.redirect is None:
            page.error = "bad_redirect"
    return page


@lru_cache(maxsize=256)
def content_type(value: bytes) -> tuple[str, bool, str | None]:
    """A Content-Type header as text, whether it is HTML, and its charset."""
    kind = value.decode("latin-1").strip()
    return kind, kind.lower().startswith(HTML), charset(kind)


def charset(content_type: str) -> str | None:
    """The charset parameter of a content type, or None."""
    if "=" not in content_type:
        return None
    for parameter in content_type.split(";")[1:]:
        name, _, value = parameter.partition("=")
        if name.strip().lower() == "charset":
            return value.strip().strip("\"'") or None
    return None
