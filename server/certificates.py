"""Certificates for ``--tls``: a throw-away authority.

The authority's private key never leaves this process, and both end with it. The
authority's certificate is what a client needs, as ``--cafile``. Without a place
of its own it lives in memory, under a name in ``/proc`` that ends with this
process, however that ends. Where the kernel refuses a file in memory, it is a
temporary one.
"""

from __future__ import annotations

import contextlib
import datetime
import os
import ssl
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace

VERSIONS = {
    "any": (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.MAXIMUM_SUPPORTED),
    "1.2": (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_2),
    "1.3": (ssl.TLSVersion.TLSv1_3, ssl.TLSVersion.TLSv1_3),
}
KINDS = ("ecdsa", "rsa")
"""Keys on the curve P-256, and RSA keys of 2048 bits."""

MARK = b"# The throw-away authority of a c10k-crawlers fixture server. Trust it in tests only.\n"
"""The first line of each file that is written here."""


class TlsError(ValueError):
    """The options for TLS cannot be used; the message says what to change."""


@dataclass(frozen=True, slots=True)
class Facts:
    """The options for TLS, and what the ready line says; ``key`` is the kind of key."""

    key: str
    version: str
    tickets: bool
    cafile: str | None


class Authority:
    """A throw-away authority and the kind of its keys."""

    def __init__(self, kind: str) -> None:
        import trustme

        self._key = {"ecdsa": trustme.KeyType.ECDSA, "rsa": trustme.KeyType.RSA}[kind]
        self._made = trustme.CA(
            organization_name="c10k-crawlers fixture server", key_type=self._key
        )

    @property
    def certificate(self) -> bytes:
        """What a client has to trust."""
        return MARK + self._made.cert_pem.bytes()

    def issue(
        self, context: ssl.SSLContext, *names: str, until: datetime.datetime | None = None
    ) -> None:
        """Give a context a new certificate and key, for these addresses and host names."""
        leaf = self._made.issue_cert(*names, key_type=self._key, not_after=until)
        leaf.configure_cert(context)

    def stand_for_itself(self, context: ssl.SSLContext) -> None:
        """Give a context the authority's own certificate, which it has signed itself."""
        with (
            self._made.private_key_pem.tempfile() as key,
            self._made.cert_pem.tempfile() as certificate,
        ):
            context.load_cert_chain(certificate, key)


@dataclass(frozen=True, slots=True)
class Tls:
    """How to serve over TLS. ``names`` are those that the certificate is valid for."""

    context: ssl.SSLContext
    facts: Facts
    authority: Authority
    names: tuple[str, ...]


def new_context(version: str = "any") -> ssl.SSLContext:
    """A context without a certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version, context.maximum_version = VERSIONS[version]
    context.options |= ssl.OP_NO_RENEGOTIATION
    context.set_alpn_protocols(["http/1.1"])
    return context


@contextlib.contextmanager
def prepared(wanted: Facts, host: str | None) -> Iterator[Tls]:
    """Everything to serve over TLS with.

    A new certificate is valid for 127.0.0.1, ::1, ``localhost`` and ``host``.
    The file with the authority's certificate exists for the length of the
    ``with``. Raises :class:`TlsError` if an option cannot be used.
    """
    context = new_context(wanted.version)
    names = tuple(dict.fromkeys(["127.0.0.1", "::1", "localhost", *([host] if host else [])]))
    if not wanted.tickets:
        context.options |= ssl.OP_NO_TICKET
        context.num_tickets = 0
    authority = Authority(wanted.key)
    authority.issue(context, *names)
    with published(authority.certificate, wanted.cafile) as cafile:
        yield Tls(context, replace(wanted, cafile=cafile), authority, names)


@contextlib.contextmanager
def published(certificate: bytes, place: str | None) -> Iterator[str]:
    """A file with a certificate for the length of a ``with``: its name.

    ``place`` is where to write it; by default nobody has to remove it. Raises
    :class:`TlsError` if something is there, and :class:`OSError` with a message for people.
    """
    in_memory = False
    if place is None:
        try:
            descriptor = os.memfd_create("c10k-tls-authority")
            name, in_memory = f"/proc/{os.getpid()}/fd/{descriptor}", True
        except OSError:  # a sandbox may refuse it
            descriptor, name = tempfile.mkstemp(prefix="c10k-tls-authority-", suffix=".pem")
    else:
        name = os.path.abspath(place)
        try:
            descriptor = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
        except FileExistsError:
            raise TlsError(
                f"--cafile {name}: something else is there; give a file that does not exist"
            ) from None
        except OSError as error:
            raise TlsError(f"--cafile {name}: {os.strerror(error.errno or 0).lower()}") from None
    try:
        try:
            os.write(descriptor, certificate)
        except OSError as error:
            raise OSError(f"{name}: {os.strerror(error.errno or 0).lower()}") from None
        yield name
    finally:
        os.close(descriptor)
        if not in_memory:
            with contextlib.suppress(OSError):
                os.unlink(name)
