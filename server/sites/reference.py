"""A slow and simple crawl of a site, to find out what a fast one must find.

It reads links with :mod:`html.parser` and resolves them with
:mod:`urllib.parse`. It shares no code with any crawler, so agreement between the
two means something. There is no HTTP: the site's own ``find`` answers.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from html.parser import HTMLParser
from urllib.parse import urljoin, urlsplit
from zlib import crc32

from server.sites.site import NOT_FOUND_BODY, REDIRECTS, Outcome, Resource

_SPACE = " \t\n\r\f"
_ENCODED_DOT = re.compile("%2e", re.IGNORECASE)
_DROPPED = re.compile(r"[\t\n\r]")
_NO_HOST = re.compile(r"(https?:)?//([/?]|$)", re.IGNORECASE)
# The percent-encode sets of the WHATWG URL Standard; "%" itself is kept.
_PATH_UNSAFE = re.compile(r'[^\x21-\x7e]|["#<>?^`{}]')
_QUERY_UNSAFE = re.compile(r"""[^\x21-\x7e]|["#<>']""")


class _Links(HTMLParser):
    """Collects the references of ``<a>`` and ``<area>`` and the first ``<base>``."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.base: str | None = None
        self.found: list[str] = []

    def updatepos(self, i: int, j: int) -> int:
        """Skip the line numbers: nothing needs them, and they take a fifth of the time."""
        return j

    def parse_marked_section(self, i: int, report: bool = True) -> int:
        """Read ``<![x`` as a comment, as browsers do; some Pythons raise."""
        try:
            return super().parse_marked_section(i, report)
        except AssertionError:
            return self.parse_bogus_comment(i)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Called by the parser for ``<tag ...>`` and ``<tag .../>``."""
        if tag not in ("a", "area", "base"):
            return
        for name, value in attrs:
            if name == "href":
                if tag != "base":
                    self.found.append(value or "")
                elif self.base is None:
                    self.base = value or ""
                return  # the first of two equal attributes counts


def links(html: bytes, url: str) -> list[str]:
    """The normal HTTP URLs that a page links to, in the order in which they first appear."""
    parser = _Links()
    parser.feed(html.decode("utf-8", "replace"))
    parser.close()
    base = url
    if parser.base is not None:
        base = resolve(url, parser.base) or url
    resolved = (resolve(base, reference) for reference in dict.fromkeys(parser.found))
    return [link for link in resolved if link is not None]


def resolve(base: str, reference: str) -> str | None:
    """A reference on a page at ``base`` as a normal URL, or None for other schemes."""
    reference = _DROPPED.sub("", reference.strip(_SPACE)).partition("#")[0]
    path, mark, query = reference.partition("?")
    reference = path.replace("\\", "/") + mark + query  # as browsers do
    if _NO_HOST.match(reference):
        return None
    try:
        parts = urlsplit(urljoin(base, reference))
        port = parts.port
    except ValueError:  # a port that is not a number, an unclosed [
        return None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        return None
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    if port is not None and port != {"http": 80, "https": 443}[parts.scheme]:
        host += f":{port}"
    path = _encode(_without_dots(parts.path or "/"), _PATH_UNSAFE)
    query = f"?{_encode(parts.query, _QUERY_UNSAFE)}" if parts.query else ""
    return f"{parts.scheme}://{host}{path}{query}"


def _without_dots(path: str) -> str:
    """RFC 3986, section 5.2.4, for a path that begins with a slash."""
    kept: list[str] = []
    segments = path.split("/")[1:]
    for segment in segments:
        plain = _ENCODED_DOT.sub(".", segment)
        if plain == "..":
            if kept:
                kept.pop()
        elif plain != ".":
            kept.append(segment)
    if plain in (".", ".."):
        kept.append("")
    return "/" + "/".join(kept)


def _encode(text: str, unsafe: re.Pattern[str]) -> str:
    return unsafe.sub(
        lambda match: "".join(f"%{byte:02X}" for byte in match[0].encode("utf-8", "replace")), text
    )


def crawl(
    find: Callable[[bytes], Resource | None], authority: str, scheme: str = "http"
) -> tuple[dict[str, Outcome], int]:
    """The outcome of every URL in a full crawl from ``/``, and the bytes in its 200 answers.

    Only links to ``authority`` with this scheme are followed. Redirects count as links.
    """
    root = resolve(f"{scheme}://{authority}/", "/")
    assert root is not None
    prefix = root[:-1]
    outcomes: dict[str, Outcome] = {}
    page_bytes = 0
    waiting = ["/"]
    seen = {"/"}
    while waiting:
        target = waiting.pop()
        url = prefix + target
        resource = find(target.encode("ascii"))
        if resource is None:
            outcomes[target] = (404, crc32(NOT_FOUND_BODY))
            continue
        outcomes[target] = (resource.status, resource.checksum)
        references: list[str] = []
        if resource.status == 200:
            page_bytes += resource.size
            if resource.html:
                references = links(resource.body, url)
        elif resource.status in REDIRECTS and resource.location is not None:
            moved = resolve(url, resource.location)
            references = [moved] if moved else []
        for link in references:
            if link.startswith(prefix + "/"):
                key = link[len(prefix) :]
                if key not in seen:
                    seen.add(key)
                    waiting.append(key)
    return outcomes, page_bytes
