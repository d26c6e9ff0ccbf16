"""Makes sockets the same way for every backend that handles its own."""

from __future__ import annotations

import os
import select
import socket
import sys
from typing import TYPE_CHECKING, TypeGuard

from crawlers.job import Address, Origin

if TYPE_CHECKING:
    import asyncio
    import ssl

    from _typeshed import HasFileno


def new_socket(address: Address) -> socket.socket:
    """A TCP socket with the options that every backend uses."""
    sock = socket.socket(address.family, socket.SOCK_STREAM)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return sock


def begin_connect(address: Address) -> socket.socket:
    """A non-blocking socket that has begun to connect; it becomes writable at the end.

    Raises :class:`OSError` if it fails at once.
    """
    sock = new_socket(address)
    try:
        sock.setblocking(False)
        sock.connect(address.sockaddr)
    except BlockingIOError:
        pass
    except OSError:
        sock.close()
        raise
    return sock


def end_connect(sock: socket.socket) -> None:
    """Raise the :class:`OSError` of a failed non-blocking connect, if it failed."""
    if error := sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
        raise OSError(error, os.strerror(error))


def unasked(sock: HasFileno) -> bool:
    """Whether an idle connection has ended, or bytes wait on it.

    No request asked for them, so they must not be taken for the next answer; servers
    send a 408 that way before they close (RFC 9112, 9.2). A loop notices them when
    they come, but code that owns a connection only while it uses it must look, after
    its slot has waited.
    """
    look = select.poll()
    look.register(sock.fileno(), select.POLLIN)
    return bool(look.poll(0)) and not _tickets(sock)


def unread(reader: asyncio.StreamReader) -> bool:
    """The same for a stream of asyncio, which receives also while nobody reads."""
    ended = reader.at_eof() or reader.exception() is not None
    return ended or bool(reader._buffer)  # type: ignore[attr-defined]


def _tickets(sock: HasFileno) -> bool:
    """Whether the bytes that wait belong to TLS: session tickets, in most cases."""
    if not encrypted(sock):
        return False
    from crawlers.tls import has_nothing

    return has_nothing(sock)


# Only connections to https origins get to what follows, and load OpenSSL.


def encrypted(sock: HasFileno) -> TypeGuard[ssl.SSLSocket]:
    """Whether a socket speaks TLS."""
    ssl = sys.modules.get("ssl")
    return ssl is not None and isinstance(sock, ssl.SSLSocket)


def encrypt(sock: socket.socket, origin: Origin) -> socket.socket:
    """A connected socket with TLS on top; the handshake comes next."""
    assert origin.tls is not None
    sock.getpeername()  # fails after a reset; wrap_socket would lose the descriptor then
    return origin.tls.wrap_socket(
        sock,
        server_hostname=origin.host,
        do_handshake_on_connect=False,
        suppress_ragged_eofs=False,
    )


def shake_hands(sock: socket.socket) -> None:
    """Do the handshake, or as much of it as a non-blocking socket is ready for."""
    from crawlers.tls import handshaking

    assert encrypted(sock)
    with handshaking():
        sock.do_handshake()


def wanted_event(origin: Origin | None, error: OSError) -> int | None:
    """What a socket must be ready for before TLS can go on; None if the operation failed."""
    if origin is None or origin.tls is None:
        return None
    from crawlers.tls import wanted_event

    return wanted_event(error)


def hang_up(sock: socket.socket) -> None:
    """Tell the server that no more will come over TLS, without waiting for its answer."""
    from crawlers.tls import farewell

    farewell(sock)
