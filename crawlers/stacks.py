"""The part of the catalogue with whole HTTP stacks: at the top of the ladder, and shown apart."""

from __future__ import annotations

import sys

from crawlers.backend import Backend

TRUNCATED = frozenset({"truncated"})
"""What a library hides whose streams end alike with close_notify and without it.

asyncio's streams do. aiohttp takes any end for the end of a body without a length, urllib3 leaves
``suppress_ragged_eofs`` of the socket on, and httpcore opens TLS as one that is not
``standard_compatible``.
"""

HTTPX_MOST = 1000
"""Connections of one client: its pool is searched for each, so ten times as many take 100 times."""

UNASKED = "at times aiohttp takes bytes that came on an idle connection for the next answer"

DIFFERS = {
    "test_bytes_that_no_request_asked_for_are_no_answer": UNASKED,
    **{
        f"test_while_a_slot_{waits}[{wire}-goes_on]": UNASKED
        for wire in ("plain", "tls")
        for waits in ("waits_for_the_schedule", "keeps_a_delay", "waits_for_something_to_fetch")
    },
}

HIDES_RESETS: dict[str, str] = {}
if sys.version_info < (3, 12, 3):
    HIDES_RESETS["test_failures_are_retried_and_counted[tls]"] = (
        "before Python 3.12.3 a socket over TLS ends where it was reset, unless it is told not to "
        "suppress ends without close_notify, as urllib3 does not tell it"
    )

HTTPX_DIFFERS = {
    "test_an_answer_behind_an_answer_is_none": (
        "httpx takes what a server sends behind an answer for the answer to the next request, if "
        "both came at once"
    ),
}

STACKS = (
    Backend(
        "urllib3",
        "stack",
        90,
        "urllib3's connection pool, one thread per slot",
        "against threads: urllib3's parser, pool and everything else above the socket",
        extra="variants",
        differs=HIDES_RESETS,
        several_threads=True,
        cannot_see=TRUNCATED,
    ),
    Backend(
        "requests",
        "stack",
        92,
        "requests, one session and one thread per slot",
        "against urllib3: requests on top of it, and a session per thread",
        extra="variants",
        differs=HIDES_RESETS,
        several_threads=True,
        cannot_see=TRUNCATED,
        tags=("people",),
    ),
    Backend(
        "aiohttp",
        "stack",
        93,
        "aiohttp's client and connection pool, on asyncio",
        "against asyncio_protocol: aiohttp's parser, pool and everything else above the transport",
        extra="variants",
        differs=DIFFERS,
        cannot_see=TRUNCATED,
        tags=("main", "people"),
    ),
    Backend(
        "aiohttp_timeouts",
        "stack",
        94,
        "aiohttp with a total ClientTimeout for its session",
        "against aiohttp: a timeout for each request, beside the sweep over all slots",
        extra="variants",
        differs=DIFFERS,
        cannot_see=TRUNCATED,
        module="crawlers.variants.aiohttp",
    ),
    Backend(
        "aiohttp_uvloop",
        "stack",
        95,
        "aiohttp's client and connection pool, on uvloop",
        "against aiohttp: the loop, now libuv in C",
        extra="variants",
        differs=DIFFERS,
        no_https="uvloop does not show the connections that aiohttp drops without waiting for "
        "their end",
        module="crawlers.variants.loops",
        tags=("own_tls",),
    ),
    Backend(
        "aiohttp_aiofastnet",
        "stack",
        96,
        "aiohttp's client and connection pool, on aiofastnet's transports",
        "against aiohttp: the transports, now in Cython",
        extra="variants",
        differs=DIFFERS,
        no_https="aiofastnet does not show the connections that aiohttp drops without closing them",
        module="crawlers.variants.loops",
    ),
    Backend(
        "httpx",
        "stack",
        97,
        "httpx, one client for all slots, on asyncio",
        "against aiohttp: the stack, httpx with h11 and anyio, in Python",
        extra="variants",
        most=HTTPX_MOST,
        differs=HTTPX_DIFFERS,
        cannot_see=TRUNCATED,
        tags=("people",),
    ),
    Backend(
        "httpx2",
        "stack",
        99,
        "httpx2, one client for all slots, on asyncio",
        "against httpx: its successor, with a new pool",
        extra="variants",
        most=HTTPX_MOST,
        differs=HTTPX_DIFFERS,
        cannot_see=TRUNCATED,
        module="crawlers.variants.httpx",
    ),
)
"""Each with its own parser, pool and everything else above the socket."""
