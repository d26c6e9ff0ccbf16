"""What the parent and the processes of a crawl say to each other, and how."""

from __future__ import annotations

import pickle
import socket
import struct
from collections.abc import Callable
from contextlib import suppress
from selectors import EVENT_READ, EVENT_WRITE
from typing import Any, NamedTuple

from crawlers.http import RECV_SIZE
from crawlers.job import Address, PageResult
from crawlers.loop import Loop

LENGTH = struct.Struct("!I")

CANCEL = "cancel"
"""The parent's message that ends a crawl early."""


class Ready(NamedTuple):
    """A process can begin: the processor time its start took, and the parser it uses."""

    user_s: float
    system_s: float
    parser: str


class Order(NamedTuple):
    """One fetch for a process; ``number`` identifies it there and back.

    ``address`` is where to connect, None if the server has only one. ``again`` says that
    it is another try, which gets a new connection.
    """

    number: int
    url: str
    prefix: str
    robots: str
    address: Address | None
    again: bool
    due: float
    intended: float


class Outcome(NamedTuple):
    """The outcome of an order; ``times`` are the arguments for the recorder, if any.

    ``connected`` says that it needed a new connection, whether it got one or not.
    """

    number: int
    page: PageResult
    times: tuple[int, float, float, float] | None
    ended: float
    connected: bool


class Channel:
    """Sends values to another process and receives values from it, over a socket on the loop.

    ``receive`` is called with each value, and with None at the end. Values sent
    after that are dropped.
    """

    def __init__(self, loop: Loop, sock: socket.socket, receive: Callable[[Any], None]) -> None:
        self.loop = loop
        self.sock = sock
        self.receive = receive
        self.inward = bytearray()
        self.outward = bytearray()
        self.ended = False
        sock.setblocking(False)
        loop.selector.register(sock, EVENT_READ, self.turn)

    def send(self, value: object) -> None:
        """Send a value; the part that does not fit follows when there is room."""
        if self.ended:
            return
        data = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
        waiting = bool(self.outward)
        self.outward += LENGTH.pack(len(data)) + data
        if not waiting:
            self.flush()
            if self.outward:
                self.loop.selector.modify(self.sock, EVENT_READ | EVENT_WRITE, self.turn)

    def flush(self) -> None:
        """Send as much as there is room for."""
        with suppress(BlockingIOError, BrokenPipeError, ConnectionResetError):
            while self.outward:
                del self.outward[: self.sock.send(self.outward)]

    def turn(self) -> None:
        """The socket is ready, for reading or for writing."""
        if self.outward:
            self.flush()
            if not self.outward:
                self.loop.selector.modify(self.sock, EVENT_READ, self.turn)
        try:
            data = self.sock.recv(RECV_SIZE)
        except BlockingIOError:
            return
        except ConnectionResetError:
            data = b""
        if not data:
            self.ended = True
            self.loop.selector.unregister(self.sock)
            self.receive(None)
            return
        self.inward += data
        while len(self.inward) >= LENGTH.size:
            end = LENGTH.size + LENGTH.unpack_from(self.inward)[0]
            if len(self.inward) < end:
                return
            # From our own child, over a pair of sockets that no other process has.
            value = pickle.loads(self.inward[LENGTH.size : end])  # nosec B301
            del self.inward[:end]
            self.receive(value)
