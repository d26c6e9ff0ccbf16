"""TLS for ``twisted``: its own binding of OpenSSL, pyOpenSSL, and service-identity.

Twisted verifies certificates with pyOpenSSL, and host names with service-identity. The
errors of both are not those of Python's ``ssl``. They become those here, so that every
backend reports the same kinds.

Since 26.4, Twisted accepts a trusted certificate that names no host: service-identity raises
another error for it, which Twisted's callback logs as unexpected. So the callback here is
ours. It calls service-identity as Twisted's does, and refuses whatever is not verified.
"""

from __future__ import annotations

import re
import ssl
import weakref
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from OpenSSL import SSL
from OpenSSL._util import lib
from OpenSSL.crypto import X509
from service_identity.cryptography import (
    verify_certificate_hostname,
    verify_certificate_ip_address,
)
from twisted.internet import error
from twisted.internet.interfaces import (
    IAddress,
    IHandshakeListener,
    IOpenSSLClientConnectionCreator,
)
from twisted.internet.protocol import Factory, connectionDone
from twisted.internet.ssl import (
    Certificate,
    CertificateOptions,
    TLSVersion,
    optionsForClientTLS,
    platformTrust,
    trustRootFromCertificates,
)
from twisted.protocols.tls import BufferingTLSTransport, TLSMemoryBIOFactory
from twisted.python.failure import Failure
from zope.interface import implementer  # type: ignore[import-untyped, unused-ignore]

from crawlers.job import Job, Origin
from crawlers.tls import HandshakeError, tls_error_kind
from crawlers.variants._twisted import Connection

PEM = re.compile(rb"-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----", re.DOTALL)
PROTOCOLS = [b"http/1.1"]


class Transport(BufferingTLSTransport):
    """TLS on a connection; ``below`` is how that ended: Twisted calls any cut one lost."""

    below: BaseException | None = None

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        """The connection below is lost."""
        self.below = reason.value
        super().connectionLost(reason)


@implementer(IHandshakeListener)
class SecureConnection(Connection):
    """A connection over TLS; ``secured`` tells whether its handshake is complete."""

    secured = False

    def handshakeCompleted(self) -> None:
        """Certificate and host name are right."""
        self.secured = True

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        """The connection is lost, in the handshake or after it."""
        if self.exchange is not None and (failed := self.failure(reason.value)):
            self.exchange.fail(failed)
        super().connectionLost(reason)

    def failure(self, value: BaseException | None) -> ssl.SSLError | None:
        """The error as one of ``ssl``; None for an end as over plain HTTP."""
        if isinstance(value, HandshakeError):
            return value
        if isinstance(value, SSL.Error):
            translated = translate(value, self.transport.getHandle())
            if self.secured:
                return translated
            return HandshakeError(tls_error_kind(translated, handshake=True))
        if not isinstance(self.transport.below, error.ConnectionDone):
            return None  # a reset
        if not self.secured:
            return HandshakeError("handshake")
        return ssl.SSLEOFError() if isinstance(value, error.ConnectionLost) else None


def translate(failed: SSL.Error, connection: SSL.Connection) -> ssl.SSLError:
    """An error of pyOpenSSL as one of ``ssl``."""
    errors = failed.args[0] if failed.args else ()
    reason = errors[-1][-1] if isinstance(errors, list) and errors else ""
    if reason == "certificate verify failed":
        unverified = ssl.SSLCertVerificationError(reason)
        # pyOpenSSL gives this to a callback only, which makes no error of it.
        unverified.verify_code = lib.SSL_get_verify_result(connection._ssl)
        return unverified
    translated = ssl.SSLError(ssl.SSL_ERROR_SSL, reason)
    translated.reason = reason.upper().replace(" ", "_")
    return translated


def is_name(host: str) -> bool:
    """Whether a host of a URL is a name, and not an address."""
    return bool(host.strip("0123456789.")) and ":" not in host


def verify_names(host: str, protocol: Any) -> Callable[..., bool]:  # noqa: ANN401
    """What OpenSSL calls for each certificate of a chain that the server has sent.

    The host must be in the first, the server's own. ``protocol`` is that of Twisted's TLS.
    """
    verify = verify_certificate_hostname if is_name(host) else verify_certificate_ip_address
    weak = weakref.ref(protocol)  # it keeps the connection, which keeps this callback
    failure: Any = Failure  # untyped

    def verified(_: SSL.Connection, certificate: X509, __: int, depth: int, ok: int) -> bool:
        if not ok or depth:
            return bool(ok)
        try:
            verify(certificate.to_cryptography(), host)
        except Exception:  # none gets through OpenSSL, and none means that the host is right
            if (connecting := weak()) is not None:
                connecting.failVerification(failure(HandshakeError("wrong_host")))
            return False
        return True

    return verified


@implementer(IOpenSSLClientConnectionCreator)
class Verified:
    """Makes Twisted's connections, and verifies the names of certificates itself."""

    def __init__(self, usual: Any, host: str) -> None:  # noqa: ANN401
        self.usual = usual
        self.host = host

    def clientConnectionForTLS(self, tlsProtocol: Any) -> SSL.Connection:  # noqa: ANN401
        """One connection."""
        connection: SSL.Connection = self.usual.clientConnectionForTLS(tlsProtocol)
        mode = SSL.VERIFY_PEER | SSL.VERIFY_FAIL_IF_NO_PEER_CERT
        connection.set_verify(mode, verify_names(self.host, tlsProtocol))
        return connection


@implementer(IOpenSSLClientConnectionCreator)
class Unverified:
    """Makes connections that verify nothing, but name the server, for ``--insecure``."""

    def __init__(self, options: Any, host: str) -> None:  # noqa: ANN401
        self.context = options.getContext()
        self.host = host

    def clientConnectionForTLS(self, tlsProtocol: Any) -> SSL.Connection:  # noqa: ANN401
        """One connection."""
        connection = SSL.Connection(self.context, None)
        if is_name(self.host):
            connection.set_tlsext_host_name(self.host.encode("ascii"))
        return connection


class Maker(Factory):
    """Hands out one connection."""

    noisy = False

    def __init__(self, connection: SecureConnection) -> None:
        self.connection = connection

    def buildProtocol(self, addr: IAddress | None) -> SecureConnection:
        """The connection."""
        return self.connection


@cache
def creator(host: str, cafile: str | None, insecure: bool) -> Any:  # noqa: ANN401
    """What makes the connections to a host, with one context for all of them."""
    settings = {"raiseMinimumTo": TLSVersion.TLSv1_2}
    if insecure:
        options = CertificateOptions(verify=False, acceptableProtocols=PROTOCOLS, **settings)
        return Unverified(options, host)
    system: Any = platformTrust
    trust = system() if cafile is None else trusted(cafile)
    usual = optionsForClientTLS(
        host,
        trustRoot=trust,
        acceptableProtocols=PROTOCOLS,
        extraCertificateOptions=settings,
    )
    return Verified(usual, host)


def trusted(cafile: str) -> Any:  # noqa: ANN401
    """The authorities in a PEM file."""
    found = PEM.findall(Path(cafile).read_bytes())
    load: Any = trustRootFromCertificates
    return load([Certificate.loadPEM(each) for each in found])


def factory(
    connection: SecureConnection,
    origin: Origin,
    job: Job,
    reactor: Any,  # noqa: ANN401
) -> TLSMemoryBIOFactory:
    """Wraps a connection in TLS."""
    maker: Any = Maker(connection)
    wrapper = TLSMemoryBIOFactory(
        creator(origin.host, job.cafile, job.insecure), True, maker, clock=reactor
    )
    wrapper.protocol = Transport
    wrapper.noisy = False
    return wrapper
