"""requests, tuned: without the environment and default headers.

It waits and switches like ``requests``, and a connection costs the same. Changed
against ``requests``: the session looks for no proxies in the environment
(``trust_env``), which it otherwise does for each request; it sends our few headers;
bodies are read below requests, without a decoder; and at a timeout or a stop, the main
thread ends a blocked call by shutting its socket down.

The server sees one difference: a slot that turns to another host closes its
connection to the previous host.
"""

from __future__ import annotations

from http.cookiejar import DefaultCookiePolicy
from time import monotonic
from typing import Any

import requests
from requests.adapters import HTTPAdapter
from requests.exceptions import InvalidSchema, InvalidURL, MissingSchema

from crawlers import threads
from crawlers.http import Exchange
from crawlers.job import CrawlReport, Fetch, Job
from crawlers.recorder import Recorder
from crawlers.threads import Slot, run
from crawlers.variants._stack import Answer, request_headers, version_of
from crawlers.variants.urllib3 import head_of, kind_of
from crawlers.variants.urllib3_tuned import Pool, here, read, release

NO_HTTPS = "this form shuts down the socket below requests, and TLS is another socket; use requests"


class Adapter(HTTPAdapter):
    """A pool of one connection, which reports its socket."""

    def init_poolmanager(self, *arguments: Any, **settings: Any) -> None:  # noqa: ANN401
        """Make the pool as requests does, with our class."""
        super().init_poolmanager(*arguments, **settings)
        self.poolmanager.pool_classes_by_scheme = {"http": Pool}


class Shared(threads.Shared):
    """The state that the slots of one crawl share, and a session for each of them."""

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
    session.cookies.set_policy(DefaultCookiePolicy(allowed_domains=()))  # takes none
    session.mount("http://", Adapter(pool_connections=1, pool_maxsize=1, pool_block=True))
    return session


def fetch(shared: Shared, slot: Slot, item: Fetch) -> Exchange:
    """One exchange: the session connects if needed, sends and parses."""
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
        answer.complete(response.status_code, head_of(response.raw))
    except (InvalidURL, InvalidSchema, MissingSchema):
        answer.abort("unsupported")
    except Exception as error:
        answer.broken(slot.aborted or kind_of(error))
    finally:
        release(shared, slot)
    return answer


def crawl(job: Job, recorder: Recorder) -> CrawlReport:
    """Crawl with one thread and one session for each slot."""
    shared = Shared(job, recorder)
    try:
        report = run("requests_tuned", shared, fetch)
    finally:
        for session in shared.sessions:
            session.close()
    report.mechanism["stack"] = version_of("requests")
    return report
