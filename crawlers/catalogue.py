"""Our backends, from the foot of the ladder to its top.

This is a table, not code: nothing is imported until a backend is loaded.
"""

from __future__ import annotations

from collections.abc import Mapping

from crawlers.backend import Backend

MODELS = ("threads", "callbacks", "generators", "async_await")
"""The four that differ only in the concurrency model."""


def _model(name: str, family: str, rung: int, summary: str, changes: str) -> Backend:
    return Backend(name, family, rung, summary, changes, module=f"crawlers.{name}")


def _variant(
    name: str,
    family: str,
    rung: int,
    summary: str,
    changes: str,
    *,
    extra: str = "",
    differs: Mapping[str, str] | None = None,
    alone: bool = False,
    most: int | None = None,
) -> Backend:
    return Backend(
        name,
        family,
        rung,
        summary,
        changes,
        extra=extra,
        differs=differs or {},
        alone=alone,
        most=most,
        module=f"crawlers.variants.{name}",
    )


VARIANTS = "variants"
"""The extra that installs the libraries of the variants."""

HTTPX_MOST = 1000
"""Connections of one client: its pool is searched for each, so ten times as many take 100 times."""

DIFFERS = {
    "test_failures_are_retried_and_counted": (
        "aiohttp itself sends a request again once when its connection breaks, and there is no "
        "setting to turn that off"
    ),
    "test_bytes_that_no_request_asked_for_are_no_answer": (
        "aiohttp takes bytes that came on an idle connection for the next answer"
    ),
}

REQUESTS_DIFFERS = {
    "test_redirects_merge_and_end": (
        "requests itself reads the target of a redirect, even if it does not follow it, and raises "
        "for one that is not a URL"
    ),
}

_LADDER = (
    _model(
        "threads",
        "threads",
        10,
        "blocking sockets, one thread per slot",
        "the foot of the ladder: the kernel switches between stacks",
    ),
    _variant(
        "threads_small_stack",
        "threads",
        11,
        "threads with stacks of 64 KiB",
        "against threads: the address space reserved for each stack",
    ),
    _variant(
        "threads_pool",
        "threads",
        12,
        "at most 32 threads, however many slots there are",
        "against threads: a fixed pool, smaller than the number of slots",
        most=32,
    ),
    _variant(
        "threads_long_switch",
        "threads",
        13,
        "threads with a switch interval of one second",
        "against threads: tuned; sys.setswitchinterval(1) instead of 5 ms",
    ),
    _variant(
        "threads_timeouts",
        "threads",
        14,
        "threads with a timeout for each wait on a socket",
        "against threads: settimeout on each connection, beside the sweep over all slots",
    ),
    _variant(
        "gevent",
        "threads",
        15,
        "gevent's greenlets and sockets",
        "against threads: gevent's hub switches, in one thread, instead of the kernel; no lock",
        extra=VARIANTS,
    ),
    _variant(
        "gevent_timeouts",
        "threads",
        16,
        "gevent with a gevent.Timeout for each exchange",
        "against gevent: a timeout for each exchange, beside the sweep over all slots",
        extra=VARIANTS,
    ),
    _variant(
        "gevent_patched",
        "threads",
        17,
        "the source of threads as greenlets: the standard library patched by gevent",
        "against gevent: it runs the lock and the condition of threads",
        extra=VARIANTS,
        alone=True,
    ),
    _model(
        "callbacks",
        "callbacks",
        20,
        "an event loop on selectors, one fetcher object per slot",
        "against threads: non-blocking sockets and a loop; an object holds the state, not a stack",
    ),
    _variant(
        "callbacks_select",
        "callbacks",
        22,
        "callbacks on select",
        "against callbacks: the system call, select, which is limited to 1024 descriptors",
        most=960,
    ),
    _variant(
        "callbacks_poll",
        "callbacks",
        23,
        "callbacks on poll",
        "against callbacks: the system call, poll",
    ),
    _variant(
        "callbacks_epoll",
        "callbacks",
        24,
        "callbacks on epoll",
        "against callbacks: nothing on Linux, where epoll is the default; a control",
    ),
    _variant(
        "processes",
        "callbacks",
        26,
        "callbacks in one process per processor, one frontier",
        "against callbacks: sockets, parsing and links are spread over processes",
    ),
    _variant(
        "subinterpreters",
        "callbacks",
        27,
        "callbacks in one interpreter per processor (Python 3.14 and later)",
        "against processes: threads with an interpreter and a lock each; the parser is in Python",
    ),
    _model(
        "generators",
        "generators",
        30,
        "a hand-built Future and Task, yield from",
        "against callbacks: suspended generators hold the state, not objects; the same loop",
    ),
    _variant(
        "native_coroutines",
        "generators",
        40,
        "the same hand-built loop and Task, async and await",
        "against generators: the syntax, await instead of yield from",
    ),
    _variant(
        "asyncio_pure",
        "async",
        45,
        "async_await with asyncio's Task and Future in Python",
        "against async_await: without the C accelerator",
    ),
    _variant(
        "asyncio_sockets",
        "async",
        48,
        "asyncio's loop.sock_* calls",
        "against async_await: the interface to the socket, loop.sock_* instead of streams",
    ),
    _model(
        "async_await",
        "async",
        50,
        "asyncio, async and await",
        "against native_coroutines: asyncio's loop, tasks and streams; its tasks are in C",
    ),
    _variant(
        "asyncio_eager",
        "async",
        51,
        "async_await with eager tasks (Python 3.12 and later)",
        "against async_await: the task factory; a control, because a slot is one long task",
    ),
    _variant(
        "async_await_timeouts",
        "async",
        52,
        "async_await with asyncio.timeout around each exchange",
        "against async_await: a timeout for each exchange, beside the sweep over all slots",
    ),
    _variant(
        "asyncio_protocol",
        "async",
        56,
        "asyncio's Protocol, one Future per exchange",
        "against async_await: no reader; the transport feeds the exchange in a callback",
    ),
    _variant(
        "asyncio_buffered",
        "async",
        57,
        "asyncio's BufferedProtocol, one receive buffer of 64 KiB",
        "against asyncio_protocol: no new memory for every receive; tuned, by public means",
    ),
    _variant(
        "uvloop",
        "async",
        60,
        "async_await on uvloop",
        "against async_await: the loop and its transports, now libuv in C; the same source",
        extra=VARIANTS,
    ),
    _variant(
        "uvloop_sockets",
        "async",
        62,
        "asyncio's loop.sock_* calls, on uvloop",
        "against asyncio_sockets: the loop, now libuv in C",
        extra=VARIANTS,
    ),
    _variant(
        "uvloop_protocol",
        "async",
        64,
        "asyncio's Protocol, on uvloop",
        "against asyncio_protocol: the loop and its transports, now libuv in C",
        extra=VARIANTS,
    ),
    _variant(
        "trio",
        "async",
        68,
        "trio's streams, nurseries and cancel scopes",
        "against async_await: the library below await, now trio, in pure Python",
        extra=VARIANTS,
    ),
    _variant(
        "trio_timeouts",
        "async",
        69,
        "trio with move_on_after around each exchange",
        "against trio: a timeout for each exchange, beside the sweep over all slots",
        extra=VARIANTS,
    ),
    _variant(
        "trio_sockets",
        "async",
        70,
        "trio's low-level sockets",
        "against trio: tuned; sockets instead of streams",
        extra=VARIANTS,
    ),
    _variant(
        "curio",
        "async",
        72,
        "curio's kernel and sockets (up to Python 3.11)",
        "against trio_sockets: the library, now curio",
        extra=VARIANTS,
    ),
    _variant(
        "anyio",
        "async",
        73,
        "anyio's streams and scopes, on asyncio",
        "against async_await: anyio on top",
        extra=VARIANTS,
    ),
    _variant(
        "anyio_trio",
        "async",
        74,
        "anyio's streams and scopes, on trio",
        "against trio: anyio on top",
        extra=VARIANTS,
    ),
    _variant(
        "tornado",
        "async",
        76,
        "Tornado's IOStream, on asyncio's loop",
        "against async_await: the interface to the socket, IOStream instead of streams",
        extra=VARIANTS,
    ),
    _variant(
        "twisted",
        "async",
        78,
        "Twisted's epoll reactor, Protocols and Deferreds",
        "against asyncio_protocol: the library, now Twisted, in Python",
        extra=VARIANTS,
    ),
    _variant(
        "master_worker",
        "async",
        80,
        "a main thread that feeds an asyncio loop in a second thread",
        "against async_await: the frontier is in another thread, behind run_coroutine_threadsafe",
    ),
    _variant(
        "redis_queue",
        "async",
        81,
        "coroutines that take their work from a Redis list",
        "against async_await: every fetch passes through a list in a Redis server",
        extra=VARIANTS,
    ),
    _variant(
        "urllib3",
        "stack",
        90,
        "urllib3's connection pool, one thread per slot",
        "against threads: urllib3's parser, pool and everything else above the socket",
        extra=VARIANTS,
    ),
    _variant(
        "urllib3_tuned",
        "stack",
        91,
        "urllib3, equalised: it does what the models do at every edge",
        "against urllib3: equalised; raw streamed bodies, and a socket that can be shut down",
        extra=VARIANTS,
    ),
    _variant(
        "requests",
        "stack",
        92,
        "requests, one session and one thread per slot",
        "against urllib3: requests on top of it, and a session per thread",
        extra=VARIANTS,
        differs=REQUESTS_DIFFERS,
    ),
    _variant(
        "requests_tuned",
        "stack",
        93,
        "requests, tuned: without environment, cookies and decoder",
        "against requests: tuned; trust_env off, few headers, no cookies, raw bodies",
        extra=VARIANTS,
    ),
    _variant(
        "aiohttp",
        "stack",
        94,
        "aiohttp's client and connection pool, on asyncio",
        "against asyncio_protocol: aiohttp's parser, pool and everything else above the transport",
        extra=VARIANTS,
        differs=DIFFERS,
    ),
    _variant(
        "aiohttp_uvloop",
        "stack",
        95,
        "aiohttp's client and connection pool, on uvloop",
        "against aiohttp: the loop, now libuv in C",
        extra=VARIANTS,
        differs=DIFFERS,
    ),
    _variant(
        "httpx",
        "stack",
        96,
        "httpx, one client for all slots, on asyncio",
        "against aiohttp: the stack, httpx with h11 and anyio, in Python",
        extra=VARIANTS,
        most=HTTPX_MOST,
    ),
    _variant(
        "httpx_tuned",
        "stack",
        97,
        "httpx, tuned: a client for each slot",
        "against httpx: tuned; no shared pool, no cookies, few headers, raw bodies",
        extra=VARIANTS,
    ),
    _variant(
        "httpx2",
        "stack",
        98,
        "httpx2, one client for all slots, on asyncio",
        "against httpx: its successor, with a new pool",
        extra=VARIANTS,
        most=HTTPX_MOST,
    ),
)

OURS = {backend.name: backend for backend in _LADDER}
