"""Shared by the HTTP stacks: translates their answers and errors into ours.

A stack parses HTTP and keeps its connections itself, in a pool as large as the number of slots.
Everything else is the same as in the models: frontier, retries, redirects, link extraction, limits
on size and time. It connects to the addresses that the frontier has checked, and to no proxy, so
that it stays on this machine where the models do. It takes no cookies. Bodies come as they were
sent: a page in a content coding is an error in all backends. All else is as the library ships.

The server sees these differences. Connections belong to the pools and not to the slots. Headers are
the library's, but for Accept-Encoding. No library tells whether a connection was used before. So
with keep-alive, a connection that ends without an answer counts as stale once for each URL, even
if it was new.
"""

from __future__ import annotations

import ssl
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib.metadata import version
from typing import Any, Final

from crawlers.http import Exchange
from crawlers.job import Fetch
from crawlers.kinds import error_kind

UNCODED: Final = {"Accept-Encoding": "identity"}
"""The header that asks for content without a coding, as the models do."""

KEEP_S: Final = 3600.0
"""Seconds that a pool keeps an idle connection: as long as any crawl, like the models."""


def version_of(stack: str) -> str:
    """Name and version of a distribution, for the report."""
    return f"{stack} {version(stack)}"


class Answer(Exchange):
    """An exchange that a stack carries out and fills in."""

    __slots__ = ("on_new_connection",)

    def __init__(self, item: Fetch, max_body: int) -> None:
        super().__init__(item, max_body)
        self.on_new_connection = item.stale
        # The stack's pool decides whether to keep the connection.
        self.keep_alive = True

    def take_body(self, data: bytes) -> bool:
        """Take a piece of the body; False if it is too large and the stack must stop."""
        self.on_body(data)
        if self.size > self.max_body:
            self.abort("too_large")
        return not self.done

    def complete(self, status: int, headers: Iterable[tuple[bytes, bytes]]) -> None:
        """The body is complete; ``headers`` are the lines of the response's head."""
        if self.done:
            return
        self.status = status
        self.headers = {}
        for name, value in headers:
            self.on_header(name, value)
        self.done = True

    def broken(self, kind: str) -> None:
        """The connection failed; it was stale if it was used before and nothing was answered.

        An end without close_notify is ``truncated`` only where it would end a body; a
        stack that knows this aborts the answer with that kind itself.
        """
        kind = "closed" if kind == "truncated" else kind
        self.abort(kind if self.on_new_connection else self._or_stale(kind))


def causes(error: BaseException) -> Iterator[BaseException]:
    """The error and all of its causes, without what TLS has waited for: that is no error."""
    seen: set[int] = set()
    behind: list[object] = [error]
    while behind:
        link = behind.pop()
        if isinstance(link, BaseException) and id(link) not in seen:
            seen.add(id(link))
            if not isinstance(link, ssl.SSLWantReadError | ssl.SSLWantWriteError):
                yield link
            # Several stacks pass the cause as an argument.
            behind += [*link.args, link.__context__, link.__cause__]
            if isinstance(link, BaseExceptionGroup):
                behind += link.exceptions


def tls_behind(error: BaseException) -> Any:  # noqa: ANN401
    """The error of ``ssl`` that a library has wrapped, if any; not the library's own subclass."""
    return next((e for e in causes(error) if type(e).__module__ in ("ssl", "crawlers.tls")), None)


def cause_of(error: BaseException) -> Any:  # noqa: ANN401
    """The error of ``ssl`` that a library has wrapped, else that of a socket, if any."""
    sockets = (e for e in causes(error) if isinstance(e, OSError) and e.errno)
    return tls_behind(error) or next(sockets, None)


def kind_behind(error: BaseException, *, handshake: bool | None = None) -> str | None:
    """The error kind of the error of a socket or of TLS that a stack has wrapped, if any.

    ``handshake`` tells whether an error of TLS came in the handshake or after it.
    """
    if encrypted := tls_behind(error):
        return error_kind(encrypted, handshake=handshake)
    for link in causes(error):
        if isinstance(link, OSError) and (link.errno or isinstance(link, TimeoutError)):
            return error_kind(link)
        if handshake and isinstance(link, ConnectionError):
            return "handshake"  # asyncio raises it without a number for a handshake that was cut
    return None


@contextmanager
def handshaking() -> Iterator[None]:
    """Around a handshake: its errors, wrapped or not, become a HandshakeError of crawlers.tls."""
    from crawlers import tls

    try:
        with tls.handshaking():
            yield
    except Exception as error:
        if (encrypted := tls_behind(error)) is None:
            raise
        raise tls.HandshakeError(tls.tls_error_kind(encrypted, handshake=True)) from error
