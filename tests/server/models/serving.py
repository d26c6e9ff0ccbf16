"""Start one of the models as its users do; a site to serve, and what it must answer."""

from __future__ import annotations

import contextlib
import json
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any
from zlib import crc32

import pytest

from server.models.catalogue import SERVERS
from tests.server.fixture_server import PATIENCE, Running, everything, get, receive
from tests.server.tls_client import Stream, dial, trusting

LIMITS = {
    "max_head": 4096,
    "max_body": 100_000,
    "head_s": 2,
    "body_s": 2,
    "linger_s": 2,
    "grace_s": 2,
    "write_s": 30,
    "idle_s": 600,
}
"""Short enough to wait for, and long enough for a busy machine: nothing waits for the last."""

LARGE = bytes(range(256)) * 24_000
"""A body of six megabytes, which no socket's buffer holds: Linux lets one grow to four."""


def write_site(folder: Path) -> str:
    """A site with a page, a small file and a large one; returns how ``--site`` names it."""
    (folder / "index.html").write_text('<a href="page.html">A page</a>')
    (folder / "page.html").write_text("<p>" + "word " * 600)
    (folder / "large.bin").write_bytes(LARGE)
    return f"dir:{folder}"


class Model(Running):
    """A server that is up, over plain HTTP or TLS."""

    def __init__(
        self, process: subprocess.Popen[str], hello: dict[str, Any], errors: IO[str]
    ) -> None:
        super().__init__(process, hello, "")
        self.errors = errors  # a file: nobody reads while a stack logs every bad request
        self.context = trusting(self) if hello["tls"] else None
        self.patience = PATIENCE

    def connect(self) -> socket.socket:
        """A connection, after its handshake."""
        sock = super().connect() if self.context is None else dial(self, self.context)
        sock.settimeout(self.patience)
        return sock

    def narrow(self, raw: bool = False) -> socket.socket:
        """A connection whose client takes only a few bytes before it reads."""
        sock = socket.socket()
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        sock.settimeout(self.patience)
        sock.connect(self.address)
        if raw or self.context is None:
            return sock
        return self.context.wrap_socket(sock, server_hostname=self.address[0])

    def ask_and_end(self, request: bytes) -> bytes:
        """Send a request and the end of the stream; all that comes back.

        The client is narrow, so that no kernel takes a large answer whole before the server has
        seen the end of the stream: a server that loses answers then must lose it every time.
        """
        with self.narrow(raw=True) as sock:
            if self.context is None:
                sock.sendall(request)
                sock.shutdown(socket.SHUT_WR)
                return everything(sock)
            stream = Stream(sock, self.context)
            stream.write(request, close=True)
            blocks = []
            with contextlib.suppress(AssertionError, ssl.SSLError):  # of the end
                while True:
                    blocks.append(stream.read(1))
                    with contextlib.suppress(ssl.SSLWantReadError):
                        blocks.append(stream._object.read(65536))
            return b"".join(blocks)


@contextlib.contextmanager
def serving(name: str, *arguments: str, **limits: float) -> Iterator[Model]:
    """A server for the length of a ``with``; its process is ended, if it has not ended by then.

    Skips the test where a library of the server is not installed.
    """
    for library in SERVERS[name].needs.split():
        pytest.importorskip(library, reason=f"no {library}: pip install '.[{SERVERS[name].extra}]'")
    options = [word for key, value in limits.items() for word in ("--limit", f"{key}={value}")]
    command = [sys.executable, "-m", "server", "models", name, "--json", "--exit-with-parent"]
    with (
        tempfile.TemporaryFile("w+") as errors,
        subprocess.Popen(
            [*command, *options, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        ) as process,
    ):
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            assert line, (process.wait(PATIENCE) and errors.seek(0)) or errors.read()
            yield Model(process, json.loads(line), errors)
        finally:
            if process.poll() is None:
                process.kill()


def stop(server: Model) -> None:
    """Ask a server to stop. A second time would end it at once."""
    server.process.send_signal(signal.SIGTERM)


def last_words(server: Model) -> tuple[dict[str, Any], str]:
    """What a server says at its end: what it has served, and its errors."""
    said, _ = server.process.communicate(timeout=PATIENCE)
    server.errors.seek(0)
    errors = server.errors.read()
    assert server.process.returncode == 0, errors
    return json.loads(said)["served"], errors


def ask(sock: socket.socket, target: str = "/page.html", *headers: str) -> bytes:
    """The body of the answer to one request."""
    sock.sendall(get(target, *headers))
    status, _, body = receive(sock)
    assert status == 200
    return body


def chunked(*chunks: bytes, end: bytes = b"0\r\n\r\n") -> bytes:
    """A body in chunks."""
    return b"".join(b"%x\r\n%b\r\n" % (len(chunk), chunk) for chunk in chunks) + end


def received(body: bytes) -> bytes:
    """What a server says of the body of a POST."""
    return b"%d bytes, CRC-32 %08x\n" % (len(body), crc32(body))
