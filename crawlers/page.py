"""From a finished exchange to what the frontier needs to know of it."""

from __future__ import annotations

from zlib import crc32

from crawlers import links
from crawlers.http import Exchange
from crawlers.job import Fetch, PageResult

REDIRECTS = frozenset({301, 302, 303, 307, 308})
HTML = ("text/html", "application/xhtml+xml")


def read_page(fetch: Fetch, exchange: Exchange, follow: bool) -> PageResult:
    """Checksum the body, resolve a redirect, extract the links.

    ``follow`` is the job's: without it neither links nor redirects are read.
    """
    body = exchange.body
    page = PageResult(exchange.status, len(body), crc32(body))
    if exchange.error is not None:
        page.error = exchange.error
        return page
    status = exchange.status
    page.content_type = kind = exchange.header(b"content-type")
    if not follow:
        return page
    if status == 200:
        if kind[:9].lower() == "text/html" or kind.lower().startswith(HTML):
            encoding = exchange.header(b"content-encoding").lower()
            if encoding in ("", "identity"):
                page.links = links.extract(body, fetch.url, charset(kind))
    elif status in REDIRECTS:
        location = exchange.header(b"location")
        page.redirect = links.normalise(fetch.url, location) if location else None
        if page.redirect is None:
            page.error = "bad_redirect"
    return page


def charset(content_type: str) -> str | None:
    """The charset parameter of a content type, or None."""
    if "=" not in content_type:
        return None
    for parameter in content_type.split(";")[1:]:
        name, _, value = parameter.partition("=")
        if name.strip().lower() == "charset":
            return value.strip().strip("\"'") or None
    return None
