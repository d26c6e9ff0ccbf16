"""Sockets, made the same way for every backend that handles its own."""

from __future__ import annotations

import os
import socket

from crawlers.job import Address


def new_socket(address: Address) -> socket.socket:
    """A TCP socket with the options every backend uses."""
    sock = socket.socket(address.family, socket.SOCK_STREAM)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return sock


def begin_connect(address: Address) -> socket.socket:
    """A non-blocking socket that has begun to connect; writable means decided.

    Raises :class:`OSError` where it fails at once.
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
    """Raise the :class:`OSError` that a non-blocking connect came to, if any."""
    if error := sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
        raise OSError(error, os.strerror(error))
