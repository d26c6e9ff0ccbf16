"""What all sites have in common: resources, outcomes and the digest over them."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterable, Iterator, Mapping
from html import escape
from itertools import islice
from zlib import crc32

HTML = "text/html; charset=utf-8"
REASONS = {
    200: "OK",
    301: "Moved Permanently",
    302: "Found",
    303: "See Other",
    307: "Temporary Redirect",
    308: "Permanent Redirect",
    404: "Not Found",
}
REDIRECTS = (301, 302, 303, 307, 308)
NOT_FOUND_BODY = (
    b"<!doctype html>\n<title>Not found</title>\n<p>The fixture server has no such page.</p>\n"
)

Outcome = tuple[int, int]
"""The status and the CRC-32 of the body."""


class SiteError(ValueError):
    """The site spec cannot be served; the message says what to change."""


def is_whole(text: str) -> bool:
    """Whether a part of a spec is a whole number of up to 18 digits."""
    return text.isascii() and text.isdigit() and len(text) <= 18


WORDS = (  # noqa: SIM905 - as a list literal these would fill three screens
    "the of a to and in that it was for on with as at by from this had not are but which or an "
    "they one were all we when there can more if out so said what up its about into than them "
    "only other time some could these two may first then do any like my now over such our even "
    "most made after also did many off before must well back through years where much way down "
    "should because long each just state people too good make world still see own work here "
    "between both being under never day same another know while last might us great old year "
    "water river stone light paper window letter morning winter engine signal harbour lantern"
).split()


def filler(rng: random.Random, size: int) -> bytes:
    """Plain words, at least ``size`` bytes of them."""
    words = [WORDS[int(rng.random() * len(WORDS))] for _ in range(1500)]
    text = (" ".join(words) + ".\n").encode()
    return text * (size // len(text) + 2)


class Resource:
    """The answer for one URL, rendered once: head and body in one bytes object.

    ``body_start`` is where the body begins in ``payload``, ``checksum`` the
    CRC-32 of the body and ``size`` its length in bytes. ``hits`` counts the
    requests since the last reset; kept here, a count costs one addition.
    """

    __slots__ = (
        "body_start",
        "checksum",
        "hits",
        "html",
        "location",
        "payload",
        "size",
        "status",
    )

    def __init__(
        self,
        status: int,
        kind: str,
        body: bytes,
        location: str | None = None,
        further: str = "",
    ) -> None:
        moved = f"Location: {location}\r\n" if location is not None else ""
        # There is no Date: it would have to be rendered every second.
        head = (
            f"HTTP/1.1 {status} {REASONS[status]}\r\n"
            f"Content-Type: {kind}\r\nContent-Length: {len(body)}\r\n{moved}{further}\r\n"
        ).encode("latin-1")
        self.status = status
        self.payload = head + body
        self.body_start = len(head)
        self.size = len(body)
        self.checksum = crc32(body)
        self.html = kind.startswith("text/html")
        self.location = location
        self.hits = 0

    @property
    def body(self) -> bytes:
        """The body."""
        return self.payload[self.body_start :]


def redirect(status: int, location: str, link: str) -> Resource:
    """A redirect, with a body that links to the same place as browsers expect."""
    body = f'<p>Moved: <a href="{escape(link)}">here</a>.</p>\n'.encode()
    return Resource(status, HTML, body, location)


def not_found() -> Resource:
    """A 404 with a count of its own."""
    return Resource(404, HTML, NOT_FOUND_BODY)


def digest_of(outcomes: Mapping[str, Outcome]) -> str:
    """The SHA-256 over one line ``key status crc32`` per outcome, sorted by key."""
    return hash_lines(
        f"{key} {status} {checksum:08x}\n" for key, (status, checksum) in sorted(outcomes.items())
    )


def hash_lines(lines: Iterable[str]) -> str:
    """The SHA-256 over some lines, in blocks: one update per line is slow."""
    sha = hashlib.sha256()
    lines = iter(lines)
    while block := "".join(islice(lines, 10_000)):
        sha.update(block.encode())
    return sha.hexdigest()


class Site:
    """What every site offers to connections, the ledger and the control plane.

    ``routes`` maps ``b"GET " + target`` to its resource. The hot path looks
    up ``routes[key]``; after a ``KeyError`` :meth:`find` decides. ``pages``
    counts the URLs that a full crawl gets with status 200, ``urls`` all of them,
    and ``page_bytes`` adds up the bodies with status 200. ``digest`` is None
    for a site that promises no outcome.
    """

    spec: str
    routes: dict[bytes, Resource]
    pages: int
    urls: int
    page_bytes: int
    digest: str | None

    def __init__(self) -> None:
        self.not_found = not_found()
        self._outcomes: Mapping[str, Outcome] = {}

    def find(self, target: bytes) -> Resource | None:
        """The resource for a target that may be missing from ``routes``, or None for 404.

        This does not count the request: the caller adds to ``hits`` or to the
        ledger's strays.
        """
        return self.routes.get(b"GET " + target)

    def expected(self) -> Mapping[str, Outcome]:
        """The outcome of every URL in a full, correct crawl; empty if the site promises none."""
        return self._outcomes

    def hits(self) -> Iterator[tuple[str, int, int]]:
        """``(target, status, requests)`` of each resource requested since the reset."""
        for key, resource in self.routes.items():
            if resource.hits:
                yield key[4:].decode("latin-1"), resource.status, resource.hits

    def reset(self) -> None:
        """Forget all hits."""
        for resource in self.routes.values():
            resource.hits = 0

    def facts(self) -> dict[str, object]:
        """What a ready line says of the site."""
        return {
            "site": self.spec,
            "pages": self.pages,
            "urls": self.urls,
            "bytes": self.page_bytes,
            "digest": self.digest,
        }

    def close(self) -> None:
        """Let go of what the site holds open."""

    def _promise(self, outcomes: Mapping[str, Outcome], page_bytes: int) -> None:
        """Set the expected outcomes, and what follows from them."""
        self._outcomes = outcomes
        self.pages = sum(status == 200 for status, _ in outcomes.values())
        self.urls = len(outcomes)
        self.page_bytes = page_bytes
        self.digest = digest_of(outcomes)
