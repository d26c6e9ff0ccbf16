"""Work elsewhere: ``async_await``, whose loop hands work over to a thread or to a process.

Changed against ``async_await``: before it answers a page that needs work, the coroutine waits
for that work in ``await``, and the loop serves others meanwhile. A thread shares the interpreter's
lock with the loop, a process of a pool has its own.
"""

from __future__ import annotations

import asyncio
import os
import signal
from concurrent.futures import Executor, ProcessPoolExecutor
from functools import partial
from multiprocessing import connection as pipes
from multiprocessing import get_context, parent_process
from threading import Thread
from time import monotonic
from typing import cast

from server.models import async_await
from server.models.async_await import Connection, receive, send
from server.models.service import Service
from server.models.work import Working, spin


async def converse(service: Service, executor: Executor | None, connection: Connection) -> None:
    """Receive and answer, after the work that an answer needs."""
    conversation = connection.conversation
    site = cast(Working, service.site)
    loop = asyncio.get_running_loop()
    works = isinstance(service.site, Working)
    while not conversation.over:
        conversation.feed(await receive(connection))
        while True:
            if works and site.needs(conversation.target):
                await loop.run_in_executor(executor, spin, site.ms)
                site.done = True
            part = conversation.part(monotonic())
            if part is None:
                break
            await send(connection, part)


def to_thread(service: Service) -> None:
    """Serve with the loop's own pool of threads, as ``asyncio.to_thread`` does."""
    async_await.serve(service, converse=partial(converse, service, None))


def pool(service: Service) -> None:
    """Serve with a pool of processes, one for each processor."""
    # Before Python 3.14 the default is fork, and then the processes keep all sockets open.
    processors, context = len(os.sched_getaffinity(0)), get_context("forkserver")
    with ProcessPoolExecutor(processors, context, end_with_parent) as executor:
        async_await.serve(service, converse=partial(converse, service, executor))


def end_with_parent() -> None:
    """Let a process of the pool end with the server, which may be killed, and not before."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C at a terminal reaches it, too
    parent = parent_process()
    assert parent is not None, "a process of a pool has a parent"
    Thread(target=_end_with, args=(parent.sentinel,), daemon=True).start()


def _end_with(sentinel: int) -> None:
    pipes.wait([sentinel])
    os._exit(1)
