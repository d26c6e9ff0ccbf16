"""requests in threads: what most Python programs would write first.

What waits and what switches are those of ``threads``. What a connection
costs: a thread, a Session, and the objects of http.client and urllib3.
Changed against ``urllib3``: a Session for each thread (a Session is not safe
to share), and the work that requests does for each request on top.

What differs at the server: a slot that turns to another host closes its
connection to the one before.
"""

from __future__ import annotations

from time import monotonic
from typing import Any

import requests
from requests.adapters import HTTPAdapter
from urllib3.exceptions import HTTPError

from crawlers import threads
from crawlers.http import Exchange
from crawlers.job import CrawlReport, Fetch, Job
from crawlers.recorder import Recorder
from crawlers.threads import Slot, run
from crawlers.variants._stack import Answer, request_headers, version_of
from crawlers.variants.urllib3 import Pool, here, kind_of, read, release


class Adapter(HTTPAdapter):
    """One connection, of the kind that tells its socket."""

    def init_poolmanager(self, *arguments: Any, **settings: Any) -> None:  # noqa: ANN401
        """Make the pool as requests does, of our class."""
        super().init_poolmanager(*arguments, **settings)
        self.poolmanager.pool_classes_by_scheme = {"http": Pool}


class Shared(threads.Shared):
    """What the slots of one crawl share: here also a session for each of them."""

    def __init__(self, job: Job, recorder: Recorder) -> None:
        super().__init__(job, recorder)
        self.sessions = [new_session(job) for _ in self.slots]


class Session(requests.Session):
    """A session that leaves redirects alone, even unusable ones."""

    def get_redirect_target(self, resp: requests.Response) -> None:
        """There is none: the frontier follows redirects."""


def new_session(job: Job) -> Session:
    """A session that keeps one connection."""
    session = Session()
    session.trust_env = False
    session.headers.clear()
    session.headers.update(request_headers(job))
    session.mount("http://", Adapter(pool_connections=1, pool_maxsize=1, pool_block=True))
    return session


def fetch(shared: Shared, slot: Slot, item: Fetch) -> Exchange:
    """One exchange: the session connects where needed, sends and parses."""
    answer = Answer(item, shared.job.max_body)
    here.shared, here.slot, here.item, here.answer = shared, slot, item, answer
    try:
        if item.due and shared.over.wait(item.due - monotonic()):
            answer.abort("cancelled")
            return answer
        slot.started = monotonic()
        response = shared.sessions[slot.number].get(
            item.url, stream=True, timeout=shared.job.timeout_s
        )
        read(slot, answer, response.raw)
        answer.complete(response.status_code, response.headers)
    except (requests.RequestException, HTTPError, OSError) as error:
        answer.broken(slot.aborted or kind_of(error))
    finally:
        release(shared, slot)
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
