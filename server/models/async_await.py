"""async/await: the machinery of ``generators``, now a part of Python.

What waits: a coroutine, suspended in ``await`` on a Future of asyncio. What switches: asyncio's
loop, which resumes a Task; Future and Task are written in C. What a connection costs: the
suspended frames, and the transport, protocol, reader and writer of its stream. The functions below
read like those of ``threads``, with ``await`` wherever they wait.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from time import monotonic
from typing import Any

from server.models.conversation import Conversation
from server.models.service import BACKLOG, RECV_SIZE, TICK_S, Service, Stop
from server.models.sockets import ACCEPTS, shut

LoopFactory = Callable[[], asyncio.AbstractEventLoop]


class Shared:
    """The state that the connections of one server share."""

    def __init__(self, service: Service, converse: Converse) -> None:
        self.service = service
        self.connections: set[Connection] = set()
        self.converse = converse


class Connection:
    """One client, and the conversation with it.

    ``sock`` is the end to write to, and ``reader`` the other.
    """

    __slots__ = ("conversation", "reader", "sock")

    def __init__(
        self, reader: asyncio.StreamReader, sock: asyncio.StreamWriter, service: Service
    ) -> None:
        self.reader = reader
        self.sock = sock
        self.conversation = Conversation(service, monotonic())


Converse = Callable[[Connection], Awaitable[None]]


# The model's own machinery: none. It is asyncio's: loop, Task, Future.


def tls_options(service: Service) -> dict[str, Any]:
    """asyncio does the handshake, before there is a connection."""
    if service.tls is None:
        return {}
    limits = service.limits
    waits = {"ssl_handshake_timeout": limits.idle_s, "ssl_shutdown_timeout": limits.linger_s}
    return {"ssl": service.tls, **waits}


async def accept(shared: Shared) -> asyncio.Server:
    """Take connections and start a task for each."""
    server = await asyncio.start_server(
        partial(admit, shared),
        sock=shared.service.listening,
        limit=RECV_SIZE,
        backlog=ACCEPTS,
        **tls_options(shared.service),
    )
    shared.service.listening.listen(BACKLOG)
    return server


async def admit(shared: Shared, reader: asyncio.StreamReader, sock: asyncio.StreamWriter) -> None:
    """Start a connection, unless there are too many."""
    if shared.service.admits(sock.close, len(shared.connections)):
        connection = Connection(reader, sock, shared.service)
        shared.connections.add(connection)
        await work(shared, connection)


async def receive(connection: Connection) -> bytes:
    """Wait for bytes, or the end of them."""
    return await connection.reader.read(RECV_SIZE)


async def send(connection: Connection, part: bytes | memoryview) -> None:
    """Send a part; the coroutine is suspended while asyncio keeps more than it wants to."""
    connection.sock.write(part)
    await connection.sock.drain()


async def converse(connection: Connection) -> None:
    """Receive and answer, until the client or the conversation has ended."""
    conversation = connection.conversation
    while not conversation.over:
        conversation.feed(await receive(connection))
        while (part := conversation.part(monotonic())) is not None:
            await send(connection, part)


async def hang_up(connection: Connection) -> None:
    """Close in stages, or a client that still sends loses the answer (RFC 9112, 9.6)."""
    connection.sock.transport.set_write_buffer_limits(high=1)  # with 0, TLS would wait forever
    await connection.sock.drain()  # what asyncio has kept leaves in its own time
    connection.conversation.close(monotonic())
    if not connection.conversation.ended and connection.sock.can_write_eof():
        connection.sock.write_eof()
        while await receive(connection):
            pass


async def disconnect(shared: Shared, connection: Connection) -> None:
    """Close the connection, and count what it was served."""
    connection.sock.close()
    with suppress(OSError, RuntimeError):
        await connection.sock.wait_closed()
    shared.connections.discard(connection)
    shared.service.tally.closed(connection.conversation.counts)


async def work(shared: Shared, connection: Connection) -> None:
    """The life of a connection: converse, hang up, disconnect."""
    try:
        await shared.converse(connection)
        await hang_up(connection)
    except (OSError, RuntimeError):  # uvloop raises both
        pass  # the client has gone, or has run out of time
    finally:
        await disconnect(shared, connection)


def watch(shared: Shared, stop: Stop, close: Callable[[], None]) -> None:
    """Shut down the connections that ran out of time."""
    now = monotonic()
    if stop.asked() and not shared.service.stopping:
        shared.service.stop(now)
        close()
    for connection in shared.connections:
        if (how := connection.conversation.overdue(now)) is not None:
            shut(connection.sock.get_extra_info("socket").fileno(), how)


async def run(service: Service, stop: Stop, converse: Converse) -> None:
    """Serve until stopped, on the loop that runs this; it watches the time, too."""
    shared = Shared(service, converse)
    server = await accept(shared)
    service.ready()
    while not service.stopping or shared.connections:
        await asyncio.sleep(TICK_S)
        watch(shared, stop, server.close)


def serve(service: Service, loop: LoopFactory | None = None, converse: Converse = converse) -> None:
    """Serve with one task for each connection, on asyncio's loop or another."""
    with Stop(service) as stop, asyncio.Runner(loop_factory=loop) as runner:
        runner.run(run(service, stop, converse))
