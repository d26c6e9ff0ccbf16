"""Our backends, from the foot of the ladder to its top.

This is a table, not code: nothing is imported until a backend is loaded.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from crawlers.backend import Backend, Tag

MODELS = ("threads", "callbacks", "generators", "async_await")
"""The four that differ only in the concurrency model."""

_TRUNCATED = frozenset({"truncated"})
"""What a library hides whose streams end alike with close_notify and without it.

asyncio's streams do. aiohttp takes any end for the end of a body without a length, urllib3 leaves
``suppress_ragged_eofs`` of the socket on, and httpcore opens TLS as one that is not
``standard_compatible``.
"""

_HTTPX_MOST = 1000
"""Connections of one client: its pool is searched for each, so ten times as many take 100 times."""

_UNASKED = "at times aiohttp takes bytes that came on an idle connection for the next answer"

_DIFFERS = {
    "test_bytes_that_no_request_asked_for_are_no_answer": _UNASKED,
    **{
        f"test_while_a_slot_{waits}[{wire}-goes_on]": _UNASKED
        for wire in ("plain", "tls")
        for waits in ("waits_for_the_schedule", "keeps_a_delay", "waits_for_something_to_fetch")
    },
}

_HIDES_RESETS: dict[str, str] = {}
if sys.version_info < (3, 12, 3):
    _HIDES_RESETS["test_failures_are_retried_and_counted[tls]"] = (
        "before Python 3.12.3 a socket over TLS ends where it was reset, unless it is told not to "
        "suppress ends without close_notify, as urllib3 does not tell it"
    )

_HTTPX_DIFFERS = {
    "test_an_answer_behind_an_answer_is_none": (
        "httpx takes what a server sends behind an answer for the answer to the next request, if "
        "both came at once"
    ),
}

_library = partial(Backend, extra="variants")
"""A row that needs a library."""
_stack = partial(_library, cannot_see=_TRUNCATED)
_on_loop = partial(_library, module="variants.loops")
_setting = partial(Backend, module="variants.settings")
"""Another backend with one setting changed."""

_THREADS = (
    Backend(
        "threads",
        "blocking sockets, one thread per slot",
        "the foot of the ladder: the kernel switches between stacks",
        several_threads=True,
    ),
    _setting(
        "threads_one_processor",
        "threads, all on the same processor",
        "against threads: tuned; os.sched_setaffinity keeps all threads on one processor",
    ),
    _setting(
        "threads_small_stack",
        "threads with stacks of 256 KiB",
        "against threads: the address space reserved for each stack",
        several_threads=True,
    ),
    _setting(
        "threads_pool",
        "at most 32 threads, however many slots there are",
        "against threads: a fixed pool, smaller than the number of slots",
        most=32,
        several_threads=True,
    ),
    _setting(
        "threads_long_switch",
        "threads with a switch interval of one second",
        "against threads: tuned; sys.setswitchinterval(1) instead of 5 ms",
        several_threads=True,
    ),
    _setting(
        "threads_timeouts",
        "threads with a timeout for each wait on a socket",
        "against threads: settimeout on each connection, beside the sweep over all slots",
        several_threads=True,
    ),
    _library(
        "gevent",
        "gevent's greenlets and sockets",
        "against threads_one_processor: gevent's hub switches, not the kernel; one thread, no lock",
        tags=("main", "people"),
    ),
    _library(
        "gevent_timeouts",
        "gevent with a gevent.Timeout for each exchange",
        "against gevent: a timeout for each exchange, beside the sweep over all slots",
        module="variants.gevent",
    ),
    _library(
        "gevent_patched",
        "the source of threads as greenlets: the standard library patched by gevent",
        "against gevent: it runs the lock and the condition of threads",
        alone=True,
    ),
    _setting(
        "threads_short_switch",
        "threads with a switch interval of half a millisecond",
        "against threads: tuned for pages that need work; sys.setswitchinterval(0.0005)",
        several_threads=True,
        tags=("handed_over",),
    ),
)

_CALLBACKS = (
    Backend(
        "callbacks",
        "an event loop on selectors, one fetcher object per slot",
        "against threads: non-blocking sockets and a loop; an object holds the state, not a stack",
    ),
    _setting(
        "callbacks_select",
        "callbacks on select",
        "against callbacks: the system call, select, which is limited to 1024 descriptors",
        most=960,
    ),
    _setting(
        "callbacks_poll",
        "callbacks on poll",
        "against callbacks: the system call, poll",
    ),
    Backend(
        "callbacks_asyncio",
        "callbacks on asyncio's loop: add_reader and add_writer",
        "against callbacks: the loop, now asyncio's",
        module="variants.asyncio_loop",
        tags=("asyncio_tls",),
    ),
    Backend(
        "processes",
        "callbacks in one process per processor, one frontier",
        "against callbacks: sockets, parsing and links are spread over processes",
        tags=("spreads", "asyncio_tls"),
    ),
    Backend(
        "subinterpreters",
        "callbacks in one interpreter per processor (Python 3.14 and later)",
        "against processes: threads with an interpreter and a lock each; the parser is in Python",
        tags=("spreads",),
    ),
)

_GENERATORS = (
    Backend(
        "generators",
        "a hand-built Future and Task, yield from",
        "against callbacks: suspended generators hold the state, not objects; the same loop",
    ),
    Backend(
        "generators_asyncio",
        "generators and their hand-built Task on asyncio's loop",
        "against generators: the loop, now asyncio's",
        module="variants.asyncio_loop",
        tags=("asyncio_tls",),
    ),
    Backend(
        "native_coroutines",
        "the same hand-built loop and Task, async and await",
        "against generators: the syntax, await instead of yield from",
    ),
)

_ASYNC = (
    Backend(
        "asyncio_pure",
        "async_await with asyncio's Task and Future in Python",
        "against async_await: without the C accelerator",
        cannot_see=_TRUNCATED,
        module="variants.loops",
    ),
    Backend(
        "asyncio_sockets",
        "asyncio's loop.sock_* calls",
        "against async_await: the interface to the socket, loop.sock_* instead of streams",
        no_https="asyncio has no TLS for its sock_* calls; use async_await or asyncio_protocol",
        tags=("own_tls",),
    ),
    _setting(
        "async_await_mapped",
        "async_await where malloc maps every receive, as in a small program",
        "against async_await: the state of malloc, that of a process that has freed nothing large",
        cannot_see=_TRUNCATED,
        tags=("mapped",),
    ),
    Backend(
        "async_await",
        "asyncio, async and await",
        "against native_coroutines: asyncio's loop, tasks and streams; its tasks are in C",
        cannot_see=_TRUNCATED,
        tags=("asyncio_tls",),
    ),
    Backend(
        "async_await_timeouts",
        "async_await with asyncio.timeout around each exchange",
        "against async_await: a timeout for each exchange, beside the sweep over all slots",
        cannot_see=_TRUNCATED,
    ),
    _setting(
        "asyncio_small_tls",
        "async_await with buffers of 16 KiB below TLS, instead of 256",
        "against async_await: the buffer of each connection over TLS; an experiment, not advice",
        cannot_see=_TRUNCATED,
        tags=("own_tls",),
    ),
    Backend(
        "async_await_to_thread",
        "async_await with asyncio.to_thread for pages that need work",
        "against async_await: such work is in another thread, under the same lock",
        several_threads=True,
        cannot_see=_TRUNCATED,
        tags=("handed_over",),
    ),
    Backend(
        "async_await_pool",
        "async_await with a pool of processes for pages that need work",
        "against async_await: such work is in other processes, without the lock",
        cannot_see=_TRUNCATED,
        tags=("handed_over",),
    ),
    Backend(
        "asyncio_protocol",
        "asyncio's Protocol, one Future per exchange",
        "against async_await: no reader; the transport feeds the exchange in a callback",
    ),
    Backend(
        "loop_per_thread",
        "async_await in one thread per processor, a loop in each, one frontier",
        "against async_await: several loops, each in a thread; a lock around the frontier",
        several_threads=True,
        cannot_see=_TRUNCATED,
        tags=("spreads",),
    ),
    _setting(
        "asyncio_protocol_mapped",
        "asyncio_protocol where malloc maps every receive, as in a small program",
        "against asyncio_protocol: the state of malloc, as in async_await_mapped",
        tags=("mapped",),
    ),
    _on_loop(
        "uvloop",
        "async_await on uvloop",
        "against async_await: the loop and its transports, now libuv in C; the same source",
        cannot_see=_TRUNCATED,
        tags=("main", "people", "own_tls"),
    ),
    _on_loop(
        "uvloop_timeouts",
        "async_await on uvloop with asyncio.timeout around each exchange",
        "against uvloop: a timeout for each exchange, beside the sweep over all slots",
        cannot_see=_TRUNCATED,
    ),
    _on_loop(
        "uvloop_sockets",
        "asyncio's loop.sock_* calls, on uvloop",
        "against asyncio_sockets: the loop, now libuv in C",
        no_https="asyncio has no TLS for its sock_* calls; use async_await or asyncio_protocol",
    ),
    _on_loop(
        "uvloop_protocol",
        "asyncio's Protocol, on uvloop",
        "against asyncio_protocol: the loop and its transports, now libuv in C",
        tags=("own_tls",),
    ),
    _on_loop(
        "aiofastnet",
        "async_await on aiofastnet's transports",
        "against async_await: the transports and TLS, now in Cython; the loop and the source stay",
        cannot_see=_TRUNCATED,
    ),
    _on_loop(
        "aiofastnet_protocol",
        "asyncio's Protocol, on aiofastnet's transports",
        "against asyncio_protocol: the transports and TLS, now in Cython",
        cannot_see=_TRUNCATED,
    ),
    _library(
        "trio",
        "trio's streams, nurseries and cancel scopes",
        "against async_await: the library below await, now trio, in pure Python",
        tags=("main", "people", "own_tls"),
    ),
    _library(
        "trio_timeouts",
        "trio with move_on_after around each exchange",
        "against trio: a timeout for each exchange, beside the sweep over all slots",
        module="variants.trio",
    ),
    _library(
        "trio_sockets",
        "trio's low-level sockets",
        "against trio: tuned; sockets instead of streams",
        no_https="trio has TLS for its streams only; use the backend trio",
    ),
    _library(
        "anyio",
        "anyio's streams and scopes, on asyncio",
        "against async_await: anyio on top, and a scope for each slot",
    ),
    _library(
        "anyio_trio",
        "anyio's streams and scopes, on trio",
        "against trio: anyio on trio.socket, and not on trio's streams",
        module="variants.anyio",
    ),
    _library(
        "tornado",
        "Tornado's IOStream, on asyncio's loop",
        "against async_await: the interface to the socket, IOStream instead of streams",
    ),
    _library(
        "twisted",
        "Twisted's epoll reactor, Protocols and Deferreds",
        "against asyncio_protocol: the library, now Twisted, in Python",
        no_https="Twisted verifies certificates by rules of its own and accepts weaker ciphers; "
        "use asyncio_protocol",
    ),
)

_STACK = (
    _stack(
        "urllib3",
        "urllib3's connection pool, one thread per slot",
        "against threads: urllib3's parser, pool and everything else above the socket",
        differs=_HIDES_RESETS,
        several_threads=True,
    ),
    _stack(
        "requests",
        "requests, one session and one thread per slot",
        "against urllib3: requests on top of it, and a session per thread",
        differs=_HIDES_RESETS,
        several_threads=True,
        tags=("people",),
    ),
    _stack(
        "aiohttp",
        "aiohttp's client and connection pool, on asyncio",
        "against asyncio_protocol: aiohttp's parser, pool and everything else above the transport",
        differs=_DIFFERS,
        tags=("main", "people"),
    ),
    _stack(
        "aiohttp_timeouts",
        "aiohttp with a total ClientTimeout for its session",
        "against aiohttp: a timeout for each request, beside the sweep over all slots",
        differs=_DIFFERS,
        module="variants.aiohttp",
    ),
    _on_loop(
        "aiohttp_uvloop",
        "aiohttp's client and connection pool, on uvloop",
        "against aiohttp: the loop, now libuv in C",
        differs=_DIFFERS,
        no_https="uvloop does not show the connections that aiohttp drops without waiting for "
        "their end",
        tags=("own_tls",),
    ),
    _on_loop(
        "aiohttp_aiofastnet",
        "aiohttp's client and connection pool, on aiofastnet's transports",
        "against aiohttp: the transports, now in Cython",
        differs=_DIFFERS,
        no_https="aiofastnet does not show the connections that aiohttp drops without closing them",
    ),
    _stack(
        "httpx",
        "httpx, one client for all slots, on asyncio",
        "against aiohttp: the stack, httpx with h11 and anyio, in Python",
        most=_HTTPX_MOST,
        differs=_HTTPX_DIFFERS,
        tags=("people",),
    ),
    _stack(
        "httpx2",
        "httpx2, one client for all slots, on asyncio",
        "against httpx: its successor, with a new pool",
        most=_HTTPX_MOST,
        differs=_HTTPX_DIFFERS,
        module="variants.httpx",
    ),
)

_FAMILIES = {
    "threads": _THREADS,
    "callbacks": _CALLBACKS,
    "generators": _GENERATORS,
    "async": _ASYNC,
    "stack": _STACK,
}


def _placed() -> Iterator[Backend]:
    """The rows with what follows from their place: family, rung and module."""
    rows = [(family, row) for family, rows in _FAMILIES.items() for row in rows]
    for place, (family, row) in enumerate(rows, 1):
        module = row.module or f"{'' if row.name in MODELS else 'variants.'}{row.name}"
        # Steps of ten leave room for backends of other distributions.
        yield replace(row, family=family, rung=10 * place, module=f"crawlers.{module}")


OURS = {backend.name: backend for backend in _placed()}


def tagged(tag: Tag) -> tuple[str, ...]:
    """Our backends with this tag, from the foot of the ladder to its top."""
    return tuple(name for name, backend in OURS.items() if tag in backend.tags)


HANDED_OVER = tagged("handed_over")
"""The variants that differ from their base only where pages need work (:mod:`crawlers.work`)."""

PEOPLE = (*MODELS, *tagged("people"))
"""What people choose between."""
