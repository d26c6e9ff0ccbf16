"""Threads: every connection has a thread, and the kernel keeps its place.

What waits: a thread, asleep inside ``recv`` or ``sendall``. What switches: the kernel, at every
call that blocks; the interpreter releases its lock there. What a connection costs: the used part
of a C stack, a kernel stack, and the kernel's records of a thread.
"""

from __future__ import annotations

import socket
from collections.abc import Callable
from threading import Condition, Thread
from time import monotonic, sleep

from server.models.conversation import Conversation
from server.models.service import RECV_SIZE, TICK_S, Service, Stop
from server.models.sockets import drop, encrypt, end_sending, farewell, shake_hands, shut


class Shared:
    """The state that the connections of one server share."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self.connections: set[Connection] = set()
        self.changed = Condition()  # guards the connections and the tally


class Connection:
    """One client, and the conversation with it."""

    __slots__ = ("conversation", "sock")

    def __init__(self, sock: socket.socket, service: Service) -> None:
        self.sock = sock
        self.conversation = Conversation(service, monotonic())


Start = Callable[[Shared, Connection], None]


# The model's own machinery: none. The kernel's scheduler is the event loop.


def accept(shared: Shared, start: Start) -> None:
    """Take connections and start each, asleep until one comes, until the server stops."""
    while not shared.service.stopping:
        try:
            sock, _ = shared.service.listening.accept()
        except OSError:  # no descriptor is left, or the server stops
            if not shared.service.stopping:
                sleep(TICK_S)
        else:
            admit(shared, sock, start)


def admit(shared: Shared, sock: socket.socket, start: Start) -> None:
    """Start a connection, unless there are too many, or too many threads."""
    with shared.changed:
        if not shared.service.admits(sock.close, len(shared.connections)):
            return
        connection = Connection(sock, shared.service)
        shared.connections.add(connection)
    try:
        start(shared, connection)
    except RuntimeError:  # this system starts no more threads
        shared.service.tally.turned_away += 1
        disconnect(shared, connection)


def secure(shared: Shared, connection: Connection) -> None:
    """Encrypt the connection; the thread sleeps during the handshake."""
    if shared.service.tls is not None:
        with shared.changed:
            connection.sock = encrypt(connection.sock, shared.service.tls)
        shake_hands(connection.sock)


def receive(connection: Connection) -> bytes:
    """Wait for bytes, or the end of them."""
    return connection.sock.recv(RECV_SIZE)


def send(connection: Connection, part: bytes | memoryview) -> None:
    """Send all of a part; the thread sleeps while there is no room."""
    connection.sock.sendall(part)


def converse(connection: Connection) -> None:
    """Receive and answer, until the client or the conversation has ended."""
    conversation = connection.conversation
    while not conversation.over:
        conversation.feed(receive(connection))
        while (part := conversation.part(monotonic())) is not None:
            send(connection, part)


def hang_up(connection: Connection) -> None:
    """Close in stages, or a client that still sends loses the answer (RFC 9112, 9.6)."""
    connection.conversation.close(monotonic())
    if not connection.conversation.ended:
        end_sending(connection.sock)
        while drop(connection.sock, RECV_SIZE):
            pass


def disconnect(shared: Shared, connection: Connection) -> None:
    """Close the connection, and count what it was served."""
    farewell(connection.sock)
    with shared.changed:
        connection.sock.close()
        shared.connections.discard(connection)
        shared.service.tally.closed(connection.conversation.counts)
        if shared.service.stopping:
            shared.changed.notify()


def work(shared: Shared, connection: Connection) -> None:
    """The life of a connection: secure, converse, hang up, disconnect."""
    try:
        secure(shared, connection)
        converse(connection)
        hang_up(connection)
    except OSError:
        pass  # the client has gone, or has run out of time
    finally:
        disconnect(shared, connection)


def watch(shared: Shared, stop: Stop) -> None:
    """Wake the threads that ran out of time: ``shutdown`` ends a blocked call."""
    now = monotonic()
    if stop.asked() and not shared.service.stopping:
        shared.service.stop(now)
        shut(shared.service.listening.fileno(), socket.SHUT_RDWR)
    with shared.changed:
        for connection in shared.connections:
            if (how := connection.conversation.overdue(now)) is not None:
                shut(connection.sock.fileno(), how)


def run(service: Service, start: Start) -> None:
    """Serve until stopped; one thread accepts, and the main thread watches the time."""
    shared = Shared(service)
    service.listening.setblocking(True)
    acceptor = Thread(target=accept, args=(shared, start))
    with Stop(service) as stop:
        service.ready()
        acceptor.start()
        while acceptor.is_alive() or shared.connections:
            with shared.changed:
                shared.changed.wait(TICK_S)
            watch(shared, stop)


def in_a_thread(shared: Shared, connection: Connection) -> None:
    """Start a thread for a connection."""
    Thread(target=work, args=(shared, connection)).start()


def serve(service: Service) -> None:
    """Serve with one thread for each connection."""
    run(service, in_a_thread)
