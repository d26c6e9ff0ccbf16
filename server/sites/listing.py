"""``list:N:BYTES``: a million equal pages in four megabytes."""

from __future__ import annotations

import random
from array import array
from collections.abc import Iterator, Sequence

from server.sites.site import HTML, Outcome, Resource, Site, filler, hash_lines

HEADS = 1000
"""So many pages have different heads: more lines than a client remembers."""

_OPENING = b"<!doctype html>\n<title>A page</title>\n<p>"


class _Numbered(dict[bytes, Resource]):
    """Routes ``/p/0`` to ``/p/N-1`` that all lead to one resource, or to some in turn.

    It is a dict only to have ``__missing__``; it stays empty. Each page's count
    takes four bytes in ``counts``.
    """

    def __init__(self, pages: int, resources: Sequence[Resource]) -> None:
        super().__init__()
        self.resources = resources
        self.counts = array("I", bytes(4 * pages))

    def __missing__(self, key: bytes) -> Resource:
        digits = key[7:]
        # isdigit() on bytes is ASCII only; a leading zero would be a second name.
        if key[:7] != b"GET /p/" or not digits.isdigit() or len(digits) > 9:
            raise KeyError(key)
        number = int(digits)
        if number >= len(self.counts) or (digits[0] == 48 and len(digits) > 1):
            raise KeyError(key)
        self.counts[number] += 1
        return self.resources[number % len(self.resources)]


class Listing(Site):
    """``list:N:BYTES``: N pages without links, all with the same body.

    With ``list:N:BYTES:LINES`` an answer has so many further header lines. They are those of no
    other of the :data:`HEADS` pages before it, as if each had an identity or a date of its own.

    Open-loop runs use it: their URLs come from a schedule, not from links.
    ``/`` is not a page here and answers 404.
    """

    def __init__(self, spec: str, pages: int, size: int, lines: int = 0) -> None:
        super().__init__()
        self.spec = spec
        fits = size >= len(_OPENING)
        body = _OPENING + filler(random.Random("list"), size) if fits else b"x" * size
        heads = range(min(HEADS, pages) if lines else 1)
        same = [Resource(200, HTML, body[:size], further=own_lines(n, lines)) for n in heads]
        page, self._numbered = same[0], _Numbered(pages, same)
        self.routes = self._numbered
        self.pages = self.urls = pages
        self.page_bytes = pages * size
        ending = f" 200 {page.checksum:08x}\n"
        self.digest = hash_lines(f"/p/{number}{ending}" for number in _lexicographic(pages))

    def find(self, target: bytes) -> Resource | None:
        """The page, already counted (see :class:`_Numbered`), or None."""
        try:
            return self.routes[b"GET " + target]
        except KeyError:
            return None

    def expected(self) -> dict[str, Outcome]:
        """A new dict at each call, because the site keeps nothing per page but its count."""
        outcome = (200, self._numbered.resources[0].checksum)
        return {f"/p/{number}": outcome for number in range(self.pages)}

    def hits(self) -> Iterator[tuple[str, int, int]]:
        """See :meth:`Site.hits`."""
        for number, count in enumerate(self._numbered.counts):
            if count:
                yield f"/p/{number}", 200, count

    def reset(self) -> None:
        """See :meth:`Site.reset`."""
        self._numbered.counts = array("I", bytes(4 * self.pages))
        for page in self._numbered.resources:
            page.hits = 0


def own_lines(number: int, lines: int) -> str:
    """Header lines of 40 bytes that a page alone has."""
    return "".join(
        f"X-Line-{line:03}: {number:04}-{line:03}-0123456789abcdef\r\n" for line in range(lines)
    )


def _lexicographic(count: int) -> Iterator[int]:
    """0 to count-1 in the order of their decimal strings, without sorting them."""
    if count > 0:
        yield 0
    stack = list(range(min(9, count - 1), 0, -1))
    while stack:
        number = stack.pop()
        yield number
        stack.extend(range(min(number * 10 + 9, count - 1), number * 10 - 1, -1))
