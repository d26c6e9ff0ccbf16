"""urllib3, equalised: it does what the models do at every edge.

It waits and switches like ``urllib3``, and a connection costs the same. Changed
against ``urllib3``: subclasses of its connection and its response send the
frontier's target as it is, notice a head that was cut short, and tell the slot its
socket, so that the main thread can end a blocked call. Bodies are streamed, without
a decoder.

The server sees these differences. Connections belong to a pool for each host, as
large as the number of slots, and not to the slots. urllib3 tries the addresses of
a host in its own order.
"""

from __future__ import annotations

import threading
from http.client import HTTPResponse, IncompleteRead
from time import monotonic
from typing import Any, cast

import urllib3
from urllib3.connection import HTTPConnection
from urllib3.connectionpool import HTTPConnectionPool
from urllib3.exceptions import ProtocolError
from urllib3.util import SKIP_HEADER

from crawlers import threads
from crawlers.http import RECV_SIZE, Exchange
from crawlers.job import CrawlReport, Fetch, Job
from crawlers.recorder import Recorder
from crawlers.threads import Slot, run
from crawlers.variants._stack import Answer, request_headers, version_of
from crawlers.variants.urllib3 import head_of, kind_of

NO_HTTPS = "this form shuts down the socket below urllib3, and TLS is another socket; use urllib3"


class Here(threading.local):
    """What the calling thread is working on; the pool does not pass it on."""

    shared: threads.Shared
    slot: Slot
    item: Fetch
    answer: Answer


here = Here()


class Head:
    """The lines of a response's head: its end must not come before its empty line.

    http.client takes the end of the stream for the end of the head, and so a
    response that was cut there for an empty page.
    """

    def __init__(self, file: Any) -> None:  # noqa: ANN401
        self.file = file
        self.begun = False

    def readline(self, limit: int) -> bytes:
        """Read a line; raises IncompleteRead at the end of the stream."""
        line: bytes = self.file.readline(limit)
        if not line and self.begun:
            raise IncompleteRead(b"")
        self.begun = True
        return line

    def close(self) -> None:
        """Close the file below."""
        self.file.close()


class Response(HTTPResponse):
    """A response of http.client whose head must be complete."""

    def begin(self) -> None:
        """Read the head."""
        file, self.fp = self.fp, cast(Any, Head(self.fp))
        super().begin()
        if self.fp is not None:
            self.fp = file


class Connection(HTTPConnection):
    """Tells the slot that uses it which socket to shut down at a timeout."""

    response_class = Response

    def connect(self) -> None:
        """Connect, and tell the slot."""
        here.answer.reused = False
        super().connect()
        self.tell()

    def request(self, method: str, url: str, *more: Any, **settings: Any) -> None:  # noqa: ANN401
        """Tell the slot, and send the frontier's target, whose escapes urllib3 would change."""
        settings["headers"] = {**settings["headers"], "Accept-Encoding": SKIP_HEADER}
        if here.item.stale:
            self.close()  # connect again: the pool's next connection might be stale as well
        here.answer.reused = self.sock is not None
        if self.sock is not None:
            self.tell()
        super().request(method, here.item.target, *more, **settings)

    def tell(self) -> None:
        """Tell the slot which socket its thread waits on."""
        with here.shared.changed:
            here.slot.sock = self.sock
            here.slot.origin = here.item.origin


class Pool(HTTPConnectionPool):
    """A pool of such connections."""

    ConnectionCls = Connection


class Shared(threads.Shared):
    """The state that the slots of one crawl share, and the pools."""

    def __init__(self, job: Job, recorder: Recorder) -> None:
        super().__init__(job, recorder)
        self.pools = urllib3.PoolManager(
            maxsize=job.slots,
            block=True,
            headers=request_headers(job),
            timeout=urllib3.Timeout(connect=job.timeout_s, read=job.timeout_s),
            retries=False,
        )
        self.pools.pool_classes_by_scheme = {"http": Pool}


def fetch(shared: Shared, slot: Slot, item: Fetch) -> Exchange:
    """One exchange: the pool connects if needed, sends and parses."""
    answer = Answer(item, shared.job.max_body)
    here.shared, here.slot, here.item, here.answer = shared, slot, item, answer
    try:
        if item.due and shared.over.wait(item.due - monotonic()):
            answer.abort("cancelled")
            return answer
        slot.started = monotonic()
        response = shared.pools.request(
            "GET", item.url, redirect=False, preload_content=False, decode_content=False
        )
        read(slot, answer, response)
        answer.complete(response.status, head_of(response))
    except Exception as error:
        answer.broken(slot.aborted or kind_of(error))
    finally:
        release(shared, slot)
    return answer


def read(slot: Slot, answer: Answer, response: urllib3.BaseHTTPResponse) -> None:
    """Read the body, and give the connection back to the pool."""
    answer.reused = False  # it has answered, so it was not stale
    try:
        for data in response.stream(RECV_SIZE, decode_content=False):
            if not answer.take_body(data):
                response.close()
                break
    except ValueError as error:
        # A chunk of negative size: http.client takes it for a length.
        raise ProtocolError(str(error)) from error
    if slot.aborted is not None:
        answer.abort(slot.aborted)
        response.close()
    response.release_conn()


def release(shared: threads.Shared, slot: Slot) -> None:
    """From here on the socket may belong to another slot: do not shut it down for this one."""
    with shared.changed:
        slot.origin = None


def crawl(job: Job, recorder: Recorder) -> CrawlReport:
    """Crawl with one thread for each slot, all on one pool."""
    shared = Shared(job, recorder)
    try:
        report = run("urllib3_tuned", shared, fetch)
    finally:
        shared.pools.clear()
    report.mechanism["stack"] = version_of("urllib3")
    return report
