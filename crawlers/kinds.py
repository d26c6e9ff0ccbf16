"""The kinds of failures, the same in every backend, and which of them deserve another try."""

from __future__ import annotations

import errno
import socket
import sys
from typing import Final

ERROR_KINDS: Final = {
    "refused": "nothing listens at that address",
    "reset": "the connection was reset",
    "closed": "the connection was closed before the response was complete",
    "timeout": "no complete response within the timeout",
    "unreachable": "no route to the host",
    "unknown_host": "the host name does not resolve",
    "limit": "no descriptor, port or local address is left for a new connection",
    "network": "another network error",
    "stale": "a kept-alive connection was closed before it was used again",
    "protocol": "the response is not HTTP",
    "too_large": "the response is larger than allowed",
    "coded": "the page has a Content-Encoding, which we did not ask for; its links are not read",
    "bad_redirect": "a redirect without a usable Location",
    "too_many_redirects": "the redirect budget was used up",
    "redirect_loop": "the redirects lead back to where they started",
    "untrusted": "no trusted authority has signed its certificate; trust one with --cafile FILE",
    "self_signed": "its certificate is signed by itself; trust it with --cafile FILE",
    "expired": "its certificate has expired, or is not valid yet",
    "wrong_host": "its certificate is for another host",
    "tls_version": "the server has no version of TLS that is new enough",
    "not_tls": "the server does not speak TLS at that port; is it http://?",
    "handshake": "the TLS handshake was cut or refused; the server may require a certificate",
    "broken_record": "the TLS stream broke: a bad record, or an alert",
    "truncated": "the TLS stream ended without its end mark, so the body may be cut",
    "cancelled": "the crawl was stopped before it was fetched",
    "unsupported": "the HTTP library of this backend cannot send this request",
    "forbidden": "robots.txt forbids it or cannot be had, or --any-host is off",
}
"""Every error kind and its meaning."""

RETRYABLE: Final = frozenset(
    {"refused", "reset", "closed", "timeout", "unreachable", "network", "handshake", "truncated"}
)
"""Connection failures that may go away with another try."""

UNREACHED = frozenset({"refused", "unreachable", "network"})
"""Failures to connect: another address of the same server may do better."""

_ERRNO_KINDS: Final = {
    errno.ECONNREFUSED: "refused",
    errno.ECONNRESET: "reset",
    errno.EPIPE: "reset",
    errno.ECONNABORTED: "reset",
    errno.ENOTCONN: "reset",
    errno.ETIMEDOUT: "timeout",
    errno.EHOSTUNREACH: "unreachable",
    errno.ENETUNREACH: "unreachable",
    errno.EMFILE: "limit",
    errno.ENFILE: "limit",
    errno.EADDRNOTAVAIL: "limit",
    errno.ENOBUFS: "limit",
}


def error_kind(error: Exception, *, handshake: bool | None = None) -> str:
    """The error kind of a socket's error, or of any other that a library raises.

    ``handshake`` tells whether an error of TLS came in the handshake or after it.
    """
    if isinstance(error, TimeoutError):
        return "timeout"
    if isinstance(error, socket.gaierror):
        return "unknown_host"
    if isinstance(error, RuntimeError):
        return "reset"  # uvloop raises it for a connection that was lost while it was idle
    ssl = sys.modules.get("ssl")  # without it there is no such error
    if ssl is not None and isinstance(error, ssl.SSLError):
        from crawlers.tls import tls_error_kind

        return tls_error_kind(error, handshake=handshake)
    if not isinstance(error, OSError):
        return "network"
    if (tls := sys.modules.get("crawlers.tls")) is not None:
        tls.forget_errors()
    if error.errno is None and isinstance(error, ConnectionError):
        return "reset"  # asyncio's streams raise it without a number
    return _ERRNO_KINDS.get(error.errno or 0, "network")
