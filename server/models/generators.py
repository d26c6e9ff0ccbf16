"""Generators: the loop resumes a suspended function exactly where it stopped.

What waits: a generator, suspended in ``yield from`` on a Future that a callback will resolve. What
switches: a Task, which resumes the generator. What a connection costs: a few suspended frames.
The functions below read like those of ``threads``, with ``yield from`` wherever they wait.
"""

from __future__ import annotations

import socket
from functools import partial
from selectors import EVENT_READ, EVENT_WRITE
from time import monotonic

from server.models.conversation import Conversation
from server.models.loop import Coroutine, Future, Loop, Task
from server.models.service import RECV_SIZE, TICK_S, Service, Stop
from server.models.sockets import (
    accepted,
    drop,
    encrypt,
    end_sending,
    farewell,
    shake_hands,
    shut,
    wanted_event,
)


class Shared:
    """The state that the connections of one server share."""

    def __init__(self, service: Service, loop: Loop) -> None:
        self.service = service
        self.connections: set[Connection] = set()
        self.loop = loop


class Connection:
    """One client, and the conversation with it.

    ``ready`` is the Future on which the connection's task waits for the socket.
    """

    __slots__ = ("conversation", "event", "loop", "ready", "sock")

    ready: Future

    def __init__(self, sock: socket.socket, shared: Shared) -> None:
        self.sock = sock
        self.conversation = Conversation(shared.service, monotonic())
        self.loop = shared.loop
        self.event = EVENT_READ
        sock.setblocking(False)
        shared.loop.selector.register(sock, EVENT_READ, self.notice)

    def until(self, event: int) -> Future:
        """Resolved when the socket is ready to read or to write."""
        if self.event != event:
            self.event = event
            self.loop.selector.modify(self.sock, event, self.notice)
        self.ready = Future(self.loop)
        return self.ready

    def notice(self) -> None:
        """The socket is ready: resolve the Future."""
        self.ready.resolve()


# The model's own machinery is in ``loop``: Future, Task and the loop itself.


def accept(shared: Shared) -> None:
    """Take the connections that have come and start a task for each."""
    for sock in accepted(shared.service, shared.connections, shared.loop.pause):
        connection = Connection(sock, shared)
        shared.connections.add(connection)
        Task(shared.loop, work(shared, connection))


def wanted(connection: Connection, error: OSError, event: int) -> Future:
    """Resolved when the socket is ready for another try; raises any other error."""
    needed = wanted_event(error, event)
    if needed is None:
        raise error
    return connection.until(needed)


def secure(shared: Shared, connection: Connection) -> Coroutine[None]:
    """Encrypt the connection; the coroutine is suspended during the handshake."""
    if shared.service.tls is None:
        return
    connection.sock = encrypt(connection.sock, shared.service.tls)
    while True:
        try:
            return shake_hands(connection.sock)
        except OSError as error:
            yield from wanted(connection, error, EVENT_READ)


def receive(connection: Connection) -> Coroutine[bytes]:
    """Wait for bytes, or the end of them."""
    yield from connection.until(EVENT_READ)
    while True:
        try:
            return connection.sock.recv(RECV_SIZE)
        except OSError as error:
            yield from wanted(connection, error, EVENT_READ)


def send(connection: Connection, part: bytes | memoryview) -> Coroutine[None]:
    """Send all of a part; the coroutine is suspended while there is no room."""
    while True:
        try:
            sent = connection.sock.send(part)
        except OSError as error:
            yield from wanted(connection, error, EVENT_WRITE)
            continue
        if sent == len(part):
            return
        part = memoryview(part)[sent:]
        yield from connection.until(EVENT_WRITE)


def converse(connection: Connection) -> Coroutine[None]:
    """Receive and answer, until the client or the conversation has ended."""
    conversation = connection.conversation
    while not conversation.over:
        conversation.feed((yield from receive(connection)))
        while (part := conversation.part(monotonic())) is not None:
            yield from send(connection, part)


def hang_up(connection: Connection) -> Coroutine[None]:
    """Close in stages, or a client that still sends loses the answer (RFC 9112, 9.6)."""
    connection.conversation.close(monotonic())
    if not connection.conversation.ended:
        end_sending(connection.sock)
        yield from connection.until(EVENT_READ)
        while drop(connection.sock, RECV_SIZE):
            yield from connection.until(EVENT_READ)


def disconnect(shared: Shared, connection: Connection) -> None:
    """Close the connection, and count what it was served."""
    farewell(connection.sock)
    shared.loop.selector.unregister(connection.sock)
    connection.sock.close()
    shared.connections.discard(connection)
    shared.service.tally.closed(connection.conversation.counts)


def work(shared: Shared, connection: Connection) -> Coroutine[None]:
    """The life of a connection: secure, converse, hang up, disconnect."""
    try:
        yield from secure(shared, connection)
        yield from converse(connection)
        yield from hang_up(connection)
    except OSError:
        pass  # the client has gone, or has run out of time
    finally:
        disconnect(shared, connection)


def watch(shared: Shared, stop: Stop) -> None:
    """Shut down the connections that ran out of time; called at every tick."""
    now = monotonic()
    if stop.asked() and not shared.service.stopping:
        shared.service.stop(now)
        shut(shared.service.listening.fileno(), socket.SHUT_RDWR)
    for connection in shared.connections:
        if (how := connection.conversation.overdue(now)) is not None:
            shut(connection.sock.fileno(), how)
    if shared.service.stopping and not shared.connections:
        shared.loop.stop()
    shared.loop.call_at(now + TICK_S, partial(watch, shared, stop))


def serve(service: Service) -> None:
    """Serve with one task for each connection, on one loop."""
    loop = Loop()
    shared = Shared(service, loop)
    with Stop(service) as stop:
        loop.selector.register(service.listening, EVENT_READ, partial(accept, shared))
        watch(shared, stop)
        service.ready()
        loop.run()
    loop.close()
