"""urllib3: the blocking stack below requests, one pool for all threads.

It waits and switches like ``threads``. What a connection costs: a thread, and the objects of
http.client and urllib3. Changed against ``threads``: the parser, the pool and everything else above
the socket are those of urllib3 and the standard library's http.client. This is a stack and not a
model.

A slot calls ``PoolManager().request()``. The pool for a host is as large as the number of slots,
and blocks, as the documentation says for threads. A connection sends the frontier's target, because
urllib3 would write some escapes in capitals, and a server may tell the two apart. The body is read
in one call, and if its length is not known or too large, no further than the limit. Timeouts are
urllib3's: for the connection, and for each wait after that. It has no means to end a call that
another thread waits in, so a crawl that must stop waits for the answers in flight, or for their
timeouts.
"""

from __future__ import annotations

import socket
import ssl
import threading
from contextlib import suppress
from http.client import BadStatusLine, IncompleteRead, RemoteDisconnected
from time import monotonic
from typing import Any

import urllib3
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.exceptions import (
    ConnectTimeoutError,
    InsecureRequestWarning,
    LocationValueError,
    NewConnectionError,
    ProtocolError,
)

from crawlers import threads
from crawlers.http import Exchange
from crawlers.job import CrawlReport, Fetch, Job
from crawlers.recorder import Recorder
from crawlers.threads import Slot, run
from crawlers.tls import handshaking
from crawlers.variants._stack import UNCODED, Answer, causes, kind_behind, version_of


class Here(threading.local):
    """What the calling thread fetches, and for which job; the pool does not pass it on.

    ``connecting`` is set while it opens a connection over TLS.
    """

    job: Job
    item: Fetch
    connecting = False


here = Here()


class Connection(HTTPConnection):
    """Goes to the frontier's addresses and sends its target, whose escapes urllib3 would change."""

    fresh = False
    """Over TLS the pool connects before it sends: this connection has carried no request."""

    def _new_conn(self) -> socket.socket:
        """Connect to the first address that answers, of those that the frontier has checked."""
        named = self._dns_host
        *others, last = [str(known.sockaddr[0]) for known in here.item.origin.addresses]
        try:
            for self._dns_host in others:
                with suppress(NewConnectionError, ConnectTimeoutError):
                    return super()._new_conn()
            self._dns_host = last
            return super()._new_conn()
        finally:
            self._dns_host = named

    def request(self, method: str, url: str, *more: Any, **settings: Any) -> None:  # noqa: ANN401
        """Send the request."""
        # After a stale connection the pool's next one might be stale as well. And where we
        # asked for the end of a connection but the answer did not say so, urllib3 keeps it.
        unsure = here.item.stale or settings["headers"].get("Connection") == "close"
        if unsure and not self.fresh:
            self.close()  # connect again
        super().request(method, here.item.target, *more, **settings)


class VerifiedConnection(Connection, HTTPSConnection):
    """Such a connection over TLS, which tells errors of the handshake from later ones."""

    def connect(self) -> None:
        """Connect, and do the handshake."""
        here.connecting = True
        with handshaking():
            super().connect()
        here.connecting = False
        self.fresh = True

    def request(self, method: str, url: str, *more: Any, **settings: Any) -> None:  # noqa: ANN401
        """Send the request."""
        super().request(method, url, *more, **settings)
        self.fresh = False


class SecureConnection(VerifiedConnection):
    """Such a connection with the settings that every backend uses."""

    def connect(self) -> None:
        """Connect with our context, as ``ssl_context`` does, and no authorities besides."""
        self.ssl_context = self.settings()
        self.cert_reqs = self.ssl_context.verify_mode
        self.ca_certs = self.ca_cert_dir = self.ca_cert_data = None
        super().connect()

    def settings(self) -> ssl.SSLContext:
        """The context that all connections share."""
        context = here.item.origin.tls
        assert context is not None
        return context


class Pool(HTTPConnectionPool):
    """A pool of such connections."""

    ConnectionCls = Connection


class SecurePool(HTTPSConnectionPool):
    """A pool of such connections over TLS."""

    ConnectionCls = SecureConnection


def allow_insecure(job: Job) -> None:
    """Let urllib3 not warn at each request, where the command line has warned already."""
    if job.insecure:
        urllib3.disable_warnings(InsecureRequestWarning)


class Shared(threads.Shared):
    """The state that the slots of one crawl share, and the pools."""

    def __init__(self, job: Job, recorder: Recorder) -> None:
        super().__init__(job, recorder)
        self.pools = urllib3.PoolManager(
            maxsize=job.slots,
            block=True,
            headers=UNCODED if job.keep_alive else UNCODED | {"Connection": "close"},
            timeout=job.timeout_s,
            retries=False,
        )
        self.pools.pool_classes_by_scheme = {"http": Pool, "https": SecurePool}
        allow_insecure(job)


def fetch(shared: Shared, slot: Slot, item: Fetch) -> Exchange:
    """One exchange: the pool connects if needed, sends and parses."""
    answer = Answer(item, shared.job.max_body)
    answer.reused = shared.job.keep_alive and not item.stale  # urllib3 does not tell
    try:
        if item.due and shared.over.wait(item.due - monotonic()):
            answer.abort("cancelled")
            return answer
        slot.started = monotonic()
        here.job, here.item = shared.job, item
        response = shared.pools.request("GET", item.url, redirect=False, preload_content=False)
        response.CONTENT_DECODERS = []
        answer.reused = False  # it has answered, so it was not stale
        try:
            # Of interim answers urllib3 skips 100 alone: the next request would get the final one.
            if response.status < 200 or not answer.take_body(
                body_of(response, shared.job.max_body)
            ):
                response.close()
        finally:
            response.release_conn()
        if slot.aborted is not None:
            answer.abort(slot.aborted)
        answer.complete(response.status, head_of(response))
    except Exception as error:
        failed(answer, slot.aborted or kind_of(error))
    return answer


def failed(answer: Answer, kind: str) -> None:
    """The connection failed; while it shakes hands it is new, and not stale."""
    answer.reused = answer.reused and not here.connecting
    here.connecting = False
    answer.broken(kind)


def body_of(response: urllib3.BaseHTTPResponse, most: int) -> bytes:
    """The body; one byte more than ``most`` if it is too large."""
    length = response.headers.get("Content-Length", "")
    if length.isdecimal() and int(length) <= most:
        return response.data
    return response.read(most + 1)


def head_of(response: urllib3.BaseHTTPResponse) -> list[tuple[bytes, bytes]]:
    """The headers as they came; http.client decodes them as Latin-1."""
    return [
        (name.encode("latin-1"), value.encode("latin-1", "replace"))
        for name, value in response.headers.items()
    ]


def kind_of(error: Exception) -> str:
    """The error kind for an exception of urllib3."""
    behind = list(causes(error))
    if any(map(early_end, behind)):
        return "closed"
    if isinstance(error, LocationValueError | UnicodeError):
        return "unsupported"
    # Errors of a handshake say so themselves.
    return kind_behind(error, handshake=False) or "protocol"


def early_end(error: BaseException) -> bool:
    """Whether this is what http.client or urllib3 raises where the stream ends too early."""
    if isinstance(error, ProtocolError):
        return "ended prematurely" in str(error)  # it is the class of many errors
    if isinstance(error, BadStatusLine) and not isinstance(error, RemoteDisconnected):
        line = str(error)
        return not line.endswith("\n") and line[:5] == "HTTP/"[: len(line)]
    return isinstance(error, RemoteDisconnected | IncompleteRead)


def crawl(job: Job, recorder: Recorder) -> CrawlReport:
    """Crawl with one thread for each slot, all on one pool."""
    shared = Shared(job, recorder)
    try:
        report = run("urllib3", shared, fetch)
    finally:
        shared.pools.clear()
    report.mechanism["stack"] = version_of("urllib3")
    return report
