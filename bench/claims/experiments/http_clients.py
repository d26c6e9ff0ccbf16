"""httpx against aiohttp, as encode/httpx issue 3215 compares them.

100 requests, at most 20 at a time, for 2,000 bytes of a server with aiohttp.web on
localhost, each client with its defaults and one session.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from importlib.util import find_spec
from statistics import median
from time import perf_counter

from bench.claims.experiments.result import ExperimentResult
from bench.claims.experiments.served import Served

REQUESTS = 100
CONCURRENCY = 20
BODY = "a" * 2000
ROUNDS = 3
Get = Callable[[], Awaitable[int]]


async def requests(get: Get) -> float:
    """Seconds for all requests."""
    semaphore = asyncio.Semaphore(CONCURRENCY)

    async def one() -> int:
        async with semaphore:
            return await get()

    began = perf_counter()
    sizes = await asyncio.gather(*(one() for _ in range(REQUESTS)))
    if set(sizes) != {len(BODY)}:
        raise RuntimeError(f"the server sent {sorted(set(sizes))} bytes")
    return perf_counter() - began


async def with_aiohttp(url: str) -> float:
    """One session with its defaults."""
    import aiohttp

    async with aiohttp.ClientSession() as session:

        async def get() -> int:
            async with session.get(url) as response:
                return len(await response.read())

        return await requests(get)


async def with_httpx(url: str) -> float:
    """One client with its defaults; environment and certificates are read before the clock."""
    import httpx

    async with httpx.AsyncClient() as client:

        async def get() -> int:
            return len((await client.get(url)).content)

        return await requests(get)


def measure() -> ExperimentResult:
    """Milliseconds for 100 requests with each client, and their ratio."""
    result = ExperimentResult()
    for library in ("aiohttp", "httpx"):
        if find_spec(library) is None:
            result.lacks("httpx_over_aiohttp", f"{library} is not installed")
            return result
    with Served("http_clients") as server:
        url = f"http://127.0.0.1:{server.port}/req"
        times: dict[str, list[float]] = {"aiohttp": [], "httpx": []}
        for number in range(ROUNDS + 1):
            for name, run in (("aiohttp", with_aiohttp), ("httpx", with_httpx)):
                spent = asyncio.run(run(url))
                if number:  # the first imports and warms
                    times[name].append(spent)
    for name, found in times.items():
        result.values[f"{name}_ms"] = 1000 * median(found)
    result.values["httpx_over_aiohttp"] = median(times["httpx"]) / median(times["aiohttp"])
    return result


def main() -> None:
    """The server of the issue: aiohttp.web, 2,000 bytes."""
    from aiohttp import web

    async def handle(_: web.Request) -> web.Response:
        return web.Response(text=BODY)

    async def serve() -> None:
        application = web.Application()
        application.add_routes([web.get("/req", handle)])
        runner = web.AppRunner(application, access_log=None)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        print(runner.addresses[0][1], flush=True)
        await asyncio.Event().wait()

    asyncio.run(serve())


if __name__ == "__main__":
    main()
