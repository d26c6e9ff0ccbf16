"""A Redis list between master and consumers: coroutines that take their work from it.

What waits: a coroutine for each slot, first on the list for work, then on its
connection. What switches: asyncio's loop. What a connection costs: the same as
in ``async_await``. Changed against ``async_await``: a fetch does not go straight
from the frontier to a slot. The master pushes it to a list in another program,
and the consumers pop it from there. Frontier and pages stay here: the list only
carries numbers.

While a pop waits, it needs a connection to Redis of its own. So the consumers
share a hundred connections, like clients with a pool. With a connection for each
consumer, ten thousand of them would need twenty thousand descriptors.

The Redis server is started before the clock and stopped after the crawl. It is a
child of this process on the same processors, so its processor time is part of the
cost of the crawl. It listens on a Unix socket in a folder that only you can enter:
other users of the machine can reach a port of 127.0.0.1, and it asks for no password.
"""

from __future__ import annotations

import asyncio
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path
from time import monotonic, sleep
from typing import Any

from redis.asyncio import Redis

from crawlers import async_await
from crawlers.async_await import CANNOT_SEE, Slot, disconnect, fetch, finish, watch
from crawlers.backend import BackendError
from crawlers.job import CrawlReport, Fetch, Job
from crawlers.limits import ensure_descriptors
from crawlers.loop import loop_name
from crawlers.recorder import Recorder
from crawlers.stop import Stop

__all__ = ["CANNOT_SEE", "crawl"]

SERVER = shutil.which("redis-server")
if SERVER is None:
    raise BackendError(
        "backend redis_queue needs the program redis-server: apt-get install redis-server"
    )

LIST = "fetches"
OVER = 0
"""The number that sends a consumer home; fetches are numbered from 1."""

POOL = 100
"""Connections to Redis that the consumers share; so many can wait on the list at once."""

START_S = 10.0
GUARD = '"$@" & read -r line; kill $!; wait'
"""A shell that runs the server and stops it when its standard input is closed, even by a kill."""


class Shared(async_await.Shared):
    """The state that master and consumers share.

    ``free`` counts the idle consumers, and ``pool`` holds the idle connections to
    Redis.
    """

    def __init__(self, job: Job, recorder: Recorder) -> None:
        super().__init__(job, recorder)
        self.free = job.slots
        self.numbers = OVER
        self.away: dict[int, Fetch] = {}
        self.changed = asyncio.Event()
        self.pool: asyncio.Queue[Any] = asyncio.Queue()


@contextmanager
def redis_server(clients: int) -> Iterator[str]:
    """A Redis server that stores nothing on disk; yields its Unix socket."""
    with tempfile.TemporaryDirectory(prefix="c10k-redis-") as folder:
        path = str(Path(folder) / "socket")
        options = f"--port 0 --maxclients {clients + 32} --appendonly no --daemonize no".split()
        guard = subprocess.Popen(
            ["sh", "-c", GUARD, "sh", SERVER or "", *options, "--unixsocket", path, "--save", ""],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            process_group=0,  # the crawl handles Ctrl-C at a terminal
        )
        try:
            wait_for(path)
            yield path
        finally:
            guard.communicate()


def wait_for(path: str) -> None:
    """Wait until the server listens on its socket."""
    give_up = monotonic() + START_S
    while True:
        with socket.socket(socket.AF_UNIX) as attempt:
            try:
                return attempt.connect(path)
            except (FileNotFoundError, ConnectionRefusedError):
                if monotonic() > give_up:
                    raise RuntimeError(f"redis-server does not listen on {path}") from None
        sleep(0.01)


async def master(shared: Shared, queue: Redis) -> None:
    """Push a fetch for each idle consumer until none is left; then send them home."""
    while not shared.frontier.finished:
        numbers = []
        while shared.free and (item := shared.frontier.take()):
            shared.numbers += 1
            shared.free -= 1
            shared.away[shared.numbers] = item
            numbers.append(shared.numbers)
        if numbers:
            await push(queue, numbers)
        elif not shared.frontier.finished:
            shared.changed.clear()
            await shared.changed.wait()
    await push(queue, [OVER] * len(shared.slots))


async def push(queue: Any, numbers: list[int]) -> None:  # noqa: ANN401
    """Append to the list."""
    await queue.rpush(LIST, *numbers)


async def take(shared: Shared, slot: Slot) -> Fetch | None:
    """Pop the next fetch, suspended until there is one; None when the crawl is over."""
    queue = await shared.pool.get()
    _, number = await queue.blpop([LIST])
    shared.pool.put_nowait(queue)
    item = shared.away.pop(int(number), None)
    if item is None:
        disconnect(slot)
        return None
    slot.aborted = None
    slot.waited = True  # for its number, if for nothing else
    slot.deadline = max(monotonic(), item.due) + shared.job.timeout_s
    return item


async def work(shared: Shared, slot: Slot) -> None:
    """The life of a consumer: take, fetch, finish, until it is sent home."""
    while item := await take(shared, slot):
        exchange = await fetch(shared, slot, item)
        finish(shared, slot, item, exchange)
        shared.free += 1
        shared.changed.set()


async def main(job: Job, recorder: Recorder, stop: Stop, server: str) -> CrawlReport:
    """Crawl on the loop that runs this, with the Redis server at this socket."""
    shared = Shared(job, recorder)
    async with AsyncExitStack() as stack:
        for _ in range(connections(job)):
            # Consumers wait on the list for as long as it takes.
            queue = Redis(
                unix_socket_path=server, single_connection_client=True, socket_timeout=None
            )
            shared.pool.put_nowait(await stack.enter_async_context(queue))
            await queue.ping()
        shared.frontier.start(monotonic())
        tasks = [asyncio.create_task(master(shared, shared.pool.get_nowait()))]
        for slot in shared.slots:
            slot.task = asyncio.create_task(work(shared, slot))
            tasks.append(slot.task)
        watch(shared, stop)
        try:
            await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            for slot in shared.slots:
                disconnect(slot)
    return shared.frontier.report(
        "redis_queue", {"loop": loop_name(shared.loop), "queue": "redis-server, one list"}
    )


def connections(job: Job) -> int:
    """How many connections to Redis a crawl has: the master's and the consumers'."""
    return 1 + min(job.slots, POOL)


def crawl(job: Job, recorder: Recorder) -> CrawlReport:
    """Crawl with one consumer for each slot, and a Redis server of its own.

    Raises :class:`JobError` if there are too few descriptors for these and the slots.
    """
    ensure_descriptors(job.slots, besides=connections(job))
    with redis_server(connections(job)) as server, Stop(job) as stop:
        return asyncio.run(main(job, recorder, stop, server))
