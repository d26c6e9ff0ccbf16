"""The part of the catalogue with whole HTTP stacks: at the top of the ladder, and shown apart."""

from __future__ import annotations

import sys

from crawlers.rungs import VARIANTS, variant

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

HIDES_RESETS = {
    "test_failures_are_retried_and_counted[tls]": (
        "before Python 3.12.3 a socket over TLS ends where it was reset, unless it is told not to "
        "suppress ends without close_notify, as urllib3 does not tell it"
    ),
} if sys.version_info < (3, 12, 3) else {}  # fmt: skip

HTTPX_DIFFERS = {
    "test_an_answer_behind_an_answer_is_none": (
        "httpx takes what a server sends behind an answer for the answer to the next request, if "
        "both came at once"
    ),
}

STACKS = (
    variant(
        "urllib3",
        "stack",
        90,
        "urllib3's connection pool, one thread per slot",
        "against threads: urllib3's parser, pool and everything else above the socket",
        extra=VARIANTS,
        differs=HIDES_RESETS,
        several_threads=True,
    ),
    variant(
        "requests",
        "stack",
        92,
        "requests, one session and one thread per slot",
        "against urllib3: requests on top of it, and a session per thread",
        extra=VARIANTS,
        differs=HIDES_RESETS,
        several_threads=True,
    ),
    variant(
        "aiohttp",
        "stack",
        93,
        "aiohttp's client and connection pool, on asyncio",
        "against asyncio_protocol: aiohttp's parser, pool and everything else above the transport",
        extra=VARIANTS,
        differs=DIFFERS,
    ),
    variant(
        "aiohttp_timeouts",
        "stack",
        94,
        "aiohttp with a total ClientTimeout for its session",
        "against aiohttp: a timeout for each request, beside the sweep over all slots",
        extra=VARIANTS,
        differs=DIFFERS,
    ),
    variant(
        "aiohttp_uvloop",
        "stack",
        95,
        "aiohttp's client and connection pool, on uvloop",
        "against aiohttp: the loop, now libuv in C",
        extra=VARIANTS,
        differs=DIFFERS,
    ),
    variant(
        "aiohttp_aiofastnet",
        "stack",
        96,
        "aiohttp's client and connection pool, on aiofastnet's transports",
        "against aiohttp: the transports, now in Cython",
        extra=VARIANTS,
        differs=DIFFERS,
    ),
    variant(
        "httpx",
        "stack",
        97,
        "httpx, one client for all slots, on asyncio",
        "against aiohttp: the stack, httpx with h11 and anyio, in Python",
        extra=VARIANTS,
        most=HTTPX_MOST,
        differs=HTTPX_DIFFERS,
    ),
    variant(
        "httpx2",
        "stack",
        99,
        "httpx2, one client for all slots, on asyncio",
        "against httpx: its successor, with a new pool",
        extra=VARIANTS,
        most=HTTPX_MOST,
        differs=HTTPX_DIFFERS,
    ),
)
"""Each with its own parser, pool and everything else above the socket."""
