"""requests in threads: the first idea of most Python programmers.

It waits and switches like ``threads``. What a connection costs: a thread, a Session, and the
objects of http.client and urllib3. Changed against ``urllib3``: a Session for each thread (requests
does not promise that threads may share one), and the work that requests does for each request on
top, such as a look into the environment for proxies.

A slot calls ``Session().get()``. Its connections are those of ``urllib3``, which verify as all
backends do; requests itself would verify more strictly from Python 3.13 on. It sends no passwords
from ``~/.netrc``. The body is read in pieces, as the documentation says, so that an endless one can
be cut; ``Response.content`` would read the same pieces. A thread keeps a connection for each host.
Timeouts, and the end of a crawl that must stop, are those of ``urllib3``.
"""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from http.cookiejar import DefaultCookiePolicy
from time import monotonic
from typing import Any

import requests
from requests.exceptions import InvalidSchema, InvalidURL, MissingSchema
from urllib3.connectionpool import HTTPSConnectionPool

from crawlers import threads
from crawlers.http import Exchange
from crawlers.job import CrawlReport, Fetch, Job
from crawlers.recorder import Recorder
from crawlers.threads import Slot, run
from crawlers.tls import client_context
from crawlers.variants._stack import UNCODED, Answer, version_of
from crawlers.variants.urllib3 import (
    Pool,
    SecureConnection,
    allow_insecure,
    failed,
    head_of,
    here,
    kind_of,
)

PIECE = 10 * 1024
"""Bytes of a body that are read at a time: as many as requests itself reads."""


UNREAD = requests.utils.DEFAULT_CA_BUNDLE_PATH
"""The authorities for requests, which wants some: the context of a connection has its own."""


class OwnContext(SecureConnection):
    """A connection that makes a context and reads the authorities, as each of requests does."""

    def settings(self) -> ssl.SSLContext:
        """A new context, with the settings that every backend uses."""
        return client_context.__wrapped__(here.job.cafile, here.job.insecure)


class SecurePool(HTTPSConnectionPool):
    """A pool of such connections."""

    ConnectionCls = OwnContext


class Session(requests.Session):
    """A session that uses no proxy, and leaves redirects alone."""

    def send(self, request: requests.PreparedRequest, **settings: Any) -> requests.Response:  # noqa: ANN401
        """Send the request, without the proxies that were found."""
        return super().send(request, **settings | {"proxies": {}})

    def resolve_redirects(self, *_: Any, **__: Any) -> Iterator[Any]:  # type: ignore[override]  # noqa: ANN401
        """None: requests would read a target that it does not follow, and raise for an odd one."""
        return iter(())


class Shared(threads.Shared):
    """The state that the slots of one crawl share, and a session for each of them."""

    def __init__(self, job: Job, recorder: Recorder) -> None:
        super().__init__(job, recorder)
        self.sessions = [new_session() for _ in self.slots]
        self.headers = UNCODED if job.keep_alive else UNCODED | {"Connection": "close"}
        allow_insecure(job)


def new_session() -> requests.Session:
    """A session that keeps no secrets, and whose connections send the frontier's targets."""
    session = Session()
    session.auth = no_password
    session.cookies.set_policy(DefaultCookiePolicy(allowed_domains=()))  # takes none
    for scheme in ("http://", "https://"):
        adapter: Any = session.get_adapter(scheme)
        adapter.poolmanager.pool_classes_by_scheme = {"http": Pool, "https": SecurePool}
    return session


def no_password(request: requests.PreparedRequest) -> requests.PreparedRequest:
    """Leave the request as it is: requests reads ~/.netrc only for a session without ``auth``."""
    return request


def fetch(shared: Shared, slot: Slot, item: Fetch) -> Exchange:
    """One exchange: the session connects if needed, sends and parses."""
    answer = Answer(item, shared.job.max_body)
    answer.reused = shared.job.keep_alive and not item.stale  # requests does not tell
    try:
        if item.due and shared.over.wait(item.due - monotonic()):
            answer.abort("cancelled")
            return answer
        slot.started = monotonic()
        here.job, here.item = shared.job, item
        with shared.sessions[slot.number].get(
            item.url,
            headers=shared.headers,
            timeout=shared.job.timeout_s,
            allow_redirects=False,
            stream=True,
            verify=UNREAD,
        ) as response:
            answer.reused = False  # it has answered, so it was not stale
            response.raw.CONTENT_DECODERS = []
            if response.status_code < 200:
                response.raw.close()  # as urllib3
            for data in response.iter_content(PIECE):
                if not answer.take_body(data) or slot.aborted is not None:
                    break
            if slot.aborted is not None:
                answer.abort(slot.aborted)
            answer.complete(response.status_code, head_of(response.raw))
    except (InvalidURL, InvalidSchema, MissingSchema):
        answer.abort("unsupported")
    except Exception as error:
        failed(answer, slot.aborted or kind_of(error))
    return answer


def crawl(job: Job, recorder: Recorder) -> CrawlReport:
    """Crawl with one thread and one session for each slot."""
    shared = Shared(job, recorder)
    try:
        report = run("requests", shared, fetch)
    finally:
        for session in shared.sessions:
            session.close()
    report.mechanism["stack"] = version_of("requests")
    return report
