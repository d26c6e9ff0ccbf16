"""``tree:PAGES:FANOUT:BYTES``: a page graph with everything that a crawler can get wrong."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from html import escape

from server.sites.site import (
    HTML,
    REDIRECTS,
    Outcome,
    Resource,
    Site,
    SiteError,
    filler,
    not_found,
    redirect,
)

SECTIONS = ("garden", "harbour", "library", "market", "station")
SHELVES = ("atlas", "birds", "clocks", "doors")
LEAST_FOR_ALL = 30
"""The smallest tree, in pages, that has at least one of every special kind."""
ODD_UNTIL = 500
"""Up to this page every seventh link is written oddly; beyond it, every fiftieth.

A small site should contain everything that can go wrong. A large one measures
speed and should look like the pages that people write.
"""


class Tree(Site):
    """``tree:PAGES:FANOUT:BYTES``: a page graph made from a seed.

    Page 0 is ``/``; page *i* links to pages *i*·FANOUT+1 to *i*·FANOUT+FANOUT,
    to its parent and to its next sibling. Every page is exactly BYTES long.
    A site of at least :data:`LEAST_FOR_ALL` pages has all of the following, as
    shares of PAGES:

    - redirects (5 %): chains of one to five hops with all five statuses that
      end at a page; every second chain merges into the middle of an earlier one
      or into its target; half of the targets have no other link
    - dead links (1 %): URLs that answer 404
    - pages with a query (4 %), with non-ASCII characters in the path (2 %), with
      spaces (0.5 %), with lower-case escapes that must be kept (0.5 %), named
      like directories (1 %)
    - links written as relative, ``./``, ``../``, absolute path, with dot
      segments, with fragments, ``//host``, ``http://host`` (``https://host`` over
      TLS); in double, single or no quotes, upper case, as ``<area>``, with
      entities, below ``<base>``
    - links that a crawler must not follow (2 %): in comments and scripts, in
      other attributes, with other schemes, to other hosts

    ``authority`` is the ``host:port`` in absolute links. A site served on all
    addresses has None and uses absolute paths instead. The digest depends on it,
    because some pages contain it.
    """

    def __init__(self, made: Builder) -> None:
        super().__init__()
        self.spec = made.spec
        self.routes = made.routes
        self._promise(made.outcomes, made.page_bytes)


class Builder:
    """Makes the pages of a :class:`Tree`, and holds what only that takes."""

    def __init__(
        self,
        spec: str,
        pages: int,
        fanout: int,
        size: int,
        seed: int,
        authority: str | None,
        scheme: str,
    ) -> None:
        self.spec = spec
        self.page_bytes = pages * size
        self._fanout = fanout
        self._authority = authority
        self._scheme = scheme
        self._rng = random.Random(f"tree:{pages}:{fanout}:{seed}")  # BYTES changes the padding only
        self._climbs: dict[tuple[str, str], str] = {}
        # By page number: the target that requests it, how links to it are written, and
        # its directory. The first two differ only for special pages.
        self._keys: list[str] = []
        self._names: list[str] = []
        self._dirs: list[str] = []
        self._special: dict[int, str] = {}
        self._in_place: dict[int, str] = {}  # page -> the redirect that is its only link
        self._extras: dict[int, str] = {}  # page -> a paragraph of its own
        self.routes: dict[bytes, Resource] = {}
        self.outcomes: dict[str, Outcome] = {}
        order = self._shuffled(range(1, pages))
        self._name_pages(pages, order)
        self._add_oddities(pages, order)
        self._render_pages(pages, size)

    def _shuffled(self, items: Iterable[int]) -> list[int]:
        # Not Random.shuffle: only Random.random promises the same numbers in every
        # Python release, and a site must not change with the interpreter.
        rng = self._rng.random
        return sorted(items, key=lambda _: rng())

    def _add(self, key: str, resource: Resource) -> None:
        self.routes[b"GET " + key.encode("ascii")] = resource
        self.outcomes[key] = (resource.status, resource.checksum)

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
        """Add redirects, dead links, and links that a crawler must not follow.

        Each is one paragraph on a random page. No page gets more than one, so
        none grows by more than one paragraph.
        """
        hosts = iter(self._shuffled(range(pages)))
        targets = iter(reversed(order))  # the front of `order` is special already
        self._add_redirects(_share(pages, 0.05), hosts, targets)
        for number in range(_share(pages, 0.01)):
            self._add(f"/missing/{number}.html", not_found())
            self._extras[next(hosts)] = f'<p><a href="/missing/{number}.html#gone">Gone</a></p>'
        traps = _traps()
        count = _share(pages, 0.02)
        for number in range(max(count, len(traps)) if count else 0):
            self._extras[next(hosts)] = traps[number % len(traps)]

    def _add_redirects(self, hops: int, hosts: Iterator[int], targets: Iterator[int]) -> None:
        rng = self._rng.random
        number = 0
        chains: list[list[str]] = []  # keys from the first hop to the page
        lengths = (2, 3, 1, 5, 2, 4, 1)
        while number < hops:
            if len(chains) % 2:
                # foo -> baz and bar -> baz: join the last chain at its page or in its middle.
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
                self._add(key, redirect(status, location, keys[step + 1]))
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
            return f"{self._scheme}://{self._authority}{key}"
        if chance < 0.6 and self._authority:
            return f"//{self._authority}{key}"
        if chance < 0.8:
            return f"{key}#moved"
        return key

    def _link(self, place: str, page: int, text: str) -> str:
        """A link from a page in directory ``place``, written in one of many ways."""
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
            reference = f"{self._scheme}://{self._authority}{home}{name}"
        elif chance < 0.96 and self._authority and page <= ODD_UNTIL:
            reference = f"//{self._authority}{home}{name}"
        else:
            reference = home + name
        odd = 1.5 if page <= ODD_UNTIL else 0.2
        if chance * 1000 % 10 >= odd:  # later digits of the same number
            return f'<a href="{reference}">{text}</a>'
        return self._odd_markup(reference, text, page in self._special)

    def _odd_markup(self, reference: str, text: str, special: bool) -> str:
        """A link in markup that is correct but rare."""
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
        padding = filler(self._rng, size)
        spare = len(padding) - size
        needed = 0
        based = set(self._shuffled(range(pages))[: _share(pages, 0.01)])
        for page in range(pages):
            place, base, top = self._dirs[page], "", '<a href="#top">Top</a>'
            if self._special.get(page) == "folder":
                place = self._keys[page]
            if page in based:
                # "#top" would now lead to the base itself, which is not a page.
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
            start = int(rng() * spare)  # drawn even if unused: the numbers after it must not shift
            if room < 0:
                needed = max(needed, size - room)
                continue
            if needed:
                continue
            body = head + padding[start : start + room] + _PAGE_END
            self._add(self._keys[page], Resource(200, HTML, body))
        if needed:
            raise SiteError(
                f"{self.spec}: a page with {fanout} links needs {needed} bytes, not {size}; "
                f"write tree:{pages}:{fanout}:{needed} or take a smaller fanout"
            )


_PAGE_END = b"\n"  # HTML lets you omit html, head, body and the end tags of p and li


def _share(pages: int, share: float) -> int:
    """A share of the pages, at least one when the site is large enough."""
    return max(round(pages * share), 1) if pages >= LEAST_FOR_ALL else 0


def _traps() -> list[str]:
    """Links that a crawler limited to this host must not follow."""
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


def _climb(start: str, end: str) -> str:
    """The relative path from directory ``start`` to directory ``end``.

    Both begin and end with a slash. The path to the same directory is empty.
    """
    source, goal = start.split("/")[1:-1], end.split("/")[1:-1]
    common = 0
    while common < min(len(source), len(goal)) and source[common] == goal[common]:
        common += 1
    return "../" * (len(source) - common) + "".join(f"{name}/" for name in goal[common:])
