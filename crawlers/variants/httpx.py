"""httpx: the HTTP stack with the interface of requests, on asyncio.

It waits and switches like ``async_await``, through anyio. What a connection costs: asyncio's
transport, anyio's stream, httpcore's connection and h11's state, all in Python. Changed against
``aiohttp``: the stack. ``httpx2`` is the same source with httpx's continuation, which has httpcore2
and a new pool.

All slots share one client, as the documentation of httpx recommends. Its pool keeps idle
connections as long as the models do. By default httpx closes them after five seconds. Those go by
the clock, also while the process is stopped for the turns of others, and then more connections
would be opened than there are slots. Whenever a request begins or ends, httpcore goes through the
whole pool and asks the kernel about each idle connection (``_assign_requests_to_connections``). So
the time for a page grows with the number of slots. The second try of a stale request goes out on a
client of its own, so that it gets a new connection.
"""

from __future__ import annotations

import asyncio
from contextlib import nullcontext, suppress
from functools import partial
from http.cookiejar import CookieJar, DefaultCookiePolicy
from importlib import import_module
from time import monotonic
from typing import Any

from crawlers.backend import CrawlFunction
from crawlers.frontier import Frontier
from crawlers.http import Exchange
from crawlers.job import Fetch, Job
from crawlers.recorder import Recorder
from crawlers.tls import client_context
from crawlers.variants import _asyncio
from crawlers.variants._asyncio import Slot, close_rest, end_cancelled, run
from crawlers.variants._stack import KEEP_S, UNCODED, Answer, kind_behind, version_of


class Network:
    """Opens connections to the addresses that the frontier has checked, and to no others.

    Everything else is left to the ``usual`` network of httpcore.
    """

    def __init__(self, usual: Any, frontier: Frontier) -> None:  # noqa: ANN401
        self.usual = usual
        self.frontier = frontier

    async def connect_tcp(self, host: str, port: int, **settings: Any) -> object:  # noqa: ANN401
        """Connect to the first address that answers."""
        *others, last = [str(known.sockaddr[0]) for known in self.frontier.addresses_of(host, port)]
        for address in others:
            with suppress(Exception):
                return await self.usual.connect_tcp(address, port, **settings)
        return await self.usual.connect_tcp(last, port, **settings)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        return getattr(self.usual, name)


class Shared(_asyncio.Shared):
    """The state that the slots of one crawl share, and the client; ``httpx`` is its library."""

    def __init__(self, job: Job, recorder: Recorder, library: str = "httpx") -> None:
        super().__init__(job, recorder)
        self.httpx: Any = import_module(library)
        self.mechanism["stack"] = version_of(library)
        self.client = self.new_client()

    def new_client(self) -> Any:  # noqa: ANN401
        """A client for all slots, with a pool of its own on such a network."""
        job = self.job
        limits = self.httpx.Limits(
            max_connections=job.slots,
            max_keepalive_connections=job.slots if job.keep_alive else 0,
            keepalive_expiry=KEEP_S,
        )
        transport = self.httpx.AsyncHTTPTransport(
            verify=client_context(job.cafile, job.insecure), limits=limits
        )
        # The pool takes it as an option, but httpx does not pass that on.
        transport._pool._network_backend = Network(transport._pool._network_backend, self.frontier)
        client = self.httpx.AsyncClient(
            transport=transport,
            trust_env=False,
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=())),  # takes none
            timeout=job.timeout_s,
            headers=UNCODED if job.keep_alive else UNCODED | {"Connection": "close"},
        )
        # It reads the target of a redirect that it does not follow, and raises for an odd one.
        client._build_redirect_request = lambda request, response: request
        return client

    async def close(self) -> None:
        """Close the connections."""
        await self.client.aclose()
        close_rest(self.loop)


async def fetch(shared: Shared, slot: Slot, item: Fetch) -> Exchange:
    """One exchange: the client connects if needed, sends and parses."""
    answer = Answer(item, shared.job.max_body)
    answer.reused = shared.job.keep_alive and not item.stale  # httpx does not tell
    try:
        while item.due > monotonic():  # a loop's timer may be a little early
            await asyncio.sleep(item.due - monotonic())
        slot.started = monotonic()
        # After a stale connection the pool's next one might be stale as well.
        source = shared.new_client() if item.stale else nullcontext(shared.client)
        named = certified(item)
        async with source as client, client.stream("GET", item.url, extensions=named) as response:
            answer.reused = False  # it has answered, so it was not stale
            async for data in response.aiter_raw():
                if not answer.take_body(data):
                    break
            answer.complete(response.status_code, response.headers.raw)
    except Exception as error:
        answer.reused = answer.reused and not isinstance(error, shared.httpx.ConnectError)
        answer.broken(kind_of(shared.httpx, error))
    except asyncio.CancelledError:
        end_cancelled(slot, answer)
    return answer


def certified(item: Fetch) -> dict[str, Any] | None:
    """The name that the certificate must have: httpx would take the dot at the end of a host."""
    return None if item.origin.tls is None else {"sni_hostname": item.origin.host}


ENDS = ("peer closed", "disconnected", "ConnectionClosed")
"""In the text of an early end. The last is that of a connection whose TLS had ended: httpcore keeps
it, because it only looks whether the socket below has something to read."""


def kind_of(library: Any, error: Exception) -> str:  # noqa: ANN401
    """The error kind for an exception of httpx."""
    if kind := kind_behind(error, handshake=isinstance(error, library.ConnectError)):
        return kind
    if isinstance(error, library.TimeoutException):
        return "timeout"
    unsendable = library.InvalidURL, library.UnsupportedProtocol, library.LocalProtocolError
    if isinstance(error, unsendable):
        return "unsupported"
    if isinstance(error, library.RemoteProtocolError):
        return "closed" if any(words in str(error) for words in ENDS) else "protocol"
    return "reset" if isinstance(error, library.ReadError | library.WriteError) else "network"


def crawl_as(name: str) -> CrawlFunction:
    """The crawl with the library of this name: one task for each slot, all on one client."""
    import_module(name)
    shared = partial(Shared, library=name)
    return partial(run, name, fetch=fetch, make_shared=shared, make_slot=Slot)
