"""Shared by the variants whose library wraps the errors of TLS in errors of its own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from crawlers import tls
from crawlers.tls import HandshakeError, tls_error_kind
from crawlers.variants._stack import tls_behind


@contextmanager
def handshaking() -> Iterator[None]:
    """Around a handshake: its errors become :class:`HandshakeError`, wrapped or not."""
    try:
        with tls.handshaking():
            yield
    except HandshakeError:
        raise
    except Exception as error:
        encrypted = tls_behind(error)
        if encrypted is None:
            raise
        raise HandshakeError(tls_error_kind(encrypted, handshake=True)) from error
