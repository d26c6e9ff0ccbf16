"""trio: a task for each connection in one nursery, and trio's streams.

What waits: a coroutine, suspended in ``await`` on a trap of trio's. What switches: trio's run
loop, written in Python, with a checkpoint in every call that may wait. What a connection costs:
the suspended frames, trio's Task, and the stream around the socket. Changed against
``async_await``: the library below ``await``, and its streams.
"""

from __future__ import annotations

import socket
from contextlib import suppress
from time import monotonic
from typing import TypeAlias

import trio

from server.models.conversation import Conversation
from server.models.service import RECV_SIZE, TICK_S, Service, Stop
from server.models.sockets import shut

Stream: TypeAlias = trio.SocketStream | trio.SSLStream[trio.SocketStream]


class Shared:
    """The state that the connections of one server share."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self.connections: set[Connection] = set()


class Connection:
    """One client, and the conversation with it; ``stream`` is ``raw``, or TLS on top of it."""

    __slots__ = ("conversation", "raw", "stream")

    def __init__(self, stream: trio.SocketStream, service: Service) -> None:
        self.raw = stream
        self.stream: Stream = stream
        self.conversation = Conversation(service, monotonic())


async def accept(shared: Shared, nursery: trio.Nursery) -> None:
    """Take connections and start a task for each, until the server stops."""
    listener = trio.SocketListener(trio.socket.from_stdlib_socket(shared.service.listening))
    while not shared.service.stopping:
        try:
            stream = await listener.accept()
        except (OSError, trio.ClosedResourceError):
            await trio.sleep(TICK_S)  # no descriptor is left, or the server stops
            continue
        if shared.service.admits(stream.socket.close, len(shared.connections)):
            connection = Connection(stream, shared.service)
            shared.connections.add(connection)
            nursery.start_soon(work, shared, connection)


async def secure(shared: Shared, connection: Connection) -> None:
    """Encrypt the connection; the coroutine is suspended during the handshake."""
    if shared.service.tls is not None:
        stream = trio.SSLStream(connection.raw, shared.service.tls, server_side=True)
        connection.stream = stream
        await stream.do_handshake()


async def converse(connection: Connection) -> None:
    """Receive and answer, until the client or the conversation has ended."""
    conversation = connection.conversation
    while not conversation.over:
        conversation.feed(bytes(await connection.stream.receive_some(RECV_SIZE)))
        while (part := conversation.part(monotonic())) is not None:
            await connection.stream.send_all(part)


async def hang_up(connection: Connection) -> None:
    """Close in stages, or a client that still sends loses the answer (RFC 9112, 9.6)."""
    connection.conversation.close(monotonic())
    if isinstance(connection.stream, trio.SSLStream):
        with suppress(trio.BrokenResourceError):
            await connection.stream.unwrap()  # fails after its goodbye, if the client still sends
    if not connection.conversation.ended:
        await connection.raw.send_eof()
        while await connection.raw.receive_some(RECV_SIZE):
            pass


async def work(shared: Shared, connection: Connection) -> None:
    """The life of a connection: secure, converse, hang up, disconnect."""
    try:
        await secure(shared, connection)
        await converse(connection)
        await hang_up(connection)
    except (OSError, trio.BrokenResourceError, trio.ClosedResourceError):
        pass  # the client has gone, or has run out of time
    finally:
        connection.raw.socket.close()
        shared.connections.discard(connection)
        shared.service.tally.closed(connection.conversation.counts)


async def run(service: Service, stop: Stop) -> None:
    """Serve until stopped; this task watches the time."""
    shared = Shared(service)
    service.ready()  # what it raises would be in a group of the nursery's
    async with trio.open_nursery() as nursery:
        nursery.start_soon(accept, shared, nursery)
        while not service.stopping or shared.connections:
            await trio.sleep(TICK_S)
            now = monotonic()
            if stop.asked() and not service.stopping:
                service.stop(now)
                shut(service.listening.fileno(), socket.SHUT_RDWR)
            for connection in shared.connections:
                if (how := connection.conversation.overdue(now)) is not None:
                    shut(connection.raw.socket.fileno(), how)


def serve(service: Service) -> None:
    """Serve with one task for each connection, on trio's loop."""
    with Stop(service) as stop:
        trio.run(run, service, stop)
