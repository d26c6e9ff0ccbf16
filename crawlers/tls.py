"""TLS for the backends: whom to trust, and what an error of the handshake means.

Only a crawl that meets an ``https`` URL imports this module, and with it OpenSSL.
"""

from __future__ import annotations

import errno
import os
import socket
import ssl
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from selectors import EVENT_READ, EVENT_WRITE
from typing import TYPE_CHECKING, Final

from crawlers.job import JobError

if TYPE_CHECKING:
    from typing_extensions import Buffer

_VERIFY_KINDS: Final = {
    9: "expired",  # X509_V_ERR_CERT_NOT_YET_VALID
    10: "expired",  # X509_V_ERR_CERT_HAS_EXPIRED
    18: "self_signed",  # X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT
    62: "wrong_host",  # X509_V_ERR_HOSTNAME_MISMATCH
    64: "wrong_host",  # X509_V_ERR_IP_ADDRESS_MISMATCH
    87: "wrong_host",  # X509_V_ERR_EMPTY_SUBJECT_ALT_NAME, where a library checks strictly
}
"""OpenSSL's verdicts on a certificate; any other is about its authority: ``untrusted``."""

_TOO_OLD: Final = frozenset(
    {"UNSUPPORTED_PROTOCOL", "TLSV1_ALERT_PROTOCOL_VERSION", "NO_PROTOCOLS_AVAILABLE"}
)
_NO_RECORD: Final = frozenset(
    {"WRONG_VERSION_NUMBER", "HTTP_REQUEST", "PACKET_LENGTH_TOO_LONG", "RECORD_LAYER_FAILURE"}
)
"""Bytes that are no TLS record; before a handshake they are another protocol."""

_REFUSALS: Final = frozenset(
    {
        "TLSV13_ALERT_CERTIFICATE_REQUIRED",
        "SSLV3_ALERT_HANDSHAKE_FAILURE",
        "SSLV3_ALERT_BAD_CERTIFICATE",
        "SSLV3_ALERT_CERTIFICATE_UNKNOWN",
        "TLSV1_ALERT_UNKNOWN_CA",
        "TLSV1_ALERT_ACCESS_DENIED",
    }
)
"""How a server refuses a client without a certificate.

In TLS 1.3 it says so when the client's handshake is over already.
"""


class HandshakeError(ssl.SSLError):
    """A handshake failed; ``kind`` is the error kind."""

    def __init__(self, kind: str) -> None:
        super().__init__(kind)
        self.kind = kind


class TellsRefusals:
    """A socket that says why the server hung up, if a reset comes before a request is sent."""

    def send(self, data: Buffer, flags: int = 0) -> int:
        """Send as ever, but raise the alert that came before a reset."""
        try:
            sent: int = super().send(data, flags)  # type: ignore[misc]
            return sent
        except ConnectionError as reset:
            forget_errors()
            try:
                super().read(1)  # type: ignore[misc]
            except ssl.SSLError as said:
                if said.reason in _REFUSALS:
                    raise said from reset
            except OSError:
                forget_errors()
            raise


class TellsResets:
    """A socket that tells a reset from the end of a stream; before 3.12.3 Python's does not."""

    def read(self, len: int = 1024, buffer: Buffer | None = None) -> bytes:
        """Read as ever, but raise :class:`ConnectionResetError` for a reset."""
        try:
            data: bytes = super().read(len, buffer)  # type: ignore[misc]
            return data
        except ssl.SSLEOFError as error:
            self._raise_reset(error)
            raise

    def send(self, data: Buffer, flags: int = 0) -> int:
        """Send as ever, but raise :class:`ConnectionResetError` for a reset."""
        try:
            sent: int = super().send(data, flags)  # type: ignore[misc]
            return sent
        except ssl.SSLEOFError as error:
            self._raise_reset(error)
            raise

    def _raise_reset(self, error: ssl.SSLEOFError) -> None:
        """An error of the socket has no reason; ends that OpenSSL finds itself have one."""
        if not error.reason:
            try:
                self.getpeername()  # type: ignore[attr-defined]
            except OSError:
                number = errno.ECONNRESET
                raise ConnectionResetError(number, os.strerror(number)) from error


@cache
def client_context(
    cafile: str | None, insecure: bool, kind: type[ssl.SSLContext] | None = None
) -> ssl.SSLContext:
    """The settings of every connection over TLS, made once per process.

    Certificates and host names are verified, against the authorities in
    ``cafile`` or those of the system; with ``insecure`` nothing is. Servers must
    speak TLS 1.2 or newer. ``kind`` is the class of the context, if it is not that of
    ``ssl``. Raises :class:`JobError` for a file that holds no
    certificates.
    """
    context = (kind or ssl.SSLContext)(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.hostname_checks_common_name = False  # RFC 9525, 2
    # Python ignores streams that end without close_notify, unless told otherwise here too.
    context.options &= ~ssl.OP_IGNORE_UNEXPECTED_EOF
    context.set_alpn_protocols(["http/1.1"])
    usual = context.sslsocket_class
    more = (TellsRefusals, TellsResets) if sys.version_info < (3, 12, 3) else (TellsRefusals,)
    context.sslsocket_class = type(usual.__name__, (*more, usual), {})
    if insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    elif cafile is None:
        context.load_default_certs()
    elif os.path.exists(cafile) and not os.path.isfile(cafile):  # a FIFO waits for a writer
        raise JobError(f"--cafile {cafile}: not a regular file")
    else:
        try:
            context.load_verify_locations(cafile)
        except ssl.SSLError:
            raise JobError(f"--cafile {cafile}: not a file of PEM certificates") from None
        except OSError as error:
            raise JobError(f"--cafile {cafile}: {error.strerror}") from None
    return context


def tls_error_kind(error: ssl.SSLError, *, handshake: bool | None = None) -> str:
    """The error kind of an error of TLS.

    ``handshake`` tells whether it came in the handshake or after it; with None,
    the error itself must tell. ``truncated`` is a stream that ended without
    close_notify; :meth:`crawlers.http.Exchange.fail` knows whether that matters.
    """
    if isinstance(error, HandshakeError):
        return error.kind
    if isinstance(error, ssl.SSLCertVerificationError):
        return _VERIFY_KINDS.get(error.verify_code, "untrusted")
    reason = getattr(error, "reason", None)  # one made in Python has none
    if reason in _TOO_OLD:
        return "tls_version"
    if isinstance(error, ssl.SSLEOFError) or reason == "UNEXPECTED_EOF_WHILE_READING":
        return "handshake" if handshake else "truncated"
    if isinstance(error, ssl.SSLZeroReturnError):
        return "handshake" if handshake else "closed"
    if reason in _REFUSALS:
        return "handshake"
    if reason in _NO_RECORD and handshake is not False:
        return "not_tls"
    return "handshake" if handshake else "broken_record"


@contextmanager
def handshaking() -> Iterator[None]:
    """Around a handshake: its errors become :class:`HandshakeError`.

    Errors of the socket below stay as they are, except for a connection that was
    closed, which asyncio reports as a ConnectionError without a number. On a stack of
    64 KiB, CPython 3.14 refuses to compare an error with a tuple of kinds here.
    """
    try:
        yield
    except ssl.SSLError as error:
        if isinstance(error, HandshakeError) or wanted_event(error) is not None:
            raise
        raise HandshakeError(tls_error_kind(error, handshake=True)) from error
    except ConnectionError as error:
        if error.errno is not None:
            raise
        raise HandshakeError("handshake") from error


def wanted_event(error: OSError) -> int | None:
    """What a socket must be ready for before an operation can go on; None if it failed."""
    if isinstance(error, ssl.SSLWantReadError):
        return EVENT_READ
    return EVENT_WRITE if isinstance(error, ssl.SSLWantWriteError) else None


def forget_errors() -> None:
    """Empty OpenSSL's queue of errors, which all connections of a thread share.

    OpenSSL 3.6 puts a failed write into it (3.0 does not), and from 3.12.3 on, CPython
    leaves it there. The next operation of another connection would report it, instead of
    "nothing to read yet": https://github.com/python/cpython/issues/148594. A new
    connection empties the queue.
    """
    if sys.version_info >= (3, 12, 3):
        _server_context().wrap_bio(ssl.MemoryBIO(), ssl.MemoryBIO(), server_side=True)


@cache
def _server_context() -> ssl.SSLContext:
    return ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)


def has_nothing(sock: ssl.SSLSocket) -> bool:
    """Whether an idle connection is open and holds no data.

    The bytes that wait on it may be session tickets, or another message that TLS
    deals with itself. To look is to read; data would be lost with the connection.
    """
    before = sock.gettimeout()
    try:
        sock.setblocking(False)
        sock.recv(1)
    except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
        sock.settimeout(before)
        return True
    except OSError:
        forget_errors()  # a reset, or a bad record
    return False


def farewell(sock: socket.socket) -> None:
    """Tell the server that no more will come, without waiting for its answer."""
    if isinstance(sock, ssl.SSLSocket):
        try:
            sock.setblocking(False)
            sock.unwrap()
        except ssl.SSLError:
            pass  # no answer yet, or no handshake
        except (OSError, ValueError):  # a connection that is broken, or closed
            forget_errors()
