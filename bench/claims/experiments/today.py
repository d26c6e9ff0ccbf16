"""What is claimed today: httpx against aiohttp, and what newer CPythons promise of asyncio.

As a program, this module measures the promises on the interpreter that runs it, with its
standard library only, and prints JSON.
"""

from __future__ import annotations

import asyncio
import json
from asyncio import tasks
from collections.abc import Awaitable, Callable
from importlib.util import find_spec
from statistics import median
from time import perf_counter
from typing import TYPE_CHECKING, Any

from bench.claims.experiments import ExperimentResult, Served

if TYPE_CHECKING:
    from bench.machine.interpreters import FoundInterpreter

# --- 100 requests, at most 20 at a time, for 2,000 bytes of a server with aiohttp.web on localhost,
# each client with its defaults and one session, as encode/httpx issue 3215 compares them

REQUESTS = 100
CONCURRENCY = 20
ROUNDS = 3
BODY = "a" * 2000
Get = Callable[[], Awaitable[int]]


async def answering() -> None:
    from aiohttp import web

    async def handle(_: web.Request) -> web.Response:
        return web.Response(text=BODY)

    application = web.Application()
    application.add_routes([web.get("/req", handle)])
    runner = web.AppRunner(application, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    print(runner.addresses[0][1], flush=True)
    await asyncio.Event().wait()


def serve_http() -> None:
    asyncio.run(answering())


async def requests(get: Get) -> float:
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


def http_clients() -> ExperimentResult:
    result = ExperimentResult()
    for library in ("aiohttp", "httpx"):
        if find_spec(library) is None:
            result.lacks(f"{library} is not installed", "httpx_over_aiohttp")
            return result
    with Served(serve_http) as server:
        url = f"http://127.0.0.1:{server.port}/req"
        times: dict[str, list[float]] = {"aiohttp": [], "httpx": []}
        for number in range(ROUNDS + 1):
            for name, run in (("aiohttp", with_aiohttp), ("httpx", with_httpx)):
                spent = asyncio.run(run(url))
                if number:  # the first imports and warms
                    times[name].append(spent)
    for name, found in times.items():
        result.values[f"{name}_ms"] = 1000 * median(found)
    result.ratio("httpx_over_aiohttp", "httpx_ms", "aiohttp_ms")
    return result


# --- newer CPythons, as far as this machine has them ----------------------------------------------

TIMEOUT_S = 60.0
BRANCHES, LEVELS = 6, 4
TREES, CALLS = 5, 20_000


def newest() -> FoundInterpreter | None:
    from bench.machine.interpreters import find

    found = [each for each in find()[0] if each.version >= (3, 12) and each.name[-1] != "t"]
    return found[-1] if found else None


def releases() -> ExperimentResult:
    """Eager tasks over others, and current_task in Python over that in C, on one interpreter."""
    from bench.launch import run_module

    result = ExperimentResult()
    interpreter = newest()
    if interpreter is None:
        why = "needs CPython 3.12 or later; none is on this machine"
        result.lacks(why, "eager_tasks", "current_task")
        return result
    done = run_module(interpreter.command, __name__, timeout_s=TIMEOUT_S)
    done.check_returncode()
    result.values.update(json.loads(done.stdout))
    result.facts["note"] = f"on CPython {interpreter.name}"
    return result


async def tree(level: int) -> None:
    """Like pyperformance's ``async_tree``, without work in the leaves."""
    if level:
        await asyncio.gather(*(tree(level - 1) for _ in range(BRANCHES)))


async def grow(eager: bool) -> float:
    if eager:
        factory: Any = getattr(asyncio, "eager_task_factory")  # noqa: B009 (3.12 and later)
        asyncio.get_running_loop().set_task_factory(factory)
    began = perf_counter()
    await tree(LEVELS)
    return perf_counter() - began


async def ask(current_task: Callable[[], object]) -> float:
    began = perf_counter()
    for _ in range(CALLS):
        current_task()
    return perf_counter() - began


def promised() -> dict[str, float]:
    """Ordinary tasks over eager ones, and current_task in Python over that in C."""
    versions = [getattr(tasks, f"_{kind}_current_task") for kind in ("py", "c")]
    if asyncio.current_task is not versions[1]:
        raise RuntimeError("asyncio's current_task is not the one in C")
    trees: tuple[list[float], list[float]] = ([], [])
    calls: tuple[list[float], list[float]] = ([], [])
    for _ in range(TREES):
        for place in (0, 1):
            trees[place].append(asyncio.run(grow(eager=bool(place))))
        for place, version in enumerate(versions):
            calls[place].append(asyncio.run(ask(version)))
    return {
        "eager_tasks": min(trees[0]) / min(trees[1]),
        "current_task": min(calls[0]) / min(calls[1]),
    }


if __name__ == "__main__":
    print(json.dumps(promised()), flush=True)
