"""Echo servers, one per way to write it; ``python -m bench.claims.experiments.echo_servers KIND``.

They follow ``examples/bench/echoserver.py`` of uvloop (streams, protocol, sockets) and the
server in curio's README, as their authors wrote them. Each listens on a free port of
127.0.0.1, prints it, and serves until it is killed.
"""

from __future__ import annotations

import asyncio
import socket
import sys
from asyncio import StreamReader, StreamWriter
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any, TypeAlias, cast

RECEIVE = 1_000_000
BACKLOG = 100
Loop = asyncio.AbstractEventLoop
Connection: TypeAlias = Any
"""A socket of a library without types."""


async def echo_stream(reader: StreamReader, writer: StreamWriter) -> None:
    """Streams: read, write, as in uvloop's benchmark (which does not drain)."""
    while data := await reader.read(RECEIVE):
        writer.write(data)
    writer.close()


class EchoProtocol(asyncio.Protocol):
    """A protocol that writes what it gets."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport; uvloop's is no subclass of asyncio's."""
        self.transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """Send it back."""
        self.transport.write(data)


async def echo_socket(loop: Loop, client: socket.socket) -> None:
    """Sockets: ``sock_recv`` and ``sock_sendall`` of the loop."""
    with client:
        while data := await loop.sock_recv(client, RECEIVE):
            await loop.sock_sendall(client, data)


async def streams(listener: socket.socket) -> None:
    """Serve with streams."""
    await asyncio.start_server(echo_stream, sock=listener)
    await asyncio.Event().wait()


async def protocol(listener: socket.socket) -> None:
    """Serve with a protocol."""
    await asyncio.get_running_loop().create_server(EchoProtocol, sock=listener)
    await asyncio.Event().wait()


async def sockets(listener: socket.socket) -> None:
    """Serve with socket calls of the loop, one task per connection."""
    loop, tasks = asyncio.get_running_loop(), set()
    listener.setblocking(False)
    while True:
        client, _ = await loop.sock_accept(listener)
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        tasks.add(loop.create_task(echo_socket(loop, client)))


def library_loop(module: str) -> Callable[[], Loop]:
    """The factory of a library's loop."""
    factory: Callable[[], Loop] = import_module(module).new_event_loop
    return factory


def python_task_loop() -> Loop:
    """asyncio's loop with Task in Python and Future in C: as the claim of 2016 compared."""
    from crawlers.variants.asyncio_pure import make_task

    loop = asyncio.SelectorEventLoop()
    loop.set_task_factory(make_task)
    return loop


def pure_loop() -> Loop:
    """asyncio's loop with Task and Future in Python."""
    from crawlers.variants.asyncio_pure import PureLoop

    return PureLoop()


def curio(listener: socket.socket) -> None:
    """The server of curio's README."""
    library: Any = import_module("curio")
    wrap: Any = import_module("curio.io").Socket

    async def client(sock: Connection) -> None:
        async with sock:
            while data := await sock.recv(RECEIVE):
                await sock.sendall(data)

    async def main() -> None:
        async with wrap(listener) as accepting:
            while True:
                sock, _ = await accepting.accept()
                await library.spawn(client, sock, daemon=True)

    library.run(main)


def gevent(listener: socket.socket) -> None:
    """gevent's StreamServer with a greenlet per connection."""
    server: Any = import_module("gevent.server").StreamServer
    gevent_socket: Any = import_module("gevent.socket").socket

    def client(sock: Connection, _: object) -> None:
        while data := sock.recv(RECEIVE):
            sock.sendall(data)

    accepting = gevent_socket(fileno=listener.detach())
    server(accepting, client).serve_forever()


def twisted(listener: socket.socket) -> None:
    """Twisted's Protocol, on its default reactor."""
    base: Any = import_module("twisted.internet.protocol")
    reactor: Any = import_module("twisted.internet.reactor")

    class Echo(base.Protocol):  # type: ignore[misc]
        def dataReceived(self, data: bytes) -> None:
            self.transport.write(data)

    listener.setblocking(False)
    reactor.adoptStreamPort(listener.fileno(), socket.AF_INET, base.Factory.forProtocol(Echo))
    reactor.run()


SERVERS = {"streams": streams, "protocol": protocol, "sockets": sockets}
LOOPS: dict[str, Callable[[], Callable[[], Loop]]] = {
    "asyncio": lambda: asyncio.SelectorEventLoop,
    "uvloop": lambda: library_loop("uvloop"),
    "rloop": lambda: library_loop("rloop"),
    "pytask": lambda: python_task_loop,
    "pure": lambda: pure_loop,
}
OTHERS = {"curio": curio, "gevent": gevent, "twisted": twisted}


def lacking(kind: str) -> str | None:
    """Why a kind cannot run here."""
    library = kind.partition("_")[0]
    if library in ("asyncio", "pytask", "pure"):
        return None
    if find_spec(library) is None:
        return f"{library} is not installed"
    if library == "curio" and sys.version_info >= (3, 12):
        return "curio 1.6 does not import on CPython 3.12 and later"
    return None


def main(arguments: list[str]) -> None:
    """Serve in one of the ways, for example ``uvloop_streams`` or ``curio``."""
    (kind,) = arguments
    listener = socket.create_server(("127.0.0.1", 0), backlog=BACKLOG)
    print(listener.getsockname()[1], flush=True)
    if kind in OTHERS:
        OTHERS[kind](listener)
        return
    library, _, way = kind.partition("_")
    with asyncio.Runner(loop_factory=LOOPS[library]()) as runner:
        runner.run(SERVERS[way](listener))


if __name__ == "__main__":
    main(sys.argv[1:])
