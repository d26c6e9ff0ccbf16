"""httpx: the HTTP stack with the interface of requests, on asyncio.

What waits and what switches are those of ``async_await``, through anyio.
What a connection costs: asyncio's transport, anyio's stream, httpcore's
connection and h11's state, all in Python. Changed against ``aiohttp``: the
stack.

What differs at the server: connections belong to a pool of as many as there
are slots, not to the slots, and an idle one may be handed to any. httpx does
not say whether a connection had been used before: with keep-alive, one that
ends without an answer counts as stale once for each URL, even a fresh one.
"""

from __future__ import annotations

import asyncio
from time import monotonic

import httpx

from crawlers.http import Exchange
from crawlers.job import CrawlReport, Fetch, Job
from crawlers.recorder import Recorder
from crawlers.variants import _asyncio
from crawlers.variants._asyncio import Slot, run
from crawlers.variants._stack import Answer, kind_behind, request_headers, version_of


class Shared(_asyncio.Shared):
    """What the slots of one crawl share: here also the client and its pool."""

    def __init__(self, job: Job, recorder: Recorder) -> None:
        super().__init__(job, recorder)
        self.mechanism["stack"] = version_of("httpx")
        self.client = httpx.AsyncClient(
            limits=httpx.Limits(
                max_connections=job.slots,
                max_keepalive_connections=job.slots if job.keep_alive else 0,
                keepalive_expiry=None,
            ),
            timeout=None,
            trust_env=False,
        )
        # Set here, so that httpx's own do not come on top.
        self.client.headers = httpx.Headers(request_headers(job))

    async def close(self) -> None:
        """Close the pool."""
        await self.client.aclose()


async def fetch(shared: Shared, slot: Slot, item: Fetch) -> Exchange:
    """One exchange: the client connects where needed, sends and parses."""
    answer = Answer(item, shared.job.max_body)
    answer.reused = shared.job.keep_alive  # it may be
    try:
        while item.due > monotonic():  # a loop's timer may be a little early
            await asyncio.sleep(item.due - monotonic())
        slot.started = monotonic()
        async with shared.client.stream("GET", item.url) as response:
            answer.reused = False  # it has answered: not stale
            async for data in response.aiter_raw():
                if not answer.take_body(data):
                    break
            answer.complete(response.status_code, response.headers)
    except httpx.TransportError as error:
        answer.broken(kind_of(error))
    except asyncio.CancelledError:
        if slot.aborted is None:
            raise
        slot.task.uncancel()
        answer.abort(slot.aborted)
    return answer


def kind_of(error: httpx.TransportError) -> str:
    """The error kind of what httpx raises."""
    if kind := kind_behind(error):
        return kind
    if isinstance(error, httpx.RemoteProtocolError):
        # One class for both an early end and what is not HTTP: only the text tells.
        text = str(error)
        return "closed" if "peer closed" in text or "disconnected" in text else "protocol"
    return "reset" if isinstance(error, httpx.ReadError | httpx.WriteError) else "network"


def crawl(job: Job, recorder: Recorder) -> CrawlReport:
    """Crawl with one task for each slot, all on one client."""
    return run("httpx", job, recorder, fetch, Shared, Slot)
