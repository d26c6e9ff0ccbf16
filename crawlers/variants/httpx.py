"""httpx: the HTTP stack with the interface of requests, on asyncio.

What waits and what switches are those of ``async_await``, through anyio.
What a connection costs: a client with a pool of one, asyncio's transport,
anyio's stream, httpcore's connection and h11's state, all in Python. Changed
against ``aiohttp``: the stack.

Each slot has a client of its own. One client for all, which httpx advises,
goes through its whole pool several times whenever a request begins or ends,
and asks the kernel about each idle connection (``_assign_requests_to_connections``
in httpcore): the time for a page grows with the number of slots, and ten
thousand connections are out of reach.

What differs at the server: nothing. httpx does not say whether a connection
had been used before: with keep-alive, one that ends without an answer counts
as stale once for each URL, even a fresh one.
"""

from __future__ import annotations

import asyncio
import ssl
from time import monotonic

import httpx

from crawlers.http import Exchange
from crawlers.job import CrawlReport, Fetch, Job
from crawlers.recorder import Recorder
from crawlers.variants import _asyncio
from crawlers.variants._asyncio import run
from crawlers.variants._stack import Answer, kind_behind, request_headers, version_of


class Shared(_asyncio.Shared):
    """What the slots of one crawl share, and how a slot gets its client."""

    slots: list[Slot]  # type: ignore[assignment]

    def __init__(self, job: Job, recorder: Recorder) -> None:
        super().__init__(job, recorder)
        self.mechanism["stack"] = version_of("httpx")
        self.headers = httpx.Headers(request_headers(job))
        # Never used, as no URL is https; each client would make one, slowly.
        self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)

    def client_of(self, slot: Slot) -> httpx.AsyncClient:
        """The slot's client, made when it is first asked for."""
        if slot.client is None:
            slot.client = httpx.AsyncClient(  # nosec B113
                limits=httpx.Limits(
                    max_connections=1,
                    max_keepalive_connections=1 if self.job.keep_alive else 0,
                    keepalive_expiry=None,
                ),
                timeout=None,
                trust_env=False,
                verify=self.tls,
            )
            # Set here, so that httpx's own do not come on top.
            slot.client.headers = self.headers
        return slot.client

    async def close(self) -> None:
        """Close the connections."""
        for slot in self.slots:
            if slot.client is not None:
                await slot.client.aclose()


class Slot(_asyncio.Slot):
    """A slot with a client, which keeps its one connection."""

    __slots__ = ("client",)

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.client: httpx.AsyncClient | None = None


async def fetch(shared: Shared, slot: Slot, item: Fetch) -> Exchange:
    """One exchange: the client connects where needed, sends and parses."""
    answer = Answer(item, shared.job.max_body)
    answer.reused = shared.job.keep_alive  # it may be
    try:
        while item.due > monotonic():  # a loop's timer may be a little early
            await asyncio.sleep(item.due - monotonic())
        slot.started = monotonic()
        async with shared.client_of(slot).stream("GET", item.url) as response:
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
    """Crawl with one task and one client for each slot."""
    return run("httpx", job, recorder, fetch, Shared, Slot)
