"""Random sites with faults, cuts and pauses, and the jobs that crawl them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from hypothesis import strategies as st

from server.sites.fault_kinds import ENCRYPTED, FAULTS, Page

TIMED = frozenset({"silent", "stall", "drip"})
"""Kinds that cost a whole timeout for each try."""

AGAIN = ("stall", "reset_in_head", "reset_in_body", "close_in_head", "close_in_body")
"""Failures that may go away after some tries.

It leaves out failures before the first byte: whether these cost a try depends on
whether the connection had been used before.
"""

AWAY = ("http://127.0.0.2:9/away", "https://127.0.0.1/tls", "//[broken/", "", "http://:0/")
"""Redirects that lead nowhere: to another host or scheme, or to something that is not a URL."""

TRAPS = ("untrusted", "selfmade", "expired", "elsewhere", "old", "plain", "cut")
"""Ports of a site over TLS where the handshake must fail."""

OVER_TLS = tuple(kind for kind in ENCRYPTED if kind != "cut_in_to_close")
"""Kinds that break TLS, less one: where a library hides the cut, its outcome is in no graph."""

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
        settings = {name: value for name, value in asdict(self).items() if name not in _OURS}
        hosts = [hello["listening"], *(hello[name] for name in self.ports)]
        settings["urls"] = [f"{hello['scheme']}://{host}/" for host in hosts]
        settings["cafile"] = hello["tls"] and hello["tls"]["cafile"]
        return {**settings, "max_body": MAX_BODY}


MAX_BODY = 2 << 20
_OURS = frozenset({"pages", "ports"})


@st.composite
def cases(draw: st.DrawFn, timed: bool = False, tls: bool = False) -> Case:
    """Draw a case of up to 24 pages; with ``timed``, some of them run into the timeout.

    With ``tls``, some break the stream of TLS, and others lead to ports whose handshake fails.
    """
    size = draw(st.integers(1, 24))
    faults = [kind for kind in FAULTS if timed or kind not in TIMED]
    odd_ports = ["refusing", "silent"] if timed else ["refusing"]
    if tls:
        faults = [*OVER_TLS, *OVER_TLS, *faults]
        odd_ports += TRAPS
    kinds = st.one_of(
        st.just("page"),
        st.sampled_from(["page", "chunked", "to_close", "redirect", "status"]),
        st.sampled_from(faults),
    )
    pages = tuple(draw(_page(number, size, draw(kinds), odd_ports)) for number in range(size))
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
def _page(draw: st.DrawFn, number: int, size: int, kind: str, odd_ports: Sequence[str]) -> Page:
    path = f"/{number}" if number else "/"
    nodes = st.integers(0, size - 1).map(lambda node: f"/{node}" if node else "/")
    status, location, times = 200, "", 0
    if kind == "redirect":
        status = draw(st.sampled_from([301, 302, 303, 307, 308]))
        odd = [f"@{name}/x" for name in odd_ports]
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


def every_kind(tls: bool = False) -> Case:
    """One page of each kind, named after it and linked from the root.

    Over TLS it has none that times out: handshakes take long where much else runs.
    """
    kinds = (*(kind for kind in FAULTS if kind not in TIMED), *OVER_TLS) if tls else FAULTS
    pages = [Page(f"/{kind}", kind, ("/after",)) for kind in kinds] + [
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
        timeout_s=PATIENCE_S if tls else TIMEOUT_S,
        ports=("refusing", *TRAPS) if tls else ("refusing", "silent"),
    )
