"""Makes sockets the same way for every backend that handles its own."""

from __future__ import annotations

import os
import socket
from fcntl import ioctl
from termios import FIONREAD
from typing import Protocol

from crawlers.job import Address


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


def silent(sock: socket.socket) -> bool:
    """Whether an idle connection is open and has nothing to read: a loop may say ready late."""
    try:
        sock.recv(1, socket.MSG_PEEK)
    except BlockingIOError:
        return True
    except OSError:
        pass  # a reset
    return False


class HasDescriptor(Protocol):
    """A socket of any library."""

    def fileno(self) -> int:
        """Its descriptor."""


NOTHING = bytes(4)
"""No bytes, as the kernel counts them."""


def unasked(sock: HasDescriptor) -> bool:
    """Whether bytes wait on an idle connection.

    No request asked for them, so they must not be taken for the next answer; servers
    send a 408 that way before they close (RFC 9112, 9.2). A loop notices them when
    they come, but code that owns a connection only while it uses it must look.
    """
    return ioctl(sock.fileno(), FIONREAD, NOTHING) != NOTHING
