"""A throw-away authority, and servers with its certificates: good, bad or broken."""

from __future__ import annotations

import contextlib
import datetime
import socket
import ssl
import struct
import warnings
from pathlib import Path

import trustme

from crawlers.conformance.scripted import Greeting

HOST = "127.0.0.1"
LONG_AGO = datetime.datetime(2001, 1, 1, tzinfo=datetime.UTC)


class Authority:
    """Signs certificates; ``cafile`` is the file that a crawl has to trust."""

    def __init__(self, folder: Path) -> None:
        self._authority = trustme.CA()
        self._other = trustme.CA()
        self.cafile = str(folder / "authority.pem")
        self._authority.cert_pem.write_to_path(self.cafile)
        self.greeting = encrypted(self.context())

    def context(self, *hosts: str, expired: bool = False) -> ssl.SSLContext:
        """What a server needs that answers for these hosts."""
        leaf = self._authority.issue_cert(
            *hosts or (HOST, "localhost"),
            not_before=LONG_AGO,
            not_after=LONG_AGO + datetime.timedelta(days=1) if expired else None,
        )
        return _context(leaf)

    def context_without_names(self, common_name: str = HOST) -> ssl.SSLContext:
        """A certificate that names the host only as its common name, which RFC 9525 forbids."""
        return _context(self._authority.issue_cert(common_name=common_name))

    def context_for_known_clients(self) -> ssl.SSLContext:
        """What a server needs that requires a certificate of its clients."""
        context = self.context()
        self._authority.configure_trust(context)
        context.verify_mode = ssl.CERT_REQUIRED
        return context

    def context_of_a_stranger(self) -> ssl.SSLContext:
        """A certificate of an authority that is not in ``cafile``."""
        return _context(self._other.issue_cert(HOST))

    def context_of_itself(self) -> ssl.SSLContext:
        """A certificate that its own key has signed."""
        context = _new_context()
        with (
            self._other.cert_pem.tempfile() as chain,
            self._other.private_key_pem.tempfile() as key,
        ):
            context.load_cert_chain(chain, key)
        return context


def _new_context() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.set_alpn_protocols(["http/1.1"])
    return context


def _context(leaf: trustme.LeafCert) -> ssl.SSLContext:
    context = _new_context()
    leaf.configure_cert(context)
    return context


def too_old(context: ssl.SSLContext) -> ssl.SSLContext:
    """The same server before 2008: TLS 1.1."""
    context.set_ciphers("ALL:@SECLEVEL=0")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        context.minimum_version = ssl.TLSVersion.TLSv1
        context.maximum_version = ssl.TLSVersion.TLSv1_1
    return context


def encrypted(context: ssl.SSLContext) -> Greeting:
    """Speak TLS."""

    def greet(sock: socket.socket) -> socket.socket:
        sock.getpeername()  # fails after a reset; wrap_socket would lose the descriptor then
        return context.wrap_socket(sock, server_side=True)

    return greet


def in_records(context: ssl.SSLContext, early: bytes = b"") -> Greeting:
    """Speak TLS through memory, so that an action can see and break the records.

    ``early`` is sent with the last message of the handshake.
    """

    def greet(sock: socket.socket) -> RecordSocket:
        return RecordSocket(sock, context, early)

    return greet


class RecordSocket:
    """TLS between a script and its socket."""

    def __init__(self, sock: socket.socket, context: ssl.SSLContext, early: bytes) -> None:
        self._sock = sock
        self.fileno, self.setsockopt = sock.fileno, sock.setsockopt
        self.shutdown, self.close = sock.shutdown, sock.close
        self.send_raw = sock.sendall
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_side=True)
        while True:
            try:
                self._tls.do_handshake()
                break
            except ssl.SSLWantReadError:
                self._take()
            except ssl.SSLError:
                self.send_raw(self._outgoing.read())  # why
                silent(sock)
        if early:
            self._tls.write(early)
        self.send_raw(self._outgoing.read())

    def _take(self) -> None:
        self.send_raw(self._outgoing.read())
        data = self._sock.recv(65536)
        if not data:
            raise ConnectionResetError
        self._incoming.write(data)

    def records(self, data: bytes) -> bytes:
        """The data as records of TLS, which are not sent."""
        self._tls.write(data)
        return self._outgoing.read()

    def sendall(self, data: bytes) -> None:
        """Send data in records."""
        self.send_raw(self.records(data))

    def end(self) -> None:
        """Send the end mark of TLS, and leave the connection open."""
        with contextlib.suppress(ssl.SSLWantReadError):
            self._tls.unwrap()
        self.send_raw(self._outgoing.read())

    def recv(self, size: int) -> bytes:
        """Receive data, b"" at the end of it."""
        while True:
            try:
                return self._tls.read(size)
            except ssl.SSLWantReadError:
                self._take()


def silent(sock: socket.socket) -> socket.socket:
    """Take what comes and say nothing, as long as the client waits."""
    while sock.recv(65536):
        pass
    raise ConnectionResetError


def cut(sock: socket.socket) -> socket.socket:
    """Close in the handshake."""
    sock.recv(65536)
    raise ConnectionResetError


def reset(sock: socket.socket) -> socket.socket:
    """Reset the connection in the handshake."""
    sock.recv(65536)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    raise ConnectionResetError


def saying(data: bytes) -> Greeting:
    """Answer the first bytes of the handshake with others, and wait for the client to leave."""

    def greet(sock: socket.socket) -> socket.socket:
        sock.recv(65536)
        sock.sendall(data)
        return silent(sock)

    return greet


PLAIN = saying(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
"""A server of plain HTTP at the port of TLS."""

REFUSAL = saying(bytes((21, 3, 3, 0, 2, 2, 40)))
"""The alert handshake_failure."""
