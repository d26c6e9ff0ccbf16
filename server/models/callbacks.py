"""Callbacks: one thread, and a loop that calls a function when a socket is ready.

What waits: only the loop, in ``select``; a connection keeps its place in its own attributes. What
switches: the loop, which calls the method that a connection left with it. What a connection costs:
its object and its entry in the selector. The reader pays for this: no function shows a
conversation from beginning to end.
"""

from __future__ import annotations

import socket
import ssl
from functools import partial
from selectors import EVENT_READ, EVENT_WRITE
from time import monotonic

from server.models.conversation import Conversation
from server.models.loop import Callback, Loop
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

    Each method takes one step and leaves the next one with the loop: ``waits`` is that step, and
    the event it waits for.
    """

    __slots__ = ("conversation", "shared", "sock", "waits")

    def __init__(self, sock: socket.socket, shared: Shared) -> None:
        self.sock = sock
        self.conversation = Conversation(shared.service, monotonic())
        self.shared = shared
        self.waits: tuple[int, Callback] = (EVENT_READ, self.receive)

    def start(self) -> None:
        """Leave the first step with the loop: the handshake, if there is TLS."""
        self.sock.setblocking(False)
        self.shared.loop.selector.register(self.sock, *self.waits)
        if self.shared.service.tls is not None:
            self.secure(self.shared.service.tls)

    def secure(self, tls: ssl.SSLContext) -> None:
        """Encrypt the connection; the handshake comes later."""
        try:
            self.sock = encrypt(self.sock, tls)
        except OSError:
            self.disconnect()
        else:
            self.until(EVENT_READ, self.shake_hands)

    def until(self, event: int, step: Callback) -> None:
        """Take a step when the socket is ready to read or to write."""
        if self.waits != (event, step):
            self.waits = event, step
            self.shared.loop.selector.modify(self.sock, event, step)

    def again(self, error: OSError, event: int, step: Callback) -> None:
        """Take a step again when the socket is ready; any other error is the end."""
        wanted = wanted_event(error, event)
        if wanted is None:
            self.disconnect()
        else:
            self.until(wanted, step)

    def shake_hands(self) -> None:
        """Go on with the handshake; receive when it is done."""
        try:
            shake_hands(self.sock)
        except OSError as error:
            self.again(error, EVENT_READ, self.shake_hands)
        else:
            self.until(EVENT_READ, self.receive)

    def receive(self) -> None:
        """Receive bytes, or the end of them; then answer."""
        try:
            data = self.sock.recv(RECV_SIZE)
        except OSError as error:
            self.again(error, EVENT_READ, self.receive)
        else:
            self.conversation.feed(data)
            self.respond()

    def respond(self) -> None:
        """Send what there is to send; then receive more, or hang up."""
        while (part := self.conversation.part(monotonic())) is not None:
            if not self.send(part):
                return
        if self.conversation.over:
            self.hang_up()
        else:
            self.until(EVENT_READ, self.receive)

    def send(self, part: bytes | memoryview) -> bool:
        """Send a part; whether all of it is sent. If not, the rest follows when there is room."""
        try:
            sent = self.sock.send(part)
        except OSError as error:
            self.again(error, EVENT_WRITE, partial(self.send_rest, part))
            return False
        if sent < len(part):
            self.until(EVENT_WRITE, partial(self.send_rest, memoryview(part)[sent:]))
        return sent == len(part)

    def send_rest(self, part: bytes | memoryview) -> None:
        """There is room: send more of a part."""
        if self.send(part):
            self.respond()

    def hang_up(self) -> None:
        """Close in stages, or a client that still sends loses the answer (RFC 9112, 9.6)."""
        self.conversation.close(monotonic())
        try:
            if not self.conversation.ended:
                end_sending(self.sock)
                self.until(EVENT_READ, self.drop)
                return
        except OSError:
            pass  # the client has gone
        self.disconnect()

    def drop(self) -> None:
        """Drop what the client still sends; disconnect at the end of it."""
        try:
            if not drop(self.sock, RECV_SIZE):
                self.disconnect()
        except OSError as error:
            self.again(error, EVENT_READ, self.drop)

    def disconnect(self) -> None:
        """Close the connection, and count what it was served."""
        farewell(self.sock)
        self.shared.loop.selector.unregister(self.sock)
        self.sock.close()
        self.shared.connections.discard(self)
        self.shared.service.tally.closed(self.conversation.counts)


def accept(shared: Shared) -> None:
    """Take the connections that have come and start each."""
    for sock in accepted(shared.service, shared.connections, shared.loop.pause):
        connection = Connection(sock, shared)
        shared.connections.add(connection)
        connection.start()


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
    """Serve with one object for each connection, on one loop."""
    loop = Loop()
    shared = Shared(service, loop)
    with Stop(service) as stop:
        loop.selector.register(service.listening, EVENT_READ, partial(accept, shared))
        watch(shared, stop)
        service.ready()
        loop.run()
    loop.close()
