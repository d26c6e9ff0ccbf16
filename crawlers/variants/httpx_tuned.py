"""httpx, tuned: a client for each slot, and as little work for each request as it allows.

It waits and switches like ``httpx``. What a connection costs: a client with a pool of
one, and everything that a connection of ``httpx`` costs. Changed against ``httpx``: a
client for each slot, so that no request goes through a pool of all connections; our own
few headers, and no timeouts of httpx's own. The documentation of httpx advises against
a client for each request or task, so this is not how httpx is meant to be used.

The server sees no difference. httpx does not tell whether a connection was used
before. So with keep-alive, a connection that ends without an answer counts as
stale once for each URL, even if it was new.
"""

from __future__ import annotations

import asyncio
from time import monotonic
from typing import Any

import httpx

from crawlers.http import Exchange
from crawlers.job import CrawlReport, Fetch, Job
from crawlers.recorder import Recorder
from crawlers.tls import client_context
from crawlers.variants import _asyncio
from crawlers.variants._asyncio import close_rest, run
from crawlers.variants._stack import Answer, kind_behind, request_headers, version_of
from crawlers.variants.httpx import CANNOT_SEE, certified, early_end_or_not_http, new_client

__all__ = ["CANNOT_SEE", "crawl"]


class Shared(_asyncio.Shared):
    """The state that the slots of one crawl share, and the settings of their clients."""

    slots: list[Slot]  # type: ignore[assignment]

    def __init__(self, job: Job, recorder: Recorder) -> None:
        super().__init__(job, recorder)
        self.mechanism["stack"] = version_of("httpx")
        self.headers = request_headers(job)
        # Made before the clock starts.
        self.tls = client_context(job.cafile, job.insecure)
        # httpx leaves a socket open if its task is cancelled in a handshake, so the handshake
        # has a timeout of its own, which comes first.
        self.handshakes = {"timeout": {"connect": job.timeout_s}}

    def client_of(self, slot: Slot) -> Any:  # noqa: ANN401
        """The slot's client, made at its first use."""
        if slot.client is None:
            limits = httpx.Limits(
                max_connections=1,
                max_keepalive_connections=1 if self.job.keep_alive else 0,
                keepalive_expiry=None,
            )
            slot.client = new_client(httpx, self.frontier, self.tls, limits, timeout=None)
        return slot.client

    async def close(self) -> None:
        """Close the connections."""
        for slot in self.slots:
            if slot.client is not None:
                await slot.client.aclose()
        close_rest(self.loop)


class Slot(_asyncio.Slot):
    """A slot with a client, which keeps its one connection."""

    __slots__ = ("client",)

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.client: Any = None


async def fetch(shared: Shared, slot: Slot, item: Fetch) -> Exchange:
    """One exchange: the client connects if needed, sends and parses."""
    answer = Answer(item, shared.job.max_body)
    answer.reused = shared.job.keep_alive and not item.stale  # httpx does not tell
    try:
        while item.due > monotonic():  # a loop's timer may be a little early
            await asyncio.sleep(item.due - monotonic())
        slot.started = monotonic()
        named = certified(item)
        # Not through the client's stream method, which would add headers of httpx's own.
        request = httpx.Request(
            "GET",
            item.url,
            headers=shared.headers,
            extensions=named and shared.handshakes | named,
        )
        response = await shared.client_of(slot).send(request, stream=True)
        try:
            answer.reused = False  # it has answered, so it was not stale
            async for data in response.aiter_raw():
                if not answer.take_body(data):
                    break
            answer.complete(response.status_code, response.headers.raw)
        finally:
            await response.aclose()
    except Exception as error:
        answer.reused = answer.reused and not isinstance(error, httpx.ConnectError)
        answer.broken(kind_of(error))
    except asyncio.CancelledError:
        if slot.aborted is None:
            raise
        slot.task.uncancel()
        answer.abort(slot.aborted)
    return answer


def kind_of(error: Exception) -> str:
    """The error kind for an exception of httpx."""
    if kind := kind_behind(error, handshake=isinstance(error, httpx.ConnectError)):
        return kind
    if isinstance(error, httpx.InvalidURL | httpx.UnsupportedProtocol | httpx.LocalProtocolError):
        return "unsupported"
    if isinstance(error, httpx.RemoteProtocolError):
        return early_end_or_not_http(error)
    return "reset" if isinstance(error, httpx.ReadError | httpx.WriteError) else "network"


def crawl(job: Job, recorder: Recorder) -> CrawlReport:
    """Crawl with one task and one client for each slot."""
    return run("httpx_tuned", job, recorder, fetch, Shared, Slot)
