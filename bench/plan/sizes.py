"""How many pages each label crawls in turns, so that all crawls of a block end together.

And how long a turn is.

Labels that take turns get the same time. A label that needs eight times as long for a
page fetches an eighth of the pages meanwhile, so it gets a smaller site: with equal sites
its crawl would go on, uncounted, for seven times as long as was measured. Every label has
a server of its own, so each crawl is still whole, and is checked page by page.

The pages that fill and empty the slots do not count, so every label has them on top.

The weights were measured in turns, in a reference campaign; those of backends with several threads
on both of two processors, against a server that sleeps. They need not be exact. If one
is wrong, a crawl ends early, and the turns of its block with it. The others' crawls then go on
uncounted, and that time is lost. Where the first pages of a site cost more than the others, turns
count up to the same place of every crawl (:func:`bench.run.turns.level`).
"""

from __future__ import annotations

from dataclasses import replace

from bench.plan.labels import Label
from bench.plan.participants import BASE
from bench.plan.tls import Mode
from bench.plan.workloads import PAGE_BYTES, REFERENCE_SLOTS, Point
from crawlers.catalogue import OURS

LISTED = {
    **{"callbacks": 1.0, "callbacks_epoll": 1.0, "callbacks_poll": 0.9, "callbacks_select": 0.95},
    **{"bare": 2.8, "shared": 1.6},  # several times through the job
    **{"generators": 1.16, "native_coroutines": 1.25, "uvloop": 1.3, "uvloop_protocol": 0.9},
    **{"async_await": 1.5, "asyncio_protocol": 1.5, "asyncio_buffered": 1.4},
    **{"async_await_mapped": 2.3, "asyncio_protocol_mapped": 2.2},
    **{"threads": 3.6, "threads_pool": 3.4, "threads_small_stack": 3.6, "gevent": 1.65},
    **{"threads_timeouts": 4.0, "threads_long_switch": 3.6, "async_await_timeouts": 2.0},
    **{"threads_one_processor": 1.55},
    **{"gevent_timeouts": 1.9, "gevent_patched": 1.8, "trio_timeouts": 3.2, "trio_sockets": 2.4},
    **{"uvloop_timeouts": 1.8, "aiohttp_timeouts": 9.3},
    **{"callbacks_asyncio": 1.1, "generators_asyncio": 1.3},
    **{"trio": 2.9, "curio": 2.0, "aiohttp": 8.8, "aiohttp_uvloop": 7.0},
    **{"processes": 1.5, "urllib3": 27.0, "urllib3_tuned": 27.0},
    **{"requests": 77.0, "requests_tuned": 61.0, "httpx": 100.0, "httpx_tuned": 38.0},
    **{"httpx2": 48.0, "asyncio_pure": 1.8, "asyncio_sockets": 2.2, "uvloop_sockets": 2.0},
    **{"tornado": 2.2, "twisted": 1.9, "anyio": 5.5, "anyio_trio": 3.0, "master_worker": 5.0},
    **{"asyncio_small_tls": 1.5, "asyncio_eager": 1.5, "redis_queue": 5.7},
    **{"loop_per_thread": 3.0, "partition": 1.2},
}
"""Time of a page of a list, in multiples of that of ``callbacks``."""

CRAWLED = {
    **{"callbacks_select": 1.02, "callbacks_poll": 1.02, "callbacks_epoll": 1.02},
    **{"callbacks": 1.0, "callbacks_asyncio": 1.06, "shared": 2.7, "bare": 2.6},
    **{"generators": 1.17, "generators_asyncio": 1.24, "native_coroutines": 1.2},
    **{"uvloop": 1.27, "uvloop_protocol": 1.12, "uvloop_sockets": 1.68, "asyncio_buffered": 1.26},
    **{"async_await": 1.4, "async_await_timeouts": 1.8, "asyncio_pure": 1.6},
    **{"async_await_mapped": 2.1, "asyncio_protocol_mapped": 1.98, "aiohttp_timeouts": 5.9},
    **{"asyncio_small_tls": 1.4, "asyncio_eager": 1.4, "uvloop_timeouts": 1.59},
    **{"asyncio_protocol": 1.26, "asyncio_sockets": 2.02, "processes": 1.59, "partition": 1.18},
    **{"threads": 3.3, "threads_small_stack": 3.3, "threads_pool": 3.1},
    **{"threads_timeouts": 3.5, "threads_long_switch": 3.3, "threads_one_processor": 1.43},
    **{"gevent": 1.49, "gevent_timeouts": 1.67, "gevent_patched": 1.68, "curio": 1.54},
    **{"trio": 2.32, "trio_timeouts": 2.52, "trio_sockets": 2.01, "anyio": 4.3},
    **{"anyio_trio": 2.64, "tornado": 1.93, "twisted": 1.8, "master_worker": 5.0},
    **{"aiohttp": 5.4, "aiohttp_uvloop": 4.38, "urllib3": 15.0, "urllib3_tuned": 16.0},
    **{"requests": 38.0, "requests_tuned": 34.0, "httpx": 63.8, "httpx_tuned": 22.2},
    **{"httpx2": 29.0, "loop_per_thread": 3.5},
}
"""The same for a page of a tree, whose links are extracted as well."""

OTHER = 3.0
"""For every backend that is not in :data:`LISTED`."""

DILUTED = 0.6
"""How much of a listed difference is left on a tree, for what is not in :data:`CRAWLED`."""

MANY_SLOTS = 1000
MANY = {"threads": 0.39, "trio": 1.25, "aiohttp": 1.4, "uvloop": 1.15}
"""What a page takes at so many slots, in multiples of what it takes at a hundred.

Of a thousand threads a page takes 1.6 times as long. But they fetch a thousand pages in each
turn that do not count (:mod:`bench.run.turns`), and need a larger site for it.
"""

MANY_CRAWLED = {"threads": 0.29, "trio": 1.25, "aiohttp": 1.4, "uvloop": 1.1}
"""The same on a tree."""

FEW_SLOTS = 10
FEW = {"httpx": 0.48}
"""What a page takes at so few slots: httpx looks through all its connections for each."""

ALONE = {"threads": 0.58, "generators": 0.92}
"""The same with one slot, where threads pay mostly for a server that sleeps."""

ASLEEP = {1: 1.9}
AWAKENED = 1.2
"""What a page takes from a server that sleeps: by slots, and with any other number of them."""

EDGES = 4
"""Pages for each slot that do not count: while slots fill up, and while the work runs out."""

PAGES_PER_SLOT = 6
"""The fewest pages for a slot: turns count only while each has work before and after."""


IN_MODES: dict[Mode, tuple[float, float]] = {
    "tls": (0.2, 0.1),
    "churn": (3.0, 2.0),
    "handshake": (64.0, 1.5),
    "tickets": (64.0, 1.5),
}
"""What a mode adds to a page: a fixed part, and a part that grows with the page's weight."""

OPENED_EACH: dict[str, float] = {
    **{"callbacks": 5.0, "generators": 5.6, "threads": 8.0, "gevent": 6.0, "uvloop": 6.5},
    **{"async_await": 14.0, "trio": 16.5, "aiohttp": 23.0},
    **{"urllib3": 30.0, "requests": 65.0, "httpx": 48.0, "httpx2": 46.0},
}
"""A page with a connection of its own, where the rule is wrong: what opening costs differs more."""

LEFT_IN_LARGE = 0.25
"""How much of a difference between backends is left where pages have 64 KB or more."""

HELD_OVER_TLS = 0.12
"""How much of a difference between backends is left where each connection needs a handshake."""


TURN_S, LONG_TURN_S = 0.010, 0.020
"""How long a turn is meant to be: about where shorter stops helping, and with many slots.

A backend with a thousand slots reads hundreds of answers before it takes the next step, so
that a turn of 10 ms is part of one pass over its slots.
"""

ONLY_TURN_S = 0.040
"""The only turn in a round of a backend with several threads; all others take two.

Stops decide which of its threads has the interpreter's lock, and turns of 10 ms are mostly that.
Turns of 200 ms measure what those of 40 ms do: see docs/notebook/method-studies.md.
"""

LONG_TURN_SLOTS = 1000
"""From so many slots on turns are long."""


def turn_s(point: Point, label: Label) -> float:
    """How long a turn of this label should be, where labels take turns."""
    if once(label):
        return ONLY_TURN_S
    return LONG_TURN_S if point.slots >= LONG_TURN_SLOTS else TURN_S


def once(label: Label) -> bool:
    """Whether a label takes one long turn in each round, and not two."""
    backend = OURS.get(label.name)
    return backend is not None and backend.several_threads


def round_s(point: Point, label: Label) -> float:
    """How long a label's turns in a round should be together."""
    return turn_s(point, label) * (1 if once(label) else 2)


def weight(point: Point, label: Label) -> float:
    """How long a page of this point takes with this label, in multiples of ``callbacks``."""
    listed = LISTED.get(label.name, OTHER)
    if point.slots <= FEW_SLOTS:
        listed *= FEW.get(label.name, 1.0)
    if point.tls is not None:
        return 1 + HELD_OVER_TLS * (listed - 1)
    if point.workload == "bodies":
        return 1 + LEFT_IN_LARGE * (listed - 1)
    if point.urls is None:
        found = CRAWLED.get(label.name) or 1 + DILUTED * (listed - 1)
    else:
        fixed, growing = IN_MODES.get(label.mode, (0.0, 0.0)) if label.mode else (0.0, 0.0)
        found = listed + fixed + growing * listed
        if label.mode == "churn":
            found = OPENED_EACH.get(label.name, found)
    if point.slots >= MANY_SLOTS:
        found *= (MANY if point.urls else MANY_CRAWLED).get(label.name, 1.0)
    if point.slots == 1:
        found *= ALONE.get(label.name, 1.0)
    return found * (ASLEEP.get(point.slots, AWAKENED) if label.asleep else 1.0)


def pages_of(point: Point) -> int:
    """The pages of a point's site; 1 where they cannot be chosen."""
    kind, _, numbers = point.site.partition(":")
    return int(numbers.partition(":")[0]) if kind in ("tree", "list") else 1


def sized(point: Point, label: Label) -> Point:
    """The point as one label measures it: in turns, on a site that fits its speed."""
    if not point.interleaved or point.rounds or point.site.startswith("dir:"):
        return point
    kind, _, rest = point.site.split(":", 2)
    edges = EDGES * point.slots
    longer = round_s(point, label) / round_s(point, Label(BASE))
    counted = round(longer * max(pages_of(point) - edges, 0) / weight(point, label))
    pages = max(edges + counted, PAGES_PER_SLOT * point.slots)
    site = f"{kind}:{pages}:{rest}"
    if label.flipped:
        site = flipped_site(point.flip, site)
    return replace(point, site=site, urls=None if point.urls is None else pages)


LARGE_PAGE = 65536


def flipped_site(flip: str, site: str) -> str:
    """The site of a flipped label."""
    if flip != "page":
        return site
    kind, pages, rest = site.split(":", 2)
    fewer = max(int(pages) // 4, 6 * REFERENCE_SLOTS)
    fanout = rest.removesuffix(f":{PAGE_BYTES}")
    return f"{kind}:{fewer}:{fanout}:{LARGE_PAGE}"
