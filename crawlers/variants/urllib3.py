"""urllib3: the blocking stack below requests, one pool for all threads.

What waits and what switches are those of ``threads``. What a connection
costs: a thread, and the objects of http.client and urllib3. Changed against
``threads``: parser, pool and all else above the socket are those of urllib3
and of the standard library's http.client; this is a stack and not a model.

What differs at the server: connections belong to a pool of as many as there
are slots for each host, not to the slots. It tries the addresses of a host in
its own order.
"""

from __future__ import annotations

import threading
from http.client import IncompleteRead, RemoteDisconnected
from time import monotonic
from typing import Any

import urllib3
from urllib3.connection import HTTPConnection
from urllib3.connectionpool import HTTPConnectionPool
from urllib3.exceptions import HTTPError, ProtocolError

from crawlers import threads
from crawlers.http import RECV_SIZE, Exchange
from crawlers.job import CrawlReport, Fetch, Job
from crawlers.recorder import Recorder
from crawlers.threads import Slot, run
from crawlers.variants._stack import Answer, causes, kind_behind, request_headers, version_of


class Here(threading.local):
    """What the calling thread is busy with; the pool does not pass it on."""

    shared: threads.Shared
    slot: Slot
    item: Fetch
    answer: Answer


here = Here()


class Connection(HTTPConnection):
    """Tells the slot that uses it which socket to shut down when time is up."""

    def connect(self) -> None:
        """Connect, and tell."""
        here.answer.reused = False
        super().connect()
        self.tell()

    def request(self, method: str, url: str, *more: Any, **settings: Any) -> None:  # noqa: ANN401
        """Tell, and send; the target as the frontier has it, whose escapes urllib3 would change."""
        here.answer.reused = self.sock is not None
        if self.sock is not None:
            self.tell()
        super().request(method, here.item.target, *more, **settings)

    def tell(self) -> None:
        """Say which socket the calling thread waits on."""
        with here.shared.changed:
            here.slot.sock = self.sock
            here.slot.origin = here.item.origin


class Pool(HTTPConnectionPool):
    """A pool of such connections."""

    ConnectionCls = Connection


class Shared(threads.Shared):
    """What the slots of one crawl share: here also the pools."""

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
    """One exchange: the pool connects where needed, sends and parses."""
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
        answer.complete(response.status, response.headers)
    except (HTTPError, OSError) as error:
        answer.broken(slot.aborted or kind_of(error))
    finally:
        release(shared, slot)
    return answer


def read(slot: Slot, answer: Answer, response: urllib3.BaseHTTPResponse) -> None:
    """Read the body, and give the connection back."""
    answer.reused = False  # it has answered: not stale
    try:
        for data in response.stream(RECV_SIZE, decode_content=False):
            if not answer.take_body(data):
                response.close()
                break
    except ValueError as error:
        # A chunk of negative size: http.client takes it for a length to read.
        raise ProtocolError(str(error)) from error
    if slot.aborted is not None:
        answer.abort(slot.aborted)
        response.close()
    response.release_conn()


def release(shared: threads.Shared, slot: Slot) -> None:
    """The socket may be another slot's from here on: nobody must shut it down for this one."""
    with shared.changed:
        slot.origin = None


def kind_of(error: Exception) -> str:
    """The error kind of what urllib3 raises."""
    behind = list(causes(error))
    if any(isinstance(cause, RemoteDisconnected | IncompleteRead) for cause in behind):
        return "closed"
    return kind_behind(error) or "protocol"


def crawl(job: Job, recorder: Recorder) -> CrawlReport:
    """Crawl with one thread for each slot, all on one pool."""
    shared = Shared(job, recorder)
    try:
        report = run("urllib3", shared, fetch)
    finally:
        shared.pools.clear()
    report.mechanism["stack"] = version_of("urllib3")
    return report
