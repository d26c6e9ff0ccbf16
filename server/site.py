"""What the fixture server serves, and what a full crawl of it must find.

Four kinds of site, each named by a spec:

``tree:PAGES:FANOUT:BYTES``
    a page graph made from a seed: every page reachable from ``/``, with
    redirect chains, query strings, relative links, dead links and links that
    must not be followed. See :class:`Tree`.
``list:N:BYTES``
    pages ``/p/0`` to ``/p/N-1`` without links, one body for all of them, so
    that a million pages cost four megabytes. See :class:`Listing`.
``dir:PATH``
    a directory of real HTML, served as a static server would.
    See :class:`Directory`.
``faults:PAGES[:KIND,...]``
    pages that break off, lie and flood. See :mod:`server.faults`.

Every site but the last knows its *expected outcomes*: for each URL that a full correct
crawl from ``/`` asks for, the status and the CRC-32 of the body. Their digest
is what a crawler's digest is compared with. A tree's outcomes are known by
construction (the generator never reads its own HTML); a directory's are found
by :mod:`server.reference`, which is slow, plain and shares no code with any
crawler.

Keys of outcomes are targets: the normal URL without ``http://host:port``,
that is at least ``/``, without fragment or dot segments, other than ASCII
percent-encoded as UTF-8 in upper-case hex, existing ``%XX`` as written.
"""

from __future__ import annotations

import hashlib
import json
import mimetypes
import os
import random
import tempfile
from array import array
from collections.abc import Iterable, Iterator, Mapping
from copy import copy
from html import escape
from pathlib import Path
from urllib.parse import quote, unquote_to_bytes
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
PRELOAD_EACH = 4 * 1024 * 1024  # bytes; a larger file is read when it is asked for
PRELOAD_ALL = 512 * 1024 * 1024  # bytes; a directory keeps at most this much in memory
VARIANTS = 100_000  # file URLs with a query that are remembered, each


class SiteError(ValueError):
    """The site spec cannot be served; the message says what to change."""


class Resource:
    """One URL's answer, rendered once: head and body in one bytes object.

    ``body_start`` is where the body begins in ``payload``, ``checksum`` the
    CRC-32 of the body, ``size`` its length in bytes. ``hits`` counts requests
    since the last reset; it lives here because here it costs one addition.
    A file too large to keep has only its head in ``payload`` and its path in
    ``file``.
    """

    __slots__ = (
        "body_start",
        "checksum",
        "file",
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
    ) -> None:
        head = render_head(status, kind, len(body), location)
        self.status = status
        self.payload = head + body
        self.body_start = len(head)
        self.size = len(body)
        self.checksum = crc32(body)
        self.html = kind.startswith("text/html")
        self.location = location
        self.file: str | None = None
        self.hits = 0

    @property
    def body(self) -> bytes:
        """The body, read from disk when it is not kept in memory."""
        if self.file is not None:
            return Path(self.file).read_bytes()
        return self.payload[self.body_start :]


def render_head(status: int, kind: str, size: int, location: str | None = None) -> bytes:
    """The head of an answer. No Date: it would have to be rendered per second."""
    moved = f"Location: {location}\r\n" if location is not None else ""
    return (
        f"HTTP/1.1 {status} {REASONS[status]}\r\n"
        f"Content-Type: {kind}\r\nContent-Length: {size}\r\n{moved}\r\n"
    ).encode("latin-1")


NOT_FOUND_BODY = (
    b"<!doctype html>\n<title>Not found</title>\n<p>The fixture server has no such page.</p>\n"
)

Outcome = tuple[int, int]  # status, CRC-32 of the body


def digest_of(outcomes: Mapping[str, Outcome]) -> str:
    """SHA-256 over ``key status crc32`` lines sorted by key."""
    sha = hashlib.sha256()
    lines = []
    for key in sorted(outcomes):
        status, checksum = outcomes[key]
        lines.append(f"{key} {status} {checksum:08x}\n")
        if len(lines) == 10_000:
            sha.update("".join(lines).encode())
            lines.clear()
    sha.update("".join(lines).encode())
    return sha.hexdigest()


class Site:
    """What every site offers to the protocol, the ledger and the control plane.

    ``routes`` maps ``b"GET " + target`` to its resource and is looked up with
    ``routes[key]`` on the hot path; ``KeyError`` means that :meth:`find` has to
    decide. ``pages`` counts URLs answered 200 in a full crawl, ``urls`` all of
    them, ``page_bytes`` the bodies answered 200. ``digest`` is None for a site
    that promises no outcome.
    """

    spec: str
    routes: dict[bytes, Resource]
    pages: int
    urls: int
    page_bytes: int
    digest: str | None

    def __init__(self) -> None:
        self.not_found = Resource(404, HTML, NOT_FOUND_BODY)

    def find(self, target: bytes) -> Resource | None:
        """The resource for a target that ``routes`` may not hold, or None for 404.

        Does not count: the caller adds to ``hits`` or to the ledger's strays.
        """
        return self.routes.get(b"GET " + target)

    def expected(self) -> dict[str, Outcome]:
        """The outcome of every URL of a full correct crawl."""
        raise NotImplementedError

    def hits(self) -> Iterator[tuple[str, int, int]]:
        """``(target, status, requests)`` of each resource asked for since the reset."""
        for key, resource in self.routes.items():
            if resource.hits:
                yield key[4:].decode("latin-1"), resource.status, resource.hits

    def reset(self) -> None:
        """Forget all hits."""
        for resource in self.routes.values():
            resource.hits = 0

    def _settle(self, outcomes: Mapping[str, Outcome], page_bytes: int) -> None:
        self.pages = sum(status == 200 for status, _ in outcomes.values())
        self.urls = len(outcomes)
        self.page_bytes = page_bytes
        self.digest = digest_of(outcomes)


# --- list -------------------------------------------------------------------


class _Numbered(dict[bytes, Resource]):
    """Routes ``/p/0`` to ``/p/N-1`` that all lead to one resource.

    A dict only to have ``__missing__``: it stays empty. Each page's count is
    four bytes in ``counts``.
    """

    def __init__(self, pages: int, page: Resource) -> None:
        super().__init__()
        self.page = page
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
        return self.page


class Listing(Site):
    """``list:N:BYTES``: N pages without links, all with the same body.

    For open-loop runs, whose URLs come from a schedule and not from links.
    ``/`` is not one of them and answers 404.
    """

    def __init__(self, spec: str, pages: int, size: int) -> None:
        super().__init__()
        self.spec = spec
        opening = b"<!doctype html>\n<title>A page</title>\n<p>"
        body = (
            opening + _filler(random.Random("list"), size) if size >= len(opening) else b"x" * size
        )
        page = Resource(200, HTML, body[:size])
        self._numbered = _Numbered(pages, page)
        self.routes = self._numbered
        self.pages = self.urls = pages
        self.page_bytes = pages * size
        sha = hashlib.sha256()
        ending = f" 200 {page.checksum:08x}\n"
        lines = []
        for number in _lexicographic(pages):
            lines.append(f"/p/{number}{ending}")
            if len(lines) == 10_000:
                sha.update("".join(lines).encode())
                lines.clear()
        sha.update("".join(lines).encode())
        self.digest = sha.hexdigest()

    def find(self, target: bytes) -> Resource | None:
        """The page, counted (see :class:`_Numbered`), or None."""
        try:
            return self.routes[b"GET " + target]
        except KeyError:
            return None

    def expected(self) -> dict[str, Outcome]:
        """Made anew at each call: nothing is kept per page but its count."""
        outcome = (200, self._numbered.page.checksum)
        return {f"/p/{number}": outcome for number in range(self.pages)}

    def hits(self) -> Iterator[tuple[str, int, int]]:
        """See :meth:`Site.hits`."""
        for number, count in enumerate(self._numbered.counts):
            if count:
                yield f"/p/{number}", 200, count

    def reset(self) -> None:
        """See :meth:`Site.reset`."""
        self._numbered.counts = array("I", bytes(4 * self.pages))
        self._numbered.page.hits = 0


def _lexicographic(count: int) -> Iterator[int]:
    """0 to count-1 in the order of their decimal strings, without sorting them."""
    if count > 0:
        yield 0
    stack = list(range(min(9, count - 1), 0, -1))
    while stack:
        number = stack.pop()
        yield number
        stack.extend(range(min(number * 10 + 9, count - 1), number * 10 - 1, -1))


# --- tree -------------------------------------------------------------------

SECTIONS = ("garden", "harbour", "library", "market", "station")
SHELVES = ("atlas", "birds", "clocks", "doors")
WORDS = (  # noqa: SIM905 - a list literal of these would fill three screens
    "the of a to and in that it was for on with as at by from this had not are but which or an "
    "they one were all we when there can more if out so said what up its about into than them "
    "only other time some could these two may first then do any like my now over such our even "
    "most made after also did many off before must well back through years where much way down "
    "should because long each just state people too good make world still see own work here "
    "between both being under never day same another know while last might us great old year "
    "water river stone light paper window letter morning winter engine signal harbour lantern"
).split()
LEAST_FOR_ALL = 30  # pages from which on a tree has at least one of every special kind


def _filler(rng: random.Random, size: int) -> bytes:
    """Plain words, at least ``size`` bytes: what pages are padded with."""
    words = [WORDS[int(rng.random() * len(WORDS))] for _ in range(1500)]
    text = (" ".join(words) + ".\n").encode()
    return text * (size // len(text) + 2)


def _climb(start: str, end: str) -> str:
    """The relative path from directory ``start`` to directory ``end``.

    Both begin and end with a slash. Same directory gives the empty string.
    """
    source, goal = start.split("/")[1:-1], end.split("/")[1:-1]
    common = 0
    while common < min(len(source), len(goal)) and source[common] == goal[common]:
        common += 1
    return "../" * (len(source) - common) + "".join(f"{name}/" for name in goal[common:])


ODD_UNTIL = 500
"""The last page to which every seventh link is written oddly; then it is every fiftieth.

A small site has to hold all there is to get wrong. A large one is there to be
fast on, and should look like what people write.
"""


class Tree(Site):
    """``tree:PAGES:FANOUT:BYTES``: a page graph made from a seed.

    Page 0 is ``/``; page *i* links to pages *i*·FANOUT+1 to *i*·FANOUT+FANOUT,
    to its parent and to its next sibling. Every page is exactly BYTES long.
    From :data:`LEAST_FOR_ALL` pages on, a site has all of the following; the
    shares are of PAGES.

    - redirects (5 %): chains of one to five hops with all five statuses, that
      end at a page; every second one merges, either into the middle of an
      earlier chain or at its target; half of the targets have no other link
    - dead links (1 %): URLs that answer 404
    - pages with a query (4 %), with other than ASCII in the path (2 %), with
      spaces (0.5 %), with lower-case escapes that must be kept (0.5 %), named
      like directories (1 %)
    - links written as relative, ``./``, ``../``, absolute path, with dot
      segments, with fragments, ``//host``, ``http://host``; in double, single
      or no quotes, upper case, as ``<area>``, with entities, below ``<base>``
    - links that must not be followed (2 %): in comments and scripts, in other
      attributes, of other schemes, to other hosts

    ``authority`` is the ``host:port`` that absolute links name, None for sites
    served on all addresses: those have absolute paths instead. As it is part
    of some pages' text, the digest depends on it.
    """

    def __init__(
        self, spec: str, pages: int, fanout: int, size: int, seed: int, authority: str | None
    ) -> None:
        super().__init__()
        self.spec = spec
        self._fanout = fanout
        self._authority = authority
        self._rng = random.Random(f"tree:{pages}:{fanout}:{seed}")  # BYTES changes the padding only
        self._climbs: dict[tuple[str, str], str] = {}
        # What page i is asked for by, how links to it are written, and in which
        # directory it is; the first two differ only for special pages.
        self._keys: list[str] = []
        self._names: list[str] = []
        self._dirs: list[str] = []
        self._special: dict[int, str] = {}
        self._in_place: dict[int, str] = {}  # pages linked only through a redirect -> its link
        self._extras: dict[int, str] = {}  # page -> a paragraph of its own
        self.routes = {}
        self._outcomes: dict[str, Outcome] = {}

        order = self._shuffled(range(1, pages))
        self._name_pages(pages, order)
        self._add_oddities(pages, order)
        self._render_pages(pages, size)
        self._settle(self._outcomes, pages * size)
        del self._climbs, self._keys, self._names, self._dirs, self._special
        del self._in_place, self._extras

    def expected(self) -> dict[str, Outcome]:
        """See :meth:`Site.expected`."""
        return dict(self._outcomes)

    def _shuffled(self, items: Iterable[int]) -> list[int]:
        # Not Random.shuffle: only Random.random promises equal numbers in
        # every Python release, and a site must not change with the interpreter.
        rng = self._rng.random
        return sorted(items, key=lambda _: rng())

    def _add(self, key: str, resource: Resource) -> None:
        self.routes[b"GET " + key.encode("ascii")] = resource
        self._outcomes[key] = (resource.status, resource.checksum)

    def _name_pages(self, pages: int, order: list[int]) -> None:
        """Give each page its key, its name in links, and its directory."""
        start = 0
        for kind, share in (
            ("query", 0.04),
            ("raw", 0.01),
            ("entity", 0.01),
            ("space", 0.005),
            ("kept", 0.005),
            ("folder", 0.01),
        ):
            count = _share(pages, share)
            self._special.update(dict.fromkeys(order[start : start + count], kind))
            start += count
        self._keys.append("/")
        self._names.append("/")
        self._dirs.append("/")
        for page in range(1, pages):
            parent = (page - 1) // self._fanout
            place = f"/{SECTIONS[parent % 5]}/{SHELVES[parent // 5 % 4]}/"
            kind = self._special.get(page, "")
            key = name = f"page-{page}.html"
            if kind == "query" and page > ODD_UNTIL and page % 4:
                key = name = f"find?page={page}"
            elif kind == "query":
                # Dots in a query are not dot segments.
                key = f"find?page={page}&from=/a/../b"
                name = f"find?page={page}&amp;from=/a/../b"
            elif kind == "raw":
                key, name = f"caf%C3%A9-{page}-%E2%82%AC.html", f"café-{page}-€.html"
            elif kind == "entity":
                key, name = f"caf%C3%A9-{page}.html", f"caf&eacute;&#45;{page}.html"
            elif kind == "space":
                key, name = f"two%20words%20{page}.html", f"two words {page}.html"
            elif kind == "kept":
                key = name = f"na%c3%afve-{page}%7e.html"
            elif kind == "folder":
                key = name = f"topic-{page}/"
            self._keys.append(place + key)
            self._names.append(name)
            self._dirs.append(place)

    def _add_oddities(self, pages: int, order: list[int]) -> None:
        """Redirects, dead links, and links that must not be followed.

        Each comes as one paragraph on a page of its own choice, at most one
        per page, so that no page grows by more than one of them.
        """
        hosts = iter(self._shuffled(range(pages)))
        targets = iter(reversed(order))  # the other end of `order` is special already
        self._add_redirects(_share(pages, 0.05), hosts, targets)
        for number in range(_share(pages, 0.01)):
            self._add(f"/missing/{number}.html", self.not_found_copy())
            self._extras[next(hosts)] = f'<p><a href="/missing/{number}.html#gone">Gone</a></p>'
        traps = _traps()
        count = _share(pages, 0.02)
        for number in range(max(count, len(traps)) if count else 0):
            self._extras[next(hosts)] = traps[number % len(traps)]

    def not_found_copy(self) -> Resource:
        """A 404 with a count of its own."""
        return Resource(404, HTML, NOT_FOUND_BODY)

    def _add_redirects(self, hops: int, hosts: Iterator[int], targets: Iterator[int]) -> None:
        rng = self._rng.random
        number = 0
        chains: list[list[str]] = []  # keys from the first hop to the page
        lengths = (2, 3, 1, 5, 2, 4, 1)
        while number < hops:
            if len(chains) % 2:
                # foo -> baz and bar -> baz: into the last chain's page or its middle.
                last = chains[-1]
                goal = last[-1] if rng() < 0.5 else last[len(last) // 2]
                keys, only = [f"/moved/{number}", goal], None
                number += 1
            else:
                length = min(lengths[len(chains) // 2 % len(lengths)], hops - number)
                page = next(targets)
                keys = [f"/moved/{number + step}" for step in range(length)]
                if len(chains) % 4 == 2:
                    keys[0] += f"?to={number}&by=name"
                keys.append(self._keys[page])
                only = page if rng() < 0.5 else None
                number += length
            for step, key in enumerate(keys[:-1]):
                status = REDIRECTS[(len(chains) + step) % len(REDIRECTS)]
                location = self._location(keys[step + 1], rng())
                body = f'<p>Moved: <a href="{escape(keys[step + 1])}">here</a>.</p>\n'.encode()
                self._add(key, Resource(status, HTML, body, location))
            chains.append(keys)
            link = f'<a href="{escape(keys[0])}">Moved</a>'
            if only is not None:
                self._in_place[only] = link
            else:
                self._extras[next(hosts)] = f"<p>{link}</p>"

    def _location(self, key: str, chance: float) -> str:
        """A key as a Location header: absolute, relative or with a fragment."""
        if chance < 0.3:
            return f"..{key}"  # every redirect is in /moved/
        if chance < 0.5 and self._authority:
            return f"http://{self._authority}{key}"
        if chance < 0.6 and self._authority:
            return f"//{self._authority}{key}"
        if chance < 0.8:
            return f"{key}#moved"
        return key

    def _link(self, place: str, page: int, text: str) -> str:
        """A link from a page in directory ``place``, written one of many ways."""
        chance = self._rng.random()
        home, name = self._dirs[page], self._names[page]
        if page == 0:
            reference = "/" if chance < 0.5 else _climb(place, "/") or "./"
        elif chance < 0.55:
            climb = self._climbs.get((place, home))
            if climb is None:
                climb = self._climbs[place, home] = _climb(place, home)
            reference = climb + name
            if chance < 0.10 and climb[:1] != ".":
                reference = f"./{reference}"
        elif chance < 0.80:
            reference = home + name
        elif chance < 0.85:
            reference = f"{home}{name}#part-{page}"
        elif chance < 0.90 and page <= ODD_UNTIL:
            reference = f"/old/.{home}./../../..{home}{name}"
        elif chance < (0.93 if page <= ODD_UNTIL else 0.91) and self._authority:
            reference = f"http://{self._authority}{home}{name}"
        elif chance < 0.96 and self._authority and page <= ODD_UNTIL:
            reference = f"//{self._authority}{home}{name}"
        else:
            reference = home + name
        odd = 1.5 if page <= ODD_UNTIL else 0.2
        if chance * 1000 % 10 >= odd:  # further digits of the same number
            return f'<a href="{reference}">{text}</a>'
        return self._odd_markup(reference, text, page in self._special)

    def _odd_markup(self, reference: str, text: str, special: bool) -> str:
        """A link in markup that is correct and rarely written."""
        chance = int(self._rng.random() * 7)
        if chance == 0 and not special and reference[-1] != "/":
            return f"<a href={reference}>{text}</a>"
        if chance <= 1:
            return f"<a href='{reference}'>{text}</a>"
        if chance == 2:
            return f'<A CLASS=x HREF="{reference}">{text}</A>'
        if chance == 3:
            return f'<a title="a > b" href="{reference}">{text}</a>'
        if chance == 4:
            return f'<a\n href = " {reference}\n" rel=next>{text}</a>'
        if chance == 5:
            return f'<map name="m"><area href="{reference}" alt="{text}"></map>'
        return f'<a data-href="/trap/data" href="{reference.replace("/", "&#x2F;")}">{text}</a>'

    def _render_pages(self, pages: int, size: int) -> None:
        rng = self._rng.random
        fanout = self._fanout
        filler = _filler(self._rng, size)
        spare = len(filler) - size
        needed = 0
        based = set(self._shuffled(range(pages))[: _share(pages, 0.01)])
        for page in range(pages):
            place, base, top = self._dirs[page], "", '<a href="#top">Top</a>'
            if self._special.get(page) == "folder":
                place = self._keys[page]
            if page in based:
                # "#top" would now lead to the base itself, which is no page.
                place = f"/{SECTIONS[page % 5]}/{SHELVES[page % 4]}/"
                base, top = f'<base href="{place}">', ""
            links = [top]
            if page:
                links.append(self._link(place, (page - 1) // fanout, "Up"))
            following = page + 1
            if following < pages and page % fanout and following not in self._in_place:
                links.append(self._link(place, following, "Next"))
            items = []
            for child in range(page * fanout + 1, min(page * fanout + fanout + 1, pages)):
                link = self._in_place.get(child)
                items.append("\n<li>" + (link or self._link(place, child, f"Page {child}")))
            children = f"\n<ul>{''.join(items)}\n</ul>" if items else ""
            head = (
                f'<!doctype html>\n<meta charset="utf-8">\n<title>Page {page}</title>{base}\n'
                f"<h1>Page {page}</h1>\n<p>{' '.join(links)}{children}\n"
                f"{self._extras.get(page, '')}<p>"
            ).encode()
            room = size - len(head) - len(_PAGE_END)
            start = int(rng() * spare)  # drawn in any case, see above
            if room < 0:
                needed = max(needed, size - room)
                continue
            if needed:
                continue
            body = head + filler[start : start + room] + _PAGE_END
            self._add(self._keys[page], Resource(200, HTML, body))
        if needed:
            raise SiteError(
                f"{self.spec}: a page with {fanout} links needs {needed} bytes, not {size}; "
                f"write tree:{pages}:{fanout}:{needed} or take a smaller fanout"
            )


_PAGE_END = b"\n"  # html, head, body and the end tags of p and li may be left out


def _share(pages: int, share: float) -> int:
    """A share of the pages, at least one when the site is large enough."""
    return max(round(pages * share), 1) if pages >= LEAST_FOR_ALL else 0


def _traps() -> list[str]:
    """Links that a crawler with strict host scope must not follow."""
    return [
        '<!-- <a href="/trap/comment">no</a> -->',
        "<script>document.write('<a href=\"/trap/script\">no</a>')</script>",
        '<p><a name="/trap/name">no</a> <img src="/trap/image" alt="no"></p>',
        '<p><a href="mailto:nobody@example.invalid">no</a></p>',
        '<p><a href="http://127.0.0.254:9/trap/host">no</a></p>',
        "<p><a href=\"javascript:go('/trap/scheme')\">no</a></p>",
        '<p><a href="//example.invalid/trap/host">no</a></p>',
        "<!-- > <a href='/trap/long-comment'>no</a> -- -->",
        '<style>/* <a href="/trap/style">no</a> */</style>',
        '<p title=\'<a href="/trap/attribute">\'><a href="tel:123">no</a></p>',
        '<p><a href="ftp://example.invalid/trap/ftp">no</a></p>',
        '<link rel="stylesheet" href="/trap/stylesheet">',
    ]


# --- dir --------------------------------------------------------------------


class Directory(Site):
    """``dir:PATH``: a directory of real HTML, served as a static server would.

    A directory with ``index.html`` answers with it; asked for without the
    final slash it answers 301. A query is ignored, but is part of the URL.
    404 for all else, and for every target that is not exactly one path below
    the root: dot segments and empty ones however encoded, encoded slashes,
    NUL, links that lead out of the root. The root itself may be a link.

    Files are read once, at the start or when first asked for, and are not
    looked at again. Those above :data:`PRELOAD_EACH`, and all after
    :data:`PRELOAD_ALL` bytes, are read from disk at each request.

    The expected outcomes are found at the start, by crawling the directory
    with :mod:`server.reference`. That takes about 0.2 s for each megabyte of
    HTML, so they are remembered in the ``cache`` folder, if one is given, under
    a hash of all names, all contents and the source of the reference crawl.
    """

    def __init__(
        self, spec: str, root: str, authority: str | None, cache: Path | None = None
    ) -> None:
        from server import reference

        super().__init__()
        self.spec = spec
        self.routes = {}
        self._root = os.path.realpath(root)
        self._files: dict[str, Resource] = {}
        self._kept = 0
        self._variants = 0
        # Only the types Python itself knows: the machine's own tables differ.
        self._types = mimetypes.MimeTypes(filenames=())
        if not os.path.isdir(self._root):
            raise SiteError(f"{spec}: no such directory; give the path of a folder of HTML files")
        if not os.path.isfile(os.path.join(self._root, "index.html")):
            raise SiteError(
                f"{spec}: has no index.html at its top, so a crawl from / would find nothing; "
                "give the folder that holds it"
            )
        fingerprint = self._preload(authority)
        store = cache / f"{fingerprint}.json" if cache and fingerprint else None
        found = _recall(store)
        if found is None:
            found = reference.crawl(self.find, authority or "localhost")
            _remember(store, found)
        self._outcomes, page_bytes = found
        self._settle(self._outcomes, page_bytes)

    def expected(self) -> dict[str, Outcome]:
        """See :meth:`Site.expected`."""
        return dict(self._outcomes)

    def find(self, target: bytes) -> Resource | None:
        """See :meth:`Site.find`; what is found is remembered in ``routes``."""
        key = b"GET " + target
        known = self.routes.get(key)
        if known is not None:
            return known
        path, mark, _ = target.partition(b"?")
        resource = self._load(path, target)
        if resource is None:
            return None
        if mark or path != _canonical(path):
            # Any number of these lead to one file: remember only so many. The
            # rest are answered as well, but are missing from the ledger.
            if self._variants >= VARIANTS:
                return resource
            self._variants += 1
        self.routes[key] = resource
        return resource

    def _preload(self, authority: str | None) -> str | None:
        """Load all files; returns a hash of what a crawl's outcome depends on.

        None when there are links to directories (what is behind those is not
        loaded, and not in the hash), or when a page names this very address,
        which another start will not have.
        """
        from server import reference

        sha = hashlib.sha256(Path(__file__).read_bytes() + Path(reference.__file__).read_bytes())
        complete = True
        for folder, folders, files in os.walk(self._root):
            folders.sort()
            for name in folders:
                path = os.path.join(folder, name)
                complete = complete and not os.path.islink(path)
                sha.update(f"{self._target(path)}/\n".encode())
            for name in sorted(files):
                target = self._target(os.path.join(folder, name)).encode()
                resource = self.find(target)
                if resource is None:
                    continue  # a link out of the root, or not readable
                sha.update(b"%s %d %08x\n" % (target, resource.size, resource.checksum))
                if authority and authority.encode() in resource.payload:
                    complete = False
        return sha.hexdigest() if complete else None

    def _target(self, path: str) -> str:
        relative = os.path.relpath(path, self._root).replace(os.sep, "/")
        return quote(os.fsencode(f"/{relative}"), safe=_KEPT)

    def _load(self, path: bytes, target: bytes) -> Resource | None:
        if not path.startswith(b"/"):
            return None
        segments = [unquote_to_bytes(segment) for segment in path[1:].split(b"/")]
        last = segments.pop()
        if any(name in (b"", b".", b"..") or b"/" in name or b"\0" in name for name in segments):
            return None
        if last in (b".", b"..") or b"/" in last or b"\0" in last:
            return None
        asked = os.path.join(os.fsencode(self._root), *segments, last)
        real = os.fsdecode(os.path.realpath(asked))
        if real != self._root and not real.startswith(os.path.join(self._root, "")):
            return None
        if os.path.isdir(real):
            if last:
                mark = target.find(b"?")
                query = target[mark:] if mark >= 0 else b""
                location = (path + b"/" + query).decode("latin-1")
                # Two slashes in front would name a host; no path has them (see above).
                body = f'<p>Moved: <a href="{escape(location)}">here</a>.</p>\n'.encode()
                return Resource(301, HTML, body, location)
            real = os.path.realpath(os.path.join(real, "index.html"))
            if not real.startswith(os.path.join(self._root, "")):
                return None
        elif not last:
            return None
        if not os.path.isfile(real):
            return None
        known = self._files.get(real)
        if known is None:
            try:
                known = self._files[real] = self._read(real)
            except OSError:
                return None
        own = copy(known)  # shares the bytes, has hits of its own
        own.hits = 0
        return own

    def _read(self, file: str) -> Resource:
        kind = self._types.guess_type(file)[0] or "application/octet-stream"
        if self._types.guess_type(file)[1]:
            kind = "application/octet-stream"  # .gz and the like: the file is the body
        if kind.startswith("text/"):
            kind += "; charset=utf-8"
        size = os.path.getsize(file)
        if size <= PRELOAD_EACH and self._kept + size <= PRELOAD_ALL:
            self._kept += size
            return Resource(200, kind, Path(file).read_bytes())
        resource = Resource(200, kind, b"")
        resource.payload = render_head(200, kind, size)
        resource.body_start = len(resource.payload)
        resource.size = size
        resource.file = file
        with open(file, "rb") as source:
            while block := source.read(1 << 20):
                resource.checksum = crc32(block, resource.checksum)
        return resource


def _recall(store: Path | None) -> tuple[dict[str, Outcome], int] | None:
    """Outcomes remembered by :func:`_remember`, None when there are none."""
    if store is None:
        return None
    try:
        page_bytes, outcomes = json.loads(store.read_text())
        return {str(key): (int(code), int(crc)) for key, (code, crc) in outcomes.items()}, int(
            page_bytes
        )
    except (OSError, ValueError, TypeError, AttributeError):
        return None  # absent or damaged: found anew, and written anew


def _remember(store: Path | None, found: tuple[dict[str, Outcome], int]) -> None:
    """Write outcomes for the next start; a folder that cannot be written is no error."""
    if store is None:
        return
    outcomes, page_bytes = found
    try:
        store.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=store.parent, suffix=".part")
        with open(handle, "w") as file:
            json.dump([page_bytes, outcomes], file)
        os.replace(name, store)
    except OSError:
        return


_KEPT = "/!$&'()*+,;=:@-._~"  # never encoded in a path


def _canonical(path: bytes) -> bytes:
    """The one spelling of a path that is always remembered."""
    return quote(unquote_to_bytes(path), safe=_KEPT).encode()


# --- specs ------------------------------------------------------------------


def make_site(spec: str, seed: int, authority: str | None, cache: Path | None = None) -> Site:
    """Build the site that a spec names.

    ``authority`` is the ``host:port`` the site is served at, None when it is
    served on all addresses. ``cache`` is a folder where a directory's outcomes
    are remembered, see :class:`Directory`. Raises :class:`SiteError` with what to change.
    """
    kind, _, rest = spec.partition(":")
    if kind == "tree":
        pages, fanout, size = _numbers(spec, rest, "tree:PAGES:FANOUT:BYTES", (1000, 5, 2048))
        _within(spec, "PAGES", pages, 1, 1_000_000)
        _within(spec, "FANOUT", fanout, 1, 10_000)
        _within(spec, "BYTES", size, 1, 64 << 20)
        if pages * size > 8 << 30:
            raise SiteError(f"{spec}: {pages} pages of {size} bytes do not fit in 8 GiB of memory")
        return Tree(f"tree:{pages}:{fanout}:{size}", pages, fanout, size, seed, authority)
    if kind == "list":
        pages, size = _numbers(spec, rest, "list:N:BYTES", (1000, 2048))
        _within(spec, "N", pages, 1, 1_000_000)
        _within(spec, "BYTES", size, 0, 64 << 20)
        return Listing(f"list:{pages}:{size}", pages, size)
    if kind == "dir" and rest:
        return Directory(spec, rest, authority, cache)
    if kind == "faults":
        from server.faults import make_faults  # it stands on this module and on the protocol

        return make_faults(spec, seed, authority)
    raise SiteError(
        f"{spec}: not a site; write tree:PAGES:FANOUT:BYTES, list:N:BYTES, dir:PATH or faults:PAGES"
    )


def _numbers(spec: str, rest: str, form: str, defaults: tuple[int, ...]) -> list[int]:
    parts = rest.split(":") if rest else []
    if len(parts) > len(defaults) or not all(part.isascii() and part.isdigit() for part in parts):
        raise SiteError(f"{spec}: not of the form {form} with whole numbers")
    return [int(part) for part in parts] + list(defaults[len(parts) :])


def _within(spec: str, name: str, value: int, least: int, most: int) -> None:
    if not least <= value <= most:
        raise SiteError(f"{spec}: {name} must be from {least} to {most}, not {value}")
