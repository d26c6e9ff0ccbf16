"""Random sites with faults, cuts and pauses, and the jobs that crawl them."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from hypothesis import strategies as st

from server.sites.fault_kinds import FAULTS, Page

TIMED = frozenset({"silent", "stall", "drip"})
"""Kinds that cost a whole timeout for each try."""

AGAIN = ("stall", "reset_in_head", "reset_in_body", "close_in_head", "close_in_body")
"""Failures that may go away after some tries.

It leaves out failures before the first byte: whether these cost a try depends on
whether the connection had been used before.
"""

AWAY = ("http://127.0.0.2:9/away", "https://127.0.0.1/tls", "//[broken/", "", "http://:0/")
"""Redirects that lead nowhere: to another host or scheme, or to something that is not a URL."""

TIMEOUT_S = 4.0
PATIENCE_S = 100.0


@dataclass(frozen=True)
class Case:
    """A site and how to crawl it; ``ports`` are further roots, on the site's odd ports."""

    pages: tuple[Page, ...]
    slots: int = 8
    keep_alive: bool = True
    max_tries: int = 1
    max_redirects: int = 10
    timeout_s: float = PATIENCE_S
    ports: tuple[str, ...] = ()

    def job(self, hello: dict[str, Any]) -> dict[str, Any]:
        """The settings of the job, for one server."""
        settings = {name: value for name, value in asdict(self).items() if name not in _OURS}
        hosts = [hello["listening"], *(hello[name] for name in self.ports)]
        return {**settings, "urls": [f"http://{host}/" for host in hosts], "max_body": MAX_BODY}


MAX_BODY = 2 << 20
_OURS = frozenset({"pages", "ports"})


@st.composite
def cases(draw: st.DrawFn, timed: bool = False) -> Case:
    """Draw a case of up to 24 pages; with ``timed``, some of them run into the timeout."""
    size = draw(st.integers(1, 24))
    faults = [kind for kind in FAULTS if timed or kind not in TIMED]
    kinds = st.one_of(
        st.just("page"),
        st.sampled_from(["page", "chunked", "to_close", "redirect", "status"]),
        st.sampled_from(faults),
    )
    pages = tuple(draw(_page(number, size, draw(kinds), timed)) for number in range(size))
    odd_ports = ["refusing", "silent"] if timed else ["refusing"]
    return Case(
        pages,
        slots=draw(st.sampled_from([1, 2, 3, 8, 40])) if not timed else 60,
        keep_alive=draw(st.booleans()),
        max_tries=draw(st.integers(1, 2 if timed else 3)),
        max_redirects=draw(st.integers(0, 4)),
        timeout_s=TIMEOUT_S if timed else PATIENCE_S,
        ports=tuple(draw(st.lists(st.sampled_from(odd_ports), unique=True, max_size=2))),
    )


@st.composite
def _page(draw: st.DrawFn, number: int, size: int, kind: str, timed: bool) -> Page:
    path = f"/{number}" if number else "/"
    nodes = st.integers(0, size - 1).map(lambda node: f"/{node}" if node else "/")
    status, location, times = 200, "", 0
    if kind == "redirect":
        status = draw(st.sampled_from([301, 302, 303, 307, 308]))
        odd = ["@refusing/x", "@silent/x"] if timed else ["@refusing/x"]
        location = draw(st.one_of(nodes, nodes, st.sampled_from([*AWAY, *odd])))
    elif kind == "status":
        status = draw(st.sampled_from([404, 410, 429, 500, 502, 503]))
    elif kind in AGAIN:
        times = draw(st.integers(0, 3))
    dead = st.integers(0, 2).map(lambda node: f"/dead/{node}")
    away = st.just("http://127.0.0.2:9/")
    links = draw(st.lists(st.one_of(nodes, nodes, nodes, dead, away), max_size=6))
    cuts = draw(st.one_of(st.just([]), st.lists(st.integers(1, 300), max_size=6)))
    pause_s = draw(st.sampled_from([0.0, 0.0, 0.001, 0.003])) if cuts else 0.0
    return Page(path, kind, tuple(links), status, location, tuple(cuts), pause_s, times)


def every_kind() -> Case:
    """One page of each kind, named after it and linked from the root."""
    pages = [Page(f"/{kind}", kind, ("/after",)) for kind in FAULTS] + [
        Page("/redirect_to_itself", "redirect", (), 302, "/redirect_to_itself"),
        Page("/redirect_loop", "redirect", (), 307, "/redirect_back"),
        Page("/redirect_back", "redirect", (), 308, "/redirect_loop"),
        Page("/redirect_off_host", "redirect", (), 301, AWAY[0]),
        Page("/redirect_to_https", "redirect", (), 301, AWAY[1]),
        Page("/redirect_to_bad_url", "redirect", (), 302, AWAY[2]),
        Page("/redirect_to_nothing", "redirect", (), 302),
        *(Page(f"/status_{status}", "status", (), status) for status in (429, 500, 503)),
    ]
    root = Page("/", links=tuple(page.path for page in pages))
    return Case(
        (root, *pages, Page("/after")),
        slots=60,
        max_tries=2,
        timeout_s=TIMEOUT_S,
        ports=("refusing", "silent"),
    )
