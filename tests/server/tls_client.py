"""Clients that speak TLS to a fixture server."""

from __future__ import annotations

import contextlib
import socket
import ssl

from tests.server.fixture_server import PATIENCE, Running


def trusting(server: Running, version: ssl.TLSVersion | None = None) -> ssl.SSLContext:
    """A client's context that trusts this server and nobody else."""
    context = ssl.create_default_context(cafile=server.ready["tls"]["cafile"])
    context.set_alpn_protocols(["http/1.1"])
    if version is not None:
        context.minimum_version = context.maximum_version = version
    return context


def dial(
    server: Running,
    context: ssl.SSLContext,
    session: ssl.SSLSession | None = None,
    port: str | None = None,
) -> ssl.SSLSocket:
    """A connection after its handshake, to one of the ports in the ready line.

    The end of the connection is the end of the stream only after close_notify.
    """
    host, _, number = str(server.ready[port or "listening"]).rpartition(":")
    raw = socket.create_connection((host.strip("[]"), int(number)), timeout=PATIENCE)
    try:
        return context.wrap_socket(
            raw, server_hostname=host, session=session, suppress_ragged_eofs=False
        )
    except BaseException:
        raw.close()
        raise


def connected(server: Running) -> socket.socket:
    """A connection to the pages' port, over TLS if the server speaks it."""
    return dial(server, trusting(server)) if server.ready["tls"] else server.connect()


class Stream:
    """TLS on a plain socket, by hand: what is sent, and when."""

    def __init__(self, sock: socket.socket, context: ssl.SSLContext) -> None:
        self._sock = sock
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._object = context.wrap_bio(
            self._incoming, self._outgoing, server_hostname=sock.getpeername()[0]
        )
        while True:
            try:
                self._object.do_handshake()
            except ssl.SSLWantReadError:
                self._send()
                self._incoming.write(sock.recv(65536))
            else:
                break

    def _send(self) -> None:
        self._sock.sendall(self._outgoing.read())

    def write(self, *records: bytes, close: bool = False) -> None:
        """Send records, and with ``close`` the end of the stream, in one segment."""
        for data in records:
            self._object.write(data)
        if close:
            with contextlib.suppress(ssl.SSLWantReadError):
                self._object.unwrap()
        self._send()

    def read(self, count: int) -> bytes:
        """So many bytes."""
        data = b""
        while len(data) < count:
            try:
                data += self._object.read(count - len(data))
            except ssl.SSLWantReadError:
                block = self._sock.recv(65536)
                assert block, "the connection ended"
                self._incoming.write(block)
        return data
