"""Whole servers that people deploy, each with one worker and as its documentation says.

Set are only: the listening socket, one worker, the limits that have an option, no access log (most
have none by default) and no messages but warnings. Everything else is the library's default;
docs/reference/servers.md has the page of each documentation.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import ssl
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from functools import partial
from threading import Event, Thread
from typing import Any, Final
from wsgiref.types import WSGIApplication

from server.models.apps import asgi, for_aiohttp, wsgi
from server.models.service import BACKLOG, TICK_S, Service, Stop, Tally
from server.models.sockets import ACCEPTS
from server.signals import when_the_parent_ends


class Listening(socket.socket):
    """A socket that listens with the longest backlog, whatever it is asked for.

    asyncio takes the backlog for the number of connections that it accepts in one turn, and without
    a descriptor it tries, and complains, as often. So its stacks get :data:`ACCEPTS`.
    """

    def listen(self, backlog: int = BACKLOG, /) -> None:
        """Listen."""
        super().listen(BACKLOG)


ENDING_S: Final = 1.0
"""A stack that catches no signal has this long to end, or never catches one."""


def ask_to_stop(ended: Event) -> None:
    """Ask this process to stop, unless its stack has ended before."""
    # A stack that is ending catches no signal any more: this one would cut its last words off.
    if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        ended.wait(ENDING_S)
    if not ended.is_set():
        os.kill(os.getpid(), signal.SIGTERM)


@contextmanager
def lent(service: Service) -> Iterator[None]:
    """The process belongs to a stack for the length of a ``with``, and so do its signals."""
    ended, say, unsaid = Event(), service.ready, []

    def ready() -> None:
        try:
            say()
        except OSError as error:  # a stack may take this for something else, and serve on
            unsaid.append(error)
            signal.raise_signal(signal.SIGTERM)

    service.ready = ready
    if service.exit_with_parent:
        when_the_parent_ends(partial(ask_to_stop, ended))
    with suppress(KeyboardInterrupt, SystemExit):
        yield
    ended.set()
    if unsaid:
        raise unsaid[0]


def aiohttp_web(service: Service) -> None:
    """aiohttp.web, with its own parser in C, on asyncio."""
    from aiohttp import web

    limits = service.limits
    with lent(service):
        web.run_app(
            for_aiohttp(service),
            sock=Listening(fileno=service.listening.detach()),
            ssl_context=service.tls,
            backlog=ACCEPTS,
            keepalive_timeout=limits.idle_s,
            shutdown_timeout=limits.grace_s,
            access_log=None,
            print=None,
        )


def uvicorn(service: Service, loop: str = "asyncio") -> None:
    """uvicorn with httptools, on asyncio or uvloop."""
    import uvicorn

    limits, tls = service.limits, service.tls
    config = uvicorn.Config(
        asgi(service),
        http="httptools",
        loop=loop,
        backlog=ACCEPTS if loop == "asyncio" else BACKLOG,
        timeout_keep_alive=round(limits.idle_s),
        timeout_graceful_shutdown=round(limits.grace_s),
        access_log=False,
        log_level="warning",
        ssl_context_factory=(lambda config, default: tls) if tls else None,
    )
    with lent(service):
        uvicorn.Server(config).run(sockets=[Listening(fileno=service.listening.detach())])


uvicorn_uvloop: Final = partial(uvicorn, loop="uvloop")


def hypercorn(service: Service) -> None:
    """hypercorn with h11, on asyncio."""
    from hypercorn.asyncio import serve
    from hypercorn.config import Config, Sockets

    limits, tls = service.limits, service.tls

    class Configured(Config):
        ssl_enabled = tls is not None

        def create_ssl_context(self) -> ssl.SSLContext | None:
            return tls

        def create_sockets(self) -> Sockets:
            ours: list[socket.socket] = [Listening(fileno=service.listening.detach())]
            return Sockets(ours, [], []) if tls else Sockets([], ours, [])

    config = Configured()
    config.backlog, config.loglevel = ACCEPTS, "WARNING"
    config.keep_alive_timeout, config.graceful_timeout = limits.idle_s, limits.grace_s
    config.keep_alive_max_requests = limits.max_requests or sys.maxsize
    config.h11_max_incomplete_size = limits.max_head
    with lent(service):
        asyncio.run(serve(asgi(service), config, mode="asgi"))  # type: ignore[arg-type]


def need_tasks(number: int) -> None:
    """Raise RuntimeError unless so many threads or processes can start.

    granian aborts where its threads cannot, and gunicorn prints a traceback and serves nothing.
    """
    over, started = Event(), list[Thread]()
    try:
        for _ in range(number):
            thread = Thread(target=over.wait)
            thread.start()
            started.append(thread)
    finally:
        over.set()
        for thread in started:
            thread.join()


def granian(service: Service) -> None:
    """granian, embedded: HTTP in Rust, and the application on asyncio."""
    need_tasks(3)
    from granian.constants import Interfaces
    from granian.http import HTTP1Settings
    from granian.server.embed import Server

    host, port = service.listening.getsockname()[:2]
    service.listening.close()  # granian makes its own
    ready, service.ready = service.ready, lambda: None  # it starts before it listens
    server = Server(
        asgi(service),
        address=host,
        port=port,
        interface=Interfaces.ASGI,
        log_enabled=False,
        backlog=BACKLOG,
        backpressure=service.limits.max_connections,
        http1_settings=HTTP1Settings(header_read_timeout=round(service.limits.idle_s * 1000)),
    )

    async def run(stop: Stop) -> None:
        threads = len(os.listdir("/proc/self/task"))
        serving = asyncio.create_task(server.serve())
        waiting = True
        try:
            while not (stop.asked() or serving.done()):
                with suppress(ConnectionRefusedError):
                    if waiting:
                        (await asyncio.open_connection(host, port))[1].close()
                        ready()
                        waiting = False
                await asyncio.sleep(0.01 if waiting else TICK_S)
        finally:  # a thread of Rust's that outlives the interpreter aborts the process, or worse
            server.stop()  # type: ignore[no-untyped-call]
            await serving
            while len(os.listdir("/proc/self/task")) > threads:
                await asyncio.sleep(0.001)

    with Stop(service) as stop:
        asyncio.run(run(stop))


def gunicorn_gevent(service: Service) -> None:
    """gunicorn with gevent: the worker is a process, which sends its tally at its end."""
    need_tasks(1)
    from gunicorn.app.base import BaseApplication

    def end(server: Any, worker: Any) -> None:  # noqa: ANN401
        its.send(json.dumps(asdict(service.tally)).encode())
        # What this process was forked from is not its own to end.
        os._exit(0 if worker.booted else server.WORKER_BOOT_ERROR)

    limits, ready = service.limits, service.ready  # a worker that cannot say so fails to boot
    ours, its = socket.socketpair()
    settings = {
        "bind": f"fd://{service.listening.detach()}",
        "workers": 1,
        "worker_class": "gevent",
        "worker_connections": limits.max_connections,
        "backlog": BACKLOG,
        "keepalive": round(limits.idle_s),
        "graceful_timeout": round(limits.grace_s),
        "timeout": 0,  # its watchdog's clock goes on while the harness stops its worker
        "loglevel": "warning",
        "worker_exit": end,
        "post_worker_init": lambda worker: ready(),
    }

    class Application(BaseApplication):  # type: ignore[misc]
        def load_config(self) -> None:
            for name, value in settings.items():
                self.cfg.set(name, value)

        def load(self) -> WSGIApplication:
            return wsgi(service)

    with ours, its:
        with lent(service):
            Application().run()
        ours.setblocking(False)
        with suppress(BlockingIOError):
            service.tally = Tally(**json.loads(ours.recv(4096)))


def waitress(service: Service) -> None:
    """waitress: one thread for the sockets, four for the application."""
    from waitress.server import create_server

    limits = service.limits
    server = create_server(
        wsgi(service),
        sockets=[service.listening],
        asyncore_use_poll=True,
        connection_limit=limits.max_connections,
        channel_timeout=round(limits.idle_s),
        max_request_header_size=limits.max_head,
        max_request_body_size=limits.max_body,
    )
    with lent(service):
        service.ready()
        server.run()
