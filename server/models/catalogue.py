"""Every server by its name: the models, what changes one thing against them, and whole stacks.

This is a table, not code: nothing is imported until a server is loaded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from server.models.service import Service

MODELS: Final = ("threads", "callbacks", "generators", "async_await")
"""The four that differ only in the concurrency model."""


@dataclass(frozen=True, slots=True)
class Server:
    """One server. ``changes`` says against which other one, and what.

    ``source`` is its module and ``serves`` its function, if they have other names, ``needs`` the
    libraries that it runs on and ``extra`` what installs it. ``tls`` is False if it speaks none,
    ``conforms`` if it promises nothing. ``loop`` means that the first has the event loop,
    ``patches`` that gevent replaces the standard library first, ``several_threads`` that it has
    more than one thread at work.
    ``limits`` are those that a stack has; all others have all.
    """

    name: str
    family: str
    summary: str
    changes: str
    source: str = ""
    needs: str = ""
    extra: str = ""
    tls: bool = True
    conforms: bool = True
    loop: bool = False
    patches: bool = False
    several_threads: bool = False
    limits: tuple[str, ...] = ()
    serves: str = ""

    def load(self) -> Callable[[Service], None]:
        """Import it. Raises :class:`OSError` with a message for people if a library is missing."""
        try:
            libraries = [import_module(library) for library in self.needs.split()]
            module = import_module(f"server.models.{self.source or self.name}")
        except ModuleNotFoundError as error:
            raise OSError(
                f"{error.name} is not installed: in the folder of a clone, "
                f"python -m pip install '.[{self.extra}]'"
            ) from None
        serve: Callable[..., None] = getattr(module, "serve", None) or getattr(
            module, self.serves or self.name
        )
        return partial(serve, loop=libraries[0].new_event_loop) if self.loop else serve


def _stack(
    name: str, needs: str, summary: str, limits: str, tls: bool = True, against: str = ""
) -> Server:
    changes = f"against {against}" if against else "a stack: its own parser, limits and shutdown"
    obeyed = (*limits.split(), "max_body")
    return Server(name, "stack", summary, changes, "stacks", needs, "servers", tls, limits=obeyed)


_ALL: Final = (
    Server(
        "threads",
        "threads",
        "blocking sockets, one thread per connection",
        "the foot of the ladder: the kernel switches between stacks",
        several_threads=True,
    ),
    Server(
        "threads_one_processor",
        "threads",
        "threads with not a line changed, on one processor",
        "against threads: measured on one processor, where handing the lock over is no signal",
        source="threads",
    ),
    Server(
        "threads_pool",
        "threads",
        "at most 32 threads, however many connections there are",
        "against threads: a fixed pool; a connection waits until a thread is free",
        source="variants.threads_pool",
        several_threads=True,
    ),
    Server(
        "gevent",
        "threads",
        "threads with not a line changed, as greenlets on gevent's sockets",
        "against threads: gevent's hub switches in one thread, not the kernel",
        source="threads",
        needs="gevent",
        extra="variants",
        patches=True,
    ),
    Server(
        "callbacks",
        "callbacks",
        "an event loop on selectors, one object per connection",
        "against threads: non-blocking sockets and a loop; an object holds the state, not a stack",
    ),
    Server(
        "generators",
        "generators",
        "the same loop, one generator per connection",
        "against callbacks: Future, Task and yield from; a suspended frame holds the state",
    ),
    Server(
        "async_await",
        "async",
        "asyncio's streams, one task per connection",
        "against generators: await, and asyncio's loop, tasks and streams",
    ),
    Server(
        "async_await_to_thread",
        "async",
        "async_await, which hands work over to threads",
        "against async_await: work in another thread, which shares the interpreter's lock",
        source="variants.elsewhere",
        serves="to_thread",
        several_threads=True,
    ),
    Server(
        "async_await_pool",
        "async",
        "async_await, which hands work over to processes",
        "against async_await: work in a process of a pool, which has a lock of its own",
        source="variants.elsewhere",
        serves="pool",
        several_threads=True,
    ),
    Server(
        "asyncio_protocol",
        "async",
        "asyncio's transports, and callbacks of a Protocol",
        "against async_await: no reader, no task; the transport calls the conversation",
        source="variants.asyncio_protocol",
    ),
    Server(
        "uvloop",
        "async",
        "async_await with not a line changed, on a loop written in C",
        "against async_await: the loop, libuv driven by Cython, and its transports",
        source="async_await",
        needs="uvloop",
        extra="variants",
        loop=True,
    ),
    Server(
        "uvloop_protocol",
        "async",
        "asyncio_protocol with not a line changed, on uvloop",
        "against asyncio_protocol: the loop",
        source="variants.asyncio_protocol",
        needs="uvloop",
        extra="variants",
        loop=True,
    ),
    Server(
        "trio",
        "async",
        "trio's streams, one task per connection in a nursery",
        "against async_await: the library below await, and its streams",
        source="variants.trio",
        needs="trio",
        extra="variants",
    ),
    _stack(
        "aiohttp_web",
        "aiohttp",
        "aiohttp.web: a framework with its own server, on asyncio",
        "idle_s grace_s",
    ),
    _stack("uvicorn", "uvicorn httptools", "uvicorn with httptools, on asyncio", "idle_s grace_s"),
    _stack(
        "uvicorn_uvloop",
        "uvicorn httptools uvloop",
        "uvicorn with httptools, on uvloop",
        "idle_s grace_s",
        against="uvicorn: the loop",
    ),
    _stack(
        "hypercorn",
        "hypercorn h11",
        "hypercorn with h11, on asyncio",
        "max_head max_requests idle_s grace_s",
    ),
    _stack(
        "granian",
        "granian",
        "granian: HTTP in Rust, the application on asyncio",
        "max_connections idle_s",
        tls=False,
    ),
    _stack(
        "gunicorn_gevent",
        "gunicorn gevent",
        "gunicorn with one worker of gevent, no watchdog",
        "max_connections idle_s grace_s",
        tls=False,
    ),
    _stack(
        "waitress",
        "waitress",
        "waitress: a thread for the sockets, four for the application",
        "max_head max_connections idle_s",
        tls=False,
    ),
    Server(
        "bare",
        "control",
        "a loop with accept, recv, send and nothing else: the floor",
        "against callbacks: no parser, no limits, no deadlines, no tally",
        source="variants.bare",
        tls=False,
        conforms=False,
    ),
)

SERVERS: Final = {server.name: server for server in _ALL}
"""From the foot of the ladder to its top."""


def patch(names: Sequence[str]) -> None:
    """Let gevent replace the standard library, if the server needs it, before anything uses it."""
    if any(SERVERS[name].patches for name in names if name in SERVERS):
        with suppress(ModuleNotFoundError):  # :meth:`Server.load` says so
            from gevent import monkey

            monkey.patch_all()
