"""Certificates for ``--tls``: a throw-away authority, or files that you bring.

The authority's private key never leaves this process, and both end with it. The
authority's certificate is what a client needs, as ``--cafile``. Without a place
of its own it lives in memory, under a name in ``/proc`` that ends with this
process, however that ends.
"""

from __future__ import annotations

import contextlib
import datetime
import os
import ssl
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

VERSIONS = {
    "any": (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.MAXIMUM_SUPPORTED),
    "1.2": (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_2),
    "1.3": (ssl.TLSVersion.TLSv1_3, ssl.TLSVersion.TLSv1_3),
}
KINDS = ("ecdsa", "rsa")
"""Keys on the curve P-256, and RSA keys of 2048 bits."""

MARK = b"# The throw-away authority of a c10k-crawlers fixture server. Trust it in tests only.\n"
"""The first line of each file that is written here; only such a file is ever replaced."""


class TlsError(ValueError):
    """The options for TLS cannot be used; the message says what to change."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """The options for TLS: either the kind of a new ``key``, or two files that exist."""

    key: str | None
    version: str
    tickets: bool
    cafile: str | None
    certificate: str | None
    private_key: str | None


@dataclass(frozen=True, slots=True)
class Facts:
    """What the ready line says about TLS. ``cafile`` is None where the certificate was given."""

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
    authority: Authority | None
    names: tuple[str, ...]


def new_context(version: str = "any") -> ssl.SSLContext:
    """A context without a certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version, context.maximum_version = VERSIONS[version]
    context.options |= ssl.OP_NO_RENEGOTIATION
    context.set_alpn_protocols(["http/1.1"])
    return context


@contextlib.contextmanager
def prepared(wanted: Wanted, host: str | None) -> Iterator[Tls]:
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
    with contextlib.ExitStack() as stack:
        authority = cafile = None
        if wanted.key is None:
            assert wanted.certificate is not None
            assert wanted.private_key is not None
            key = load(wanted.certificate, wanted.private_key, context)
        else:
            key = wanted.key
            authority = Authority(key)
            authority.issue(context, *names)
            cafile = stack.enter_context(published(authority.certificate, wanted.cafile))
        facts = Facts(key, wanted.version, wanted.tickets, cafile)
        yield Tls(context, facts, authority, names)


def load(certificate: str, key: str, context: ssl.SSLContext) -> str:
    """Give a context the certificate and key in two files; returns the kind of the key.

    Raises :class:`TlsError` if they cannot be used.
    """
    for option, name in (("--certificate", certificate), ("--key", key)):
        try:
            with open(name, "rb"):
                pass
        except OSError as error:
            raise TlsError(f"{option} {name}: {os.strerror(error.errno or 0).lower()}") from None
    try:
        context.load_cert_chain(certificate, key, _no_password)
    except ssl.SSLError as error:
        if "MISMATCH" in str(error):
            raise TlsError(f"--key {key}: not the key of {certificate}") from None
        raise TlsError(
            f"--certificate {certificate} and --key {key}: not a certificate and its private "
            "key in PEM form"
        ) from None
    return _kind(certificate)


def _no_password() -> NoReturn:
    raise TlsError("--key: this private key is encrypted; give one without a password")


def _kind(certificate: str) -> str:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric import ec, rsa

    public = x509.load_pem_x509_certificate(Path(certificate).read_bytes()).public_key()
    if isinstance(public, rsa.RSAPublicKey):
        return "rsa"
    return "ecdsa" if isinstance(public, ec.EllipticCurvePublicKey) else type(public).__name__


@contextlib.contextmanager
def published(certificate: bytes, place: str | None) -> Iterator[str]:
    """A file with a certificate for the length of a ``with``: its name.

    ``place`` is where to write it; by default nobody has to remove it. Raises
    :class:`TlsError` if a file is there that is not one of ours.
    """
    if place is not None:
        with _written(certificate, Path(os.path.abspath(place))) as name:
            yield name
        return
    descriptor = os.memfd_create("c10k-tls-authority")
    try:
        os.write(descriptor, certificate)
        yield f"/proc/{os.getpid()}/fd/{descriptor}"
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _written(certificate: bytes, path: Path) -> Iterator[str]:
    """A file at this very place, complete from the first moment, and removed afterwards."""
    try:
        if os.path.lexists(path) and (path.is_symlink() or _head(path) != MARK):
            raise TlsError(
                f"--cafile {path}: something else is there; give a file that does not exist"
            )
        descriptor, part = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        try:
            with open(descriptor, "wb") as file:
                file.write(certificate)
                os.fchmod(descriptor, 0o644)
                ours = os.fstat(descriptor)
            os.replace(part, path)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(part)
            raise
    except OSError as error:
        raise TlsError(f"--cafile {path}: {os.strerror(error.errno or 0).lower()}") from None
    try:
        yield str(path)
    finally:
        with contextlib.suppress(OSError):  # another server may have its own file there now
            if os.path.samestat(os.lstat(path), ours):
                path.unlink()


def _head(path: Path) -> bytes:
    with open(path, "rb") as file:
        return file.read(len(MARK))
