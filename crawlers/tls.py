"""TLS for the backends: whom to trust, and what an error of the handshake means.

Only a crawl that meets an ``https`` URL imports this module, and with it OpenSSL.
"""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Final

from crawlers.job import JobError

_VERIFY_KINDS: Final = {
    9: "expired",  # X509_V_ERR_CERT_NOT_YET_VALID
    10: "expired",  # X509_V_ERR_CERT_HAS_EXPIRED
    18: "self_signed",  # X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT
    62: "wrong_host",  # X509_V_ERR_HOSTNAME_MISMATCH
    64: "wrong_host",  # X509_V_ERR_IP_ADDRESS_MISMATCH
}
"""OpenSSL's verdicts on a certificate; any other is about its authority: ``untrusted``."""

_TOO_OLD: Final = frozenset(
    {"UNSUPPORTED_PROTOCOL", "TLSV1_ALERT_PROTOCOL_VERSION", "NO_PROTOCOLS_AVAILABLE"}
)
_NO_RECORD: Final = frozenset(
    {"WRONG_VERSION_NUMBER", "HTTP_REQUEST", "PACKET_LENGTH_TOO_LONG", "RECORD_LAYER_FAILURE"}
)
"""Bytes that are no TLS record; before a handshake they are another protocol."""


class HandshakeError(ssl.SSLError):
    """A handshake failed; ``kind`` is the error kind."""

    def __init__(self, kind: str) -> None:
        super().__init__(kind)
        self.kind = kind


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
    context.set_alpn_protocols(["http/1.1"])
    if insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    elif cafile is None:
        context.load_default_certs()
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
    reason = getattr(error, "reason", None) or ""  # one made in Python has none
    if reason in _TOO_OLD:
        return "tls_version"
    if isinstance(error, ssl.SSLEOFError) or reason == "UNEXPECTED_EOF_WHILE_READING":
        return "handshake" if handshake else "truncated"
    if isinstance(error, ssl.SSLZeroReturnError):
        return "handshake" if handshake else "closed"
    if reason in _NO_RECORD and handshake is not False:
        return "not_tls"
    return "handshake" if handshake else "broken_record"


@contextmanager
def handshaking() -> Iterator[None]:
    """Around a handshake: its errors become :class:`HandshakeError`.

    Errors of the socket below stay as they are, except for a connection that was
    closed, which asyncio reports as a ConnectionError without a number.
    """
    try:
        yield
    except HandshakeError:
        raise
    except ssl.SSLError as error:
        raise HandshakeError(tls_error_kind(error, handshake=True)) from error
    except ConnectionError as error:
        if error.errno is not None:
            raise
        raise HandshakeError("handshake") from error
