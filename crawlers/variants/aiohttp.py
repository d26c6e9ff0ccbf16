"""aiohttp: the whole HTTP stack that most asyncio programs use.

It waits and switches like ``asyncio_protocol``. What a connection costs: asyncio's transport, and
aiohttp's protocol, parser, stream and response on top of it. Changed against ``asyncio_protocol``:
everything above the transport. That is why this is a stack and not a model.

All slots share one session, as the documentation of aiohttp recommends. It leaves timeouts to the
sweep over all slots, and does not repeat requests by itself. The frontier's second try of a stale
one goes out in a session of its own, so that it gets a new connection. Connections to a second host
come on top of the idle ones. aiohttp tries the addresses of a host in its own order, and it cannot
send a ``?`` without a query.

``aiohttp_timeouts`` has a session with a total timeout, as aiohttp's documentation has it. That is
a timer in the loop for each request, from the wait for a connection to the last byte; aiohttp
rounds one of more than five seconds up to a whole second of the loop's clock. The sweep remains,
because it also ends a crawl that must stop.
"""

from __future__ import annotations

import asyncio
import socket
from contextlib import nullcontext
from functools import partial
from time import monotonic

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.http_parser import HttpResponseParser
from yarl import URL

from crawlers.backend import CrawlFunction
from crawlers.frontier import Frontier
from crawlers.http import Exchange
from crawlers.job import Fetch, Job
from crawlers.recorder import Recorder
from crawlers.variants import _asyncio
from crawlers.variants._asyncio import Slot, close_rest, end_cancelled, run
from crawlers.variants._stack import KEEP_S, UNCODED, Answer, kind_behind, version_of


class Resolver(AbstractResolver):
    """Knows the addresses that the frontier has checked, and no others."""

    def __init__(self, frontier: Frontier) -> None:
        self.frontier = frontier

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """The addresses of a host."""
        return [
            ResolveResult(
                hostname=host,
                host=str(address.sockaddr[0]),
                port=port,
                family=address.family,
                proto=0,
                flags=socket.AI_NUMERICHOST,
            )
            for address in self.frontier.addresses_of(host, port)
        ]

    async def close(self) -> None:
        """Nothing is open."""


class Shared(_asyncio.Shared):
    """The state that the slots of one crawl share, and the session with its pool."""

    def __init__(self, job: Job, recorder: Recorder) -> None:
        super().__init__(job, recorder)
        self.mechanism["stack"] = version_of("aiohttp")
        in_c = HttpResponseParser.__module__ == "aiohttp._http_parser"
        self.mechanism["parser"] = f"aiohttp, in {'C' if in_c else 'Python'}"
        self.session = self.new_session()

    def new_session(self) -> aiohttp.ClientSession:
        """A session with a pool of its own."""
        job, resolver = self.job, Resolver(self.frontier)
        session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(
                limit=job.slots, keepalive_timeout=KEEP_S, resolver=resolver
            )
            if job.keep_alive
            else aiohttp.TCPConnector(limit=job.slots, force_close=True, resolver=resolver),
            cookie_jar=aiohttp.DummyCookieJar(),
            headers=UNCODED,
            auto_decompress=False,
            timeout=self.timeout(),
        )
        # As aiohttp's own test client does: there is no public option.
        session._retry_connection = False
        return session

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
    answer.reused = shared.job.keep_alive and not item.stale  # aiohttp does not tell
    try:
        while item.due > monotonic():  # a loop's timer may be a little early
            await asyncio.sleep(item.due - monotonic())
        slot.started = monotonic()
        url = URL(item.url, encoded=True)
        if url.raw_path_qs != item.target:
            answer.abort("unsupported")
            return answer
        # After a stale connection the pool's next one might be stale as well.
        source = shared.new_session() if item.stale else nullcontext(shared.session)
        tls = item.origin.tls or True
        async with source as session, session.get(url, allow_redirects=False, ssl=tls) as response:
            answer.reused = False  # it has answered, so it was not stale
            async for data in response.content.iter_any():
                if not answer.take_body(data):
                    response.close()
                    break
            answer.complete(response.status, response.raw_headers)
    except Exception as error:
        answer.reused = answer.reused and not isinstance(error, aiohttp.ClientConnectorError)
        answer.broken(kind_of(error))
    except asyncio.CancelledError:
        end_cancelled(slot, answer)
    return answer


def kind_of(error: Exception) -> str:
    """The error kind for an exception of aiohttp."""
    if kind := kind_behind(error, handshake=isinstance(error, aiohttp.ClientConnectorError)):
        return kind
    if isinstance(error, aiohttp.ServerDisconnectedError):
        return "closed"
    if isinstance(error, ConnectionError):
        return "reset"  # without a number: it ended before the request was written
    if isinstance(error, aiohttp.ClientPayloadError):  # only its text says why
        if "[SSL: " in str(error):
            return "broken_record"
        return "closed" if "Not enough data" in str(error) else "protocol"
    if isinstance(error, aiohttp.ClientResponseError):
        return "protocol"
    if isinstance(error, ValueError):  # aiohttp.InvalidURL, or one from yarl
        return "unsupported"
    return "network"


class SharedInTime(Shared):
    """The state that the slots of one crawl share, and a session that limits requests."""

    def timeout(self) -> aiohttp.ClientTimeout:
        """The whole request, reading its body included."""
        return aiohttp.ClientTimeout(total=self.job.timeout_s)


crawl_on = partial(run, fetch=fetch, make_shared=Shared, make_slot=Slot)
"""Crawl with one task for each slot, all on one session, on any loop."""


def crawl_as(name: str) -> CrawlFunction:
    """The crawl of this name, on asyncio's loop."""
    if name == "aiohttp":
        return partial(crawl_on, name)
    return partial(run, name, fetch=fetch, make_shared=SharedInTime, make_slot=Slot)
