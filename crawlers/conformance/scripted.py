"""A server that follows a script: good, slow or broken.

It shares no code with the crawlers and is as simple as possible, with one thread
for each connection. :mod:`crawlers.conformance.authority` makes it speak TLS.
"""

from __future__ import annotations

import contextlib
import select
import socket
import ssl
import struct
import threading
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Protocol, TypeAlias

Action: TypeAlias = Callable[["Connection"], None]


class Wire(Protocol):
    """As much of a socket as a script needs."""

    def sendall(self, data: bytes, /) -> None:
        """Send all of it."""

    def recv(self, size: int, /) -> bytes:
        """Receive some bytes, b"" at the end of them."""

    def shutdown(self, how: int, /) -> None:
        """Close one direction or both."""

    def fileno(self) -> int:
        """Its descriptor."""

    def setsockopt(self, level: int, name: int, value: bytes, /) -> None:
        """Set an option."""

    def close(self) -> None:
        """Close it."""


Greeting: TypeAlias = Callable[[socket.socket], Wire]
"""What to do with a connection before its first request; an OSError ends it."""


def html(*links: str, padding: int = 0) -> bytes:
    """A page with links."""
    return b"".join(b'<a href="%s">x</a>\n' % link.encode() for link in links) + b"." * padding


def ok(body: bytes = b"", kind: str = "text/html; charset=utf-8", extra: str = "") -> bytes:
    """A 200 answer."""
    head = f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n{extra}\r\n"
    return head.encode() + body


def page(*links: str) -> bytes:
    """A 200 answer with links."""
    return ok(html(*links))


def redirect(location: str, status: int = 302) -> bytes:
    """A redirect."""
    return (
        f"HTTP/1.1 {status} Found\r\nLocation: {location}\r\nContent-Length: 0\r\n\r\n"
    ).encode()


NOT_FOUND = b"HTTP/1.1 404 Not Found\r\nContent-Type: text/plain\r\nContent-Length: 4\r\n\r\nnope"


class Connection:
    """The server's end of one connection, while one request is answered."""

    def __init__(self, server: ScriptedServer, sock: Wire) -> None:
        self.server = server
        self.sock = sock
        self.open = True
        self.polite = True

    def send(self, data: bytes) -> None:
        """Send bytes."""
        self.sock.sendall(data)

    def asked(self) -> bool:
        """Whether more has come already: the next request."""
        return bool(select.select([self.sock], [], [], 0)[0])

    def close(self) -> None:
        """Close in good order."""
        self.open = False

    def cut(self) -> None:
        """Close without the end mark of TLS."""
        self.polite = False
        self.open = False

    def reset(self) -> None:
        """Close with a reset."""
        self.polite = False
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.open = False

    def hang(self) -> None:
        """Send nothing until the other side closes, or the server stops."""
        with contextlib.suppress(OSError):
            while self.sock.recv(65536):
                pass
        self.open = False


class ScriptedServer:
    """Answers each path as its script says, and counts the requests.

    ``script`` maps a path to the bytes of the answer or to an action. A list has
    one for each request of the path; the last one is used for all further requests.
    Unknown paths are answered 404. ``heads`` has the request line and the headers of each
    request. With a ``greeting`` it speaks TLS, and crawls trust the authorities in ``cafile``.
    """

    def __init__(self, greeting: Greeting | None = None, cafile: str | None = None) -> None:
        self.greeting = greeting
        self.cafile = cafile
        self.script: dict[str, bytes | Action | list[bytes | Action]] = {}
        self.requests: Counter[str] = Counter()
        self.heads: list[str] = []
        self.connections = 0
        self.open_now = 0
        self.peak = 0
        self._lock = threading.Lock()
        self._threads: list[threading.Thread] = []
        self._sockets: set[socket.socket] = set()
        self._listener = socket.socket()

    @property
    def url(self) -> str:
        """Where it listens, with a slash."""
        host, port = self._listener.getsockname()
        return f"{'https' if self.greeting else 'http'}://{host}:{port}/"

    def __enter__(self) -> ScriptedServer:
        self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._listener.bind(("127.0.0.1", 0))
        self._listener.listen(1024)
        self._start(self._accept)
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Close everything: to a running crawl, the server dies."""
        # Closing alone would not wake the thread that accepts.
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        with self._lock:
            for sock in self._sockets:
                with contextlib.suppress(OSError):
                    socket.socket.shutdown(sock, socket.SHUT_RDWR)
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join(5)

    def _start(self, run: Callable[[], None]) -> None:
        thread = threading.Thread(target=run, name="scripted-server", daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while True:
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return
            # An answer must not wait behind session tickets: a reset would take it back.
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self._lock:
                self.connections += 1
                self.open_now += 1
                self.peak = max(self.peak, self.open_now)
                self._sockets.add(sock)
            self._start(partial(self._serve, sock))
            del sock  # or this thread would hold it until the next connection

    def _serve(self, plain: socket.socket) -> None:
        sock: Wire = plain
        held = b""
        with contextlib.suppress(OSError):
            if self.greeting is not None:
                sock = self.greeting(plain)
                if isinstance(sock, ssl.SSLSocket):
                    with self._lock:
                        self._sockets.discard(plain)
                        self._sockets.add(sock)
            connection = Connection(self, sock)
            while connection.open:
                while b"\r\n\r\n" not in held:
                    data = sock.recv(65536)
                    if not data:
                        raise OSError
                    held += data
                head, _, held = held.partition(b"\r\n\r\n")
                self._answer(connection, head.decode("latin-1"))
            if connection.polite and isinstance(sock, ssl.SSLSocket):
                sock.setblocking(False)
                with contextlib.suppress(ValueError):  # its sending side is shut down
                    sock.unwrap()
        with self._lock:
            self.open_now -= 1
            self._sockets.discard(plain)
            if isinstance(sock, socket.socket):
                self._sockets.discard(sock)
            plain.close()
            sock.close()

    def _answer(self, connection: Connection, head: str) -> None:
        target = head.split(" ")[1]
        with self._lock:
            self.requests[target] += 1
            self.heads.append(head)
            turn = self.requests[target]
        answer = self.script.get(target, NOT_FOUND)
        if isinstance(answer, list):
            answer = answer[min(turn, len(answer)) - 1]
        if isinstance(answer, bytes):
            connection.send(answer)
        else:
            answer(connection)
        if "\r\nconnection: close" in head.lower():
            connection.open = False
