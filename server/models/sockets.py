"""Sockets of a server, for the models that handle their own: TLS, and the end of a connection."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Callable, Iterator, Sized
from contextlib import suppress
from selectors import EVENT_READ, EVENT_WRITE
from typing import Final

from server.models.service import TICK_S, Service

ACCEPTS: Final = 100
"""Most connections that a loop accepts in one turn.

asyncio takes its backlog for this. It also tries, and complains, as often where it has no
descriptor left, so it gets this number, and the socket its own backlog afterwards.
"""


def accepted(
    service: Service, connections: Sized, pause: Callable[[socket.socket, float], None]
) -> Iterator[socket.socket]:
    """The connections that have come to a loop, unless there are too many."""
    for _ in range(ACCEPTS):
        try:
            sock, _ = service.listening.accept()
        except BlockingIOError:
            return  # no more
        except OSError:  # no descriptor is left, or the server stops
            return pause(service.listening, TICK_S)
        if service.admits(sock.close, len(connections)):
            yield sock


def encrypt(sock: socket.socket, context: ssl.SSLContext) -> ssl.SSLSocket:
    """An accepted socket with TLS on top; the handshake comes next."""
    sock.getpeername()  # fails after a reset; wrap_socket would lose the descriptor then
    return context.wrap_socket(sock, server_side=True, do_handshake_on_connect=False)


def shake_hands(sock: socket.socket) -> None:
    """Do the handshake, or as much of it as a non-blocking socket is ready for."""
    assert isinstance(sock, ssl.SSLSocket)
    sock.do_handshake()


def wanted_event(error: OSError, event: int) -> int | None:
    """What a socket must be ready for before an operation can go on; None if it failed.

    ``event`` is what the operation itself waits for. To read, TLS may have to write first.
    """
    if isinstance(error, ssl.SSLWantReadError):
        return EVENT_READ
    if isinstance(error, ssl.SSLWantWriteError):
        return EVENT_WRITE
    return event if isinstance(error, BlockingIOError) else None


def end_sending(sock: socket.socket) -> None:
    """Tell the client that no more will come; it may go on sending."""
    farewell(sock)
    socket.socket.shutdown(sock, socket.SHUT_WR)


def drop(sock: socket.socket, size: int) -> int:
    """Receive bytes below TLS and drop them; 0 at the end."""
    return len(socket.socket.recv(sock, size))


def farewell(sock: socket.socket) -> None:
    """Say over TLS that no more will come, without waiting for the client's answer."""
    if not isinstance(sock, ssl.SSLSocket):
        return
    before = sock.gettimeout()
    try:
        sock.setblocking(False)
        sock.unwrap()
    except ssl.SSLError:
        pass  # no answer yet, or no handshake
    except (OSError, ValueError):  # a connection that is broken, or closed
        # OpenSSL keeps errors for all connections of a thread, and CPython leaves some there:
        # https://github.com/python/cpython/issues/148594. A new connection forgets them.
        sock.context.wrap_bio(ssl.MemoryBIO(), ssl.MemoryBIO(), server_side=True)
    with suppress(OSError):
        sock.settimeout(before)


def shut(descriptor: int, how: int) -> None:
    """Shut a connection down, whichever library holds it; whoever waits for it is woken.

    A socket object of our own: libraries hide the method, and TLS would add its own to it.
    """
    with suppress(OSError, ValueError):  # it is closed, or not connected any more
        sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 0, descriptor)
        try:
            sock.shutdown(how)
        finally:
            sock.detach()  # without a descriptor of its own: none may be left
