"""Names to backends, and what each one is.

Backends are imported when they are loaded, so that one with a missing
library costs the others nothing. A backend from elsewhere joins through the
entry-point group ``crawlers.backends``: its entry point names a
:class:`Backend`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points

from crawlers.job import CrawlReport, Job
from crawlers.recorder import Recorder

GROUP = "crawlers.backends"
"""Entry-point group for backends from other distributions."""

CrawlFunction = Callable[[Job, Recorder], CrawlReport]


class BackendError(Exception):
    """No such backend, or it cannot run here; the message says what to do."""


@dataclass(frozen=True, slots=True)
class Backend:
    """One interchangeable crawler.

    ``family`` is the concurrency model it belongs to (``stack`` for a whole
    HTTP stack), ``rung`` its place on the ladder, and ``changes`` says which
    one thing it changes, and against which backend ("against callbacks: the
    system call"). ``extra`` is the extra that installs what it needs, "" for
    nothing. ``most`` is how many connections it can hold at once, None for as
    many as it is given slots.

    ``differs`` names the conformance tests that it is known to fail, each
    with the reason; the suite expects exactly these to fail. ``alone`` says
    that loading it changes the process (gevent patches the standard
    library), so that no other backend should run there.
    """

    name: str
    family: str
    rung: int
    summary: str
    changes: str
    crawl: CrawlFunction
    extra: str = ""
    differs: Mapping[str, str] = field(default_factory=dict, hash=False)
    alone: bool = False
    most: int | None = None

    @property
    def against(self) -> str | None:
        """The backend that this one changes one thing of; None at the foot of the ladder."""
        before, colon, _ = self.changes.partition(": ")
        return before.removeprefix("against ") if colon and before[:8] == "against " else None


@dataclass(frozen=True, slots=True)
class _Entry:
    """A backend of ours that is imported only when it is loaded."""

    family: str
    rung: int
    summary: str
    changes: str
    module: str
    extra: str = ""
    differs: Mapping[str, str] = field(default_factory=dict)
    alone: bool = False
    most: int | None = None


MODELS = ("threads", "callbacks", "generators", "async_await")
"""The four that differ only in the concurrency model."""


def _variant(
    module: str,
    family: str,
    rung: int,
    summary: str,
    changes: str,
    extra: str = "variants",
    differs: Mapping[str, str] | None = None,
    alone: bool = False,
    most: int | None = None,
) -> _Entry:
    module = f"crawlers.variants.{module}"
    return _Entry(family, rung, summary, changes, module, extra, differs or {}, alone, most)


_RETRIED = {
    "test_failures_are_retried_and_counted": (
        "aiohttp asks again once by itself when a connection breaks, and cannot be told not to"
    ),
}

_OURS = {
    "threads": _Entry(
        "threads",
        10,
        "blocking sockets, one thread per slot",
        "where the story starts: the kernel switches between stacks",
        "crawlers.threads",
    ),
    "callbacks": _Entry(
        "callbacks",
        20,
        "selectors loop, one fetcher object per slot",
        "against threads: non-blocking sockets and a loop; an object holds the state, not a stack",
        "crawlers.callbacks",
    ),
    "generators": _Entry(
        "generators",
        30,
        "hand-built Future and Task, yield from",
        "against callbacks: suspended generators hold the state, not objects; the same loop",
        "crawlers.generators",
    ),
    "async_await": _Entry(
        "async",
        50,
        "asyncio, async and await",
        "against native_coroutines: loop, tasks and streams are asyncio's, its tasks in C",
        "crawlers.async_await",
    ),
    "gevent": _variant(
        "gevent",
        "threads",
        15,
        "threads on greenlets: the standard library patched by gevent",
        "against threads: who switches, gevent's hub in one thread instead of the kernel",
        alone=True,
    ),
    "native_coroutines": _variant(
        "native_coroutines",
        "generators",
        40,
        "the hand-built loop and Task, async and await",
        "against generators: the syntax, await for yield from",
        extra="",
    ),
    "asyncio_pure": _variant(
        "asyncio_pure",
        "async",
        45,
        "async_await with asyncio's Task and Future in Python",
        "against async_await: the C accelerator is left out",
        extra="",
    ),
    "asyncio_eager": _variant(
        "asyncio_eager",
        "async",
        51,
        "async_await with eager tasks (Python 3.12 and later)",
        "against async_await: the task factory; a control, as slots are tasks that live long",
        extra="",
    ),
    "asyncio_sockets": _variant(
        "asyncio_sockets",
        "async",
        48,
        "asyncio's loop.sock_* calls",
        "against async_await: the interface to the socket, loop.sock_* instead of streams",
        extra="",
    ),
    "asyncio_protocol": _variant(
        "asyncio_protocol",
        "async",
        56,
        "asyncio's Protocol, one Future for each exchange",
        "against async_await: no reader; the transport feeds the exchange in a callback",
        extra="",
    ),
    "uvloop_sockets": _variant(
        "uvloop_sockets",
        "async",
        62,
        "asyncio's loop.sock_* calls, on uvloop",
        "against asyncio_sockets: the loop, now libuv in C",
    ),
    "uvloop_protocol": _variant(
        "uvloop_protocol",
        "async",
        64,
        "asyncio's Protocol, on uvloop",
        "against asyncio_protocol: loop and transport, now libuv in C",
    ),
    "threads_small_stack": _variant(
        "threads_small_stack",
        "threads",
        11,
        "threads with stacks of 64 KiB",
        "against threads: the address space set aside for each stack",
        extra="",
    ),
    "threads_pool": _variant(
        "threads_pool",
        "threads",
        12,
        "never more than 32 threads, however many slots",
        "against threads: a fixed pool, smaller than the number of slots",
        extra="",
        most=32,
    ),
    "callbacks_select": _variant(
        "callbacks_select",
        "callbacks",
        22,
        "callbacks waiting in select",
        "against callbacks: the system call, select, which is limited to 1024 descriptors",
        extra="",
        most=960,
    ),
    "callbacks_poll": _variant(
        "callbacks_poll",
        "callbacks",
        23,
        "callbacks waiting in poll",
        "against callbacks: the system call, poll",
        extra="",
    ),
    "callbacks_epoll": _variant(
        "callbacks_epoll",
        "callbacks",
        24,
        "callbacks waiting in epoll",
        "against callbacks: the system call is named; on Linux nothing changes, a control",
        extra="",
    ),
    "tornado": _variant(
        "tornado",
        "async",
        76,
        "Tornado's IOStream, on asyncio's loop",
        "against async_await: the interface to the socket, IOStream instead of streams",
    ),
    "urllib3": _variant(
        "urllib3",
        "stack",
        90,
        "urllib3's connection pool, one thread per slot",
        "against threads: parser, pool and all else above the socket is urllib3's",
    ),
    "requests": _variant(
        "requests",
        "stack",
        92,
        "requests, one session and one thread per slot",
        "against urllib3: requests on top of it, and a session for each thread",
    ),
    "httpx": _variant(
        "httpx",
        "stack",
        96,
        "httpx's client, one for each slot, on asyncio",
        "against aiohttp: the stack, httpx with h11 and anyio, in Python",
    ),
    "curio": _variant(
        "curio",
        "async",
        72,
        "curio's kernel and sockets (up to Python 3.11)",
        "against trio: the library, now curio",
    ),
    "anyio": _variant(
        "anyio",
        "async",
        73,
        "anyio's streams and scopes, on asyncio",
        "against async_await: anyio on top",
    ),
    "anyio_trio": _variant(
        "anyio_trio",
        "async",
        74,
        "anyio's streams and scopes, on trio",
        "against trio: anyio on top",
    ),
    "twisted": _variant(
        "twisted",
        "async",
        78,
        "Twisted's epoll reactor, Protocols and Deferreds",
        "against asyncio_protocol: the library, now Twisted, in Python",
    ),
    "master_worker": _variant(
        "master_worker",
        "async",
        80,
        "a main thread that feeds an asyncio loop in a second thread",
        "against async_await: the frontier is in another thread, behind run_coroutine_threadsafe",
        extra="",
    ),
    "processes": _variant(
        "processes",
        "callbacks",
        26,
        "callbacks in one process for each processor, one frontier",
        "against callbacks: sockets, parsing and links are spread over processes",
        extra="",
    ),
    "subinterpreters": _variant(
        "subinterpreters",
        "callbacks",
        27,
        "callbacks in one interpreter for each processor (Python 3.14 and later)",
        "against processes: threads with an interpreter and a lock each; the parser is in Python",
        extra="",
    ),
    "redis_queue": _variant(
        "redis_queue",
        "async",
        81,
        "coroutines that take their work from a Redis list",
        "against async_await: every fetch passes through a list in a Redis server",
    ),
    "uvloop": _variant(
        "uvloop",
        "async",
        60,
        "async_await on uvloop",
        "against async_await: loop and transport, now libuv in C; the source stays",
    ),
    "trio": _variant(
        "trio",
        "async",
        70,
        "trio's sockets, nurseries and cancel scopes",
        "against asyncio_sockets: the library below await, now trio, in pure Python",
    ),
    "aiohttp": _variant(
        "aiohttp",
        "stack",
        94,
        "aiohttp's client and connection pool, on asyncio",
        "against asyncio_protocol: parser, pool and all else above the transport is aiohttp's",
        differs=_RETRIED,
    ),
    "aiohttp_uvloop": _variant(
        "aiohttp_uvloop",
        "stack",
        95,
        "aiohttp's client and connection pool, on uvloop",
        "against aiohttp: the loop, now libuv in C",
        differs=_RETRIED,
    ),
}


def names() -> list[str]:
    """All known backends, models first, each family in the order of the ladder."""
    ours = sorted(_OURS, key=lambda name: _OURS[name].rung)
    return [*MODELS, *(name for name in ours if name not in MODELS), *sorted(_foreign())]


def load(name: str) -> Backend:
    """Import a backend; raises :class:`BackendError`, with what to do about it."""
    entry = _OURS.get(name)
    if entry is None:
        return _load_foreign(name)
    try:
        crawl = import_module(entry.module).crawl
    except ImportError as error:
        raise BackendError(
            f"backend {name} needs a library that is not installed ({error}): "
            "install the extra with pip install 'c10k-crawlers[variants]'"
        ) from error
    return Backend(
        name,
        entry.family,
        entry.rung,
        entry.summary,
        entry.changes,
        crawl,
        entry.extra,
        entry.differs,
        entry.alone,
        entry.most,
    )


def describe(name: str) -> str:
    """One line about a backend, without importing it where that can be avoided."""
    return _OURS[name].summary if name in _OURS else _load_foreign(name).summary


def alone(name: str) -> bool:
    """Whether a backend needs a process to itself; ours are not imported to know."""
    if name in _OURS:
        return _OURS[name].alone
    try:
        return _load_foreign(name).alone
    except BackendError:
        return False


@cache
def _foreign() -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=GROUP)}


def _load_foreign(name: str) -> Backend:
    point = _foreign().get(name)
    if point is None:
        raise BackendError(f"no backend named {name!r}: choose one of {', '.join(names())}")
    try:
        backend = point.load()
    except ImportError as error:
        raise BackendError(
            f"backend {name} of {point.value} cannot be imported: {error}"
        ) from error
    if not isinstance(backend, Backend):
        raise BackendError(f"entry point {point.value} of backend {name} is not a Backend")
    return backend
