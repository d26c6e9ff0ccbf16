"""aiohttp: the whole HTTP stack that most asyncio programs use.

It waits and switches like ``asyncio_protocol``. What a connection costs:
asyncio's transport, and aiohttp's protocol, parser, stream and response on top of
it. Changed against ``asyncio_protocol``: everything above the transport. That is
why this is a stack and not a model.

The server sees these differences. Connections belong to a pool, not to the
slots: the pool is as large as the number of slots, any slot may get an idle
connection, and connections to a second host come on top of the idle ones. When a
connection was stale, aiohttp sends the request again by itself, on the next idle
connection of its pool. If that was stale as well, the frontier repeats the request,
and then the pool closes its idle connections until aiohttp opens a new one. It
tries the addresses of a host in its own order.
"""

from __future__ import annotations

import asyncio
from contextvars import ContextVar
from time import monotonic
from typing import Any

import aiohttp
from aiohttp.http_exceptions import ContentLengthError
from yarl import URL

from crawlers.http import Exchange
from crawlers.job import CrawlReport, Fetch, Job
from crawlers.recorder import Recorder
from crawlers.variants import _asyncio
from crawlers.variants._asyncio import LoopFactory, Slot, close_rest, run
from crawlers.variants._stack import Answer, causes, kind_behind, request_headers, version_of

KEEP_S = 3600.0
"""Seconds that the pool keeps an idle connection: as long as any crawl, like the models."""


CANNOT_SEE = frozenset({"truncated"})
"""aiohttp takes any end of a connection for the end of a body without a length."""

CURRENT: ContextVar[tuple[Fetch, Answer]] = ContextVar("CURRENT")
"""What the calling task fetches, and what it fills in."""


class Request(aiohttp.ClientRequest):
    """A request for the frontier's target; yarl would ask for ``/q`` instead of ``/q?``."""

    async def send(self, conn: Any) -> aiohttp.ClientResponse:  # noqa: ANN401
        """Send it; the target is read before the first wait."""
        self.url._cache["raw_path_qs"] = CURRENT.get()[0].target
        return await super().send(conn)


class Connector(aiohttp.TCPConnector):
    """A pool that tells the answer whether its connection was used before."""

    async def connect(self, *request: Any, **more: Any) -> aiohttp.connector.Connection:  # noqa: ANN401
        """A connection: any idle one, or a new one after a stale one."""
        item, answer = CURRENT.get()
        while True:
            answer.reused = True
            connection = await super().connect(*request, **more)
            if not (answer.reused and item.stale):
                return connection
            connection.close()

    async def _create_connection(self, *request: Any, **more: Any) -> Any:  # noqa: ANN401
        """Connect; aiohttp calls this only if the pool has no idle connection."""
        CURRENT.get()[1].reused = False
        return await super()._create_connection(*request, **more)

    def _release(self, key: Any, protocol: Any, *, should_close: bool = False) -> None:  # noqa: ANN401
        """Keep the connection or drop it; one over TLS is dropped without waiting for the server.

        aiohttp only asks for a close here and forgets the connection. The end of TLS is in what the
        server still sends, and aiohttp has stopped to read if that was more than it had room for.
        """
        transport = protocol.transport
        super()._release(key, protocol, should_close=should_close)
        if key.is_ssl and transport is not None and transport.is_closing():
            transport.abort()  # after close, so our own close_notify is sent


class Shared(_asyncio.Shared):
    """The state that the slots of one crawl share, and the session and its pool."""

    def __init__(self, job: Job, recorder: Recorder) -> None:
        super().__init__(job, recorder)
        self.mechanism["stack"] = version_of("aiohttp")
        connector = (
            Connector(limit=job.slots, keepalive_timeout=KEEP_S)
            if job.keep_alive
            else Connector(limit=job.slots, force_close=True)
        )
        self.session = aiohttp.ClientSession(
            connector=connector,
            request_class=Request,
            headers=request_headers(job),
            skip_auto_headers=["Accept-Encoding"],
            auto_decompress=False,
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=self.timeout(),
        )

    def timeout(self) -> aiohttp.ClientTimeout:
        """None: watch keeps the time, as in the models."""
        return aiohttp.ClientTimeout()

    async def close(self) -> None:
        """Close the pool."""
        await self.session.close()
        close_rest(self.loop)
        await asyncio.sleep(0)  # the loop closes the sockets now


async def fetch(shared: Shared, slot: Slot, item: Fetch) -> Exchange:
    """One exchange: the session connects if needed, sends and parses."""
    answer = Answer(item, shared.job.max_body)
    try:
        while item.due > monotonic():  # a loop's timer may be a little early
            await asyncio.sleep(item.due - monotonic())
        slot.started = monotonic()
        url = URL(item.url, encoded=True)
        CURRENT.set((item, answer))
        tls = item.origin.tls or True
        async with shared.session.get(url, allow_redirects=False, ssl=tls) as response:
            answer.reused = False  # it has answered, so it was not stale
            async for data in response.content.iter_any():
                if not answer.take_body(data):
                    response.close()
                    break
            answer.complete(response.status, response.raw_headers)
    except Exception as error:
        answer.broken(kind_of(error))
    except asyncio.CancelledError:
        if slot.aborted is None:
            raise
        slot.task.uncancel()
        answer.abort(slot.aborted)
    return answer


def kind_of(error: Exception) -> str:
    """The error kind for an exception of aiohttp."""
    if kind := kind_behind(error, handshake=isinstance(error, aiohttp.ClientConnectorError)):
        return kind
    if isinstance(error, aiohttp.ClientPayloadError) and "[SSL: " in str(error):
        return "broken_record"  # aiohttp tells it in the text only
    if isinstance(error, aiohttp.ServerDisconnectedError) or any(
        isinstance(cause, ContentLengthError) for cause in causes(error)
    ):
        return "closed"
    if isinstance(error, aiohttp.ClientResponseError | aiohttp.ClientPayloadError):
        return "protocol"
    if isinstance(error, ValueError):  # aiohttp.InvalidURL, or one from yarl
        return "unsupported"
    return "network"


def crawl_on(
    name: str, job: Job, recorder: Recorder, loop_factory: LoopFactory | None
) -> CrawlReport:
    """Crawl with one task for each slot, all on one session."""
    return run(name, job, recorder, fetch, Shared, Slot, loop_factory)


def crawl(job: Job, recorder: Recorder) -> CrawlReport:
    """Crawl with aiohttp on asyncio's loop."""
    return crawl_on("aiohttp", job, recorder, None)
