"""httpx on aiohttp's transport, with httpx-aiohttp between them.

It waits and switches like ``httpx``, and so is the source. Changed against it: everything
below the client. aiohttp's pool, parser and transport are in the place of httpcore, h11 and
anyio; requests and responses are still httpx's. The session of aiohttp has as many
connections as there are slots, takes no cookies and repeats no requests, as in ``aiohttp``.
"""

from __future__ import annotations

from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any

import aiohttp
from httpx import AsyncClient, TransportError
from httpx_aiohttp import AiohttpTransport

from crawlers.job import CrawlReport, Job
from crawlers.recorder import Recorder
from crawlers.tls import client_context
from crawlers.variants import httpx
from crawlers.variants._asyncio import Slot, run
from crawlers.variants._stack import version_of
from crawlers.variants.aiohttp import CANNOT_SEE, KEEP_S, kind_of

__all__ = ["CANNOT_SEE", "crawl"]


class Shared(httpx.Shared):
    """The state that the slots of one crawl share, and the client."""

    def __init__(self, job: Job, recorder: Recorder) -> None:
        super().__init__(job, recorder)
        self.mechanism["stack"] = f"{version_of('httpx-aiohttp')}, {version_of('aiohttp')}"

    def new_client(self) -> Any:  # noqa: ANN401
        """A client of httpx over a session of aiohttp."""
        keep = self.job.keep_alive
        return AsyncClient(
            transport=AiohttpTransport(client=self.new_session),
            timeout=self.job.timeout_s,
            headers=None if keep else {"Connection": "close"},
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=())),  # takes none
        )

    def kind_of(self, error: Exception) -> str:
        """The error kind for what aiohttp raised: httpx-aiohttp calls an early end a timeout."""
        below = error.__cause__ if isinstance(error, TransportError) else error
        return kind_of(below) if isinstance(below, aiohttp.ClientError) else super().kind_of(error)

    def new_session(self) -> aiohttp.ClientSession:
        """The session below, made at the first request."""
        job = self.job
        tls = client_context(job.cafile, job.insecure)
        session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=job.slots, ssl=tls, keepalive_timeout=KEEP_S)
            if job.keep_alive
            else aiohttp.TCPConnector(limit=job.slots, ssl=tls, force_close=True),
            cookie_jar=aiohttp.DummyCookieJar(),
        )
        session._retry_connection = False
        return session


def crawl(job: Job, recorder: Recorder) -> CrawlReport:
    """Crawl with one task for each slot, all on one client."""
    return run("httpx_aiohttp", job, recorder, httpx.fetch, Shared, Slot)
