"""How many pages each label crawls in turns, so that all crawls of a block end together.

Labels that take turns get the same time. A label that needs eight times the processor
time for a page fetches an eighth of the pages meanwhile, so it gets a smaller site: with
equal sites its crawl would go on, uncounted, for seven times as long as was measured.
Every label has a server of its own, so each crawl is still whole, and is checked page
by page. What a page costs in a steady state does not depend on how many there are.

The weights are rough and need not be more. If one is wrong, a crawl ends early, and the
turns of its block with it; no number changes.
"""

from __future__ import annotations

from dataclasses import replace

from bench.plan.labels import Label
from bench.plan.tls import Mode
from bench.plan.workloads import Point

LISTED = {
    **{"callbacks": 1.0, "callbacks_epoll": 1.0, "callbacks_poll": 0.9, "callbacks_select": 0.95},
    **{"bare": 2.4, "shared": 1.3},  # several times through the job
    **{"generators": 1.2, "native_coroutines": 1.25, "uvloop": 1.35, "uvloop_protocol": 0.9},
    **{"async_await": 1.6, "asyncio_protocol": 1.5, "asyncio_buffered": 1.4},
    **{"threads": 1.7, "threads_pool": 1.4, "threads_small_stack": 1.7, "gevent": 2.1},
    **{"threads_timeouts": 1.8, "threads_long_switch": 1.7, "async_await_timeouts": 2.0},
    **{"gevent_timeouts": 2.3, "gevent_patched": 2.2, "trio_timeouts": 2.6, "trio_sockets": 2.3},
    **{"callbacks_asyncio": 1.2, "generators_asyncio": 1.5},
    **{"trio": 2.5, "curio": 2.0, "aiohttp": 7.8, "aiohttp_uvloop": 7.0},
    **{"processes": 1.5, "urllib3": 8.5, "urllib3_tuned": 8.5},
    **{
        "requests": 34.0,
        "requests_tuned": 19.0,
        "httpx": 74.0,
        "httpx_tuned": 21.0,
        "httpx2": 33.0,
    },
    **{"asyncio_pure": 1.8, "asyncio_sockets": 2.2, "uvloop_sockets": 2.0, "tornado": 2.2},
    **{"twisted": 1.4, "anyio": 4.2, "anyio_trio": 2.8, "master_worker": 2.4, "redis_queue": 5.7},
}
"""Processor time of a page of a list, in multiples of that of ``callbacks``."""

OTHER = 3.0
"""For every backend that is not in :data:`LISTED`."""

LINKS = {"shared": 2.4, "bare": 2.6}
"""The controls on a tree, in multiples of ``callbacks`` there."""

DILUTED = 0.6
"""How much of a difference between backends is left where links are extracted as well."""

PAGES_PER_SLOT = 6
"""The fewest pages for a slot: turns count only while each has work before and after."""


IN_MODES: dict[Mode, tuple[float, float]] = {
    "tls": (0.5, 0.8),
    "churn": (3.0, 2.0),
    "handshake": (60.0, 30.0),
    "tickets": (60.0, 30.0),
}
"""What a mode adds to a page: a fixed part, and a part that grows with the page's weight."""

HELD_OVER_TLS = 0.12
"""How much of a difference between backends is left where each connection needs a handshake."""


def weight(point: Point, name: str, mode: Mode = "") -> float:
    """Processor time of a page of this point with this backend, in multiples of ``callbacks``."""
    listed = LISTED.get(name, OTHER)
    if point.tls is not None:
        return 1 + HELD_OVER_TLS * (listed - 1)
    if point.urls is not None:
        fixed, growing = IN_MODES.get(mode, (0.0, 0.0))
        return listed + fixed + growing * listed
    return LINKS.get(name) or 1 + DILUTED * (listed - 1)


def pages_of(point: Point) -> int:
    """The pages of a point's site; 1 where they cannot be chosen."""
    kind, _, numbers = point.site.partition(":")
    return int(numbers.partition(":")[0]) if kind in ("tree", "list") else 1


def sized(point: Point, label: Label) -> Point:
    """The point as one label measures it: in turns and duets, on a site that fits its speed."""
    if not (point.interleaved or point.duet) or point.site.startswith("dir:"):
        return point
    kind, _, rest = point.site.split(":", 2)
    share = weight(point, label.name, label.mode)
    pages = max(round(pages_of(point) / share), PAGES_PER_SLOT * point.slots)
    return replace(point, site=f"{kind}:{pages}:{rest}", urls=None if point.urls is None else pages)
