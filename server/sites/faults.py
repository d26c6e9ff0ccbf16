"""``faults:PAGES[:KIND,...]``: a site whose pages answer wrongly, each in its own way.

``faults:PAGES`` is a tree in which every tenth page without children is faulty.
``faults:PAGES:KIND,KIND`` uses only these kinds. A test can replace the pages
with a graph of its own through the control plane (``POST /faults``).

These sites need connections of their own: :mod:`server.faulty`. Other sites
never use either.
"""

from __future__ import annotations

import random
import socket
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from server.sites.fault_kinds import ENCRYPTED, FAULTS, KINDS, Page, Wire
from server.sites.site import HTML, Resource, Site, SiteError, is_whole

FANOUT = 10
MAX_PAUSE_S = 10.0
ALL = KINDS | ENCRYPTED


class Faulty(Resource):
    """A page and how often it was requested."""

    __slots__ = ("page",)

    def __init__(self, page: Page) -> None:
        super().__init__(200, HTML, b"")
        self.status = page.status
        self.page = page


class Faults(Site):
    """``faults:PAGES[:KINDS]``, or the graph that was loaded last.

    ``ports`` has two more addresses, as ``host:port``: nothing listens on
    ``refusing``; on ``silent`` the kernel accepts connections and nothing ever
    answers. A server with TLS adds those of :mod:`server.traps`. There is no
    expected digest: how a crawler should report a fault is a matter for the
    crawler's tests.
    """

    def __init__(
        self,
        spec: str,
        pages: Iterable[Page],
        seed: int,
        authority: str | None,
        scheme: str = "http",
    ) -> None:
        super().__init__()
        self.spec = spec
        self.seed = seed
        self.scheme = scheme
        self.digest = None
        host: str = "127.0.0.1" if authority is None else authority.rpartition(":")[0]
        family = socket.AF_INET6 if host.startswith("[") else socket.AF_INET
        # A socket that is bound but does not listen keeps its port and refuses connections.
        self._refusing, self._silent = socket.socket(family), socket.socket(family)
        for sock in (self._refusing, self._silent):
            sock.bind((host.strip("[]"), 0))
        self._silent.listen(4096)
        self.host = host
        self.ports = {
            "refusing": f"{host}:{self._refusing.getsockname()[1]}",
            "silent": f"{host}:{self._silent.getsockname()[1]}",
        }
        self.load(pages)

    def load(self, pages: Iterable[Page]) -> None:
        """Serve these pages from now on."""
        routes: dict[bytes, Resource] = {}
        for page in pages:
            routes[b"GET " + page.path.encode("ascii")] = Faulty(self.placed(page))
        self.routes = routes
        self.pages = self.urls = len(routes)
        self.page_bytes = 0

    def placed(self, page: Page) -> Page:
        """The page with the address of another port in place of its name."""
        name, slash, path = page.location.partition("/")
        port = self.ports.get(name.removeprefix("@")) if name.startswith("@") else None
        return replace(page, location=f"{self.scheme}://{port}/{path}") if port and slash else page

    def close(self) -> None:
        """Give back the other two ports."""
        self._refusing.close()
        self._silent.close()

    def wire(self, resource: Faulty) -> tuple[Page, Wire]:
        """The answer to the request that was just counted."""
        page = resource.page
        if page.times and resource.hits > page.times:
            page = replace(page, kind="page")
        return page, ALL[page.kind](page, random.Random(f"{self.seed}:{page.path}"))


def seeded(pages: int, kinds: tuple[str, ...], seed: int) -> Iterator[Page]:
    """A tree in which every tenth page without children has the next of the kinds."""
    rng = random.Random(f"faults:{pages}:{seed}")
    turn = list(kinds)
    rng.shuffle(turn)
    for number in range(pages):
        path = f"/{number}" if number else "/"
        children = range(number * FANOUT + 1, min(number * FANOUT + FANOUT + 1, pages))
        links = (*(f"/{child}" for child in children), "/")
        faulty = not children and number % FANOUT == FANOUT - 1
        kind = turn[number // FANOUT % len(turn)] if faulty else "page"
        yield Page(path, kind, links)


def make_faults(spec: str, seed: int, authority: str | None, scheme: str = "http") -> Faults:
    """Build ``faults:PAGES[:KIND,...]``; :class:`SiteError` says what to change."""
    _, count, *rest = spec.split(":")
    kinds = rest.pop(0) if rest else ""
    chosen = tuple(kinds.split(",")) if kinds else FAULTS
    if not (is_whole(count) and 1 <= int(count) <= 1_000_000) or rest:
        raise SiteError(f"{spec}: write faults:PAGES or faults:PAGES:KIND,KIND")
    for kind in chosen:
        if kind not in ALL:
            raise SiteError(f"{spec}: no fault named {kind!r}; there are {', '.join(ALL)}")
    return Faults(spec, seeded(int(count), chosen, seed), seed, authority, scheme)


def read_pages(pages: object) -> list[Page]:
    """Read pages from JSON objects with the fields of :class:`Page`.

    Raises :class:`ValueError` if one cannot be read.
    """
    if not isinstance(pages, list):
        raise ValueError("pages must be a list of objects")
    return [_read_page(item) for item in pages]


_USUAL = Page("")


def _read_page(item: object) -> Page:
    if not isinstance(item, dict):
        raise ValueError("a page must be an object")
    values: dict[str, Any] = {
        name: tuple(v) if isinstance(v, list) else v for name, v in item.items()
    }
    for name, value in values.items():
        kind = type(getattr(_USUAL, name, None))
        if not isinstance(value, (int, float) if kind is float else kind):
            raise ValueError(f"a page has no {name!r} like this: {value!r}")
    page = replace(_USUAL, **values)
    if not all(isinstance(cut, int) for cut in page.cuts):
        raise ValueError("cuts are whole numbers")
    try:
        "".join((page.location, *page.links)).encode()
    except (TypeError, UnicodeEncodeError):
        raise ValueError("links and location are texts, without half a surrogate pair") from None
    if not page.path.startswith("/") or not page.path.isascii():
        raise ValueError(f"a path begins with / and is ASCII, not {page.path!r}")
    if page.kind not in ALL:
        raise ValueError(f"no kind {page.kind!r}; there are {', '.join(ALL)}")
    if not 0 <= page.pause_s <= MAX_PAUSE_S:
        raise ValueError(f"pause_s is from 0 to {MAX_PAUSE_S:g} seconds")
    return page
