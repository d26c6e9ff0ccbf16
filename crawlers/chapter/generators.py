"""Generators: ``yield`` gives control back and keeps the local variables: ``fetch`` is one function
again. It yields a Future; when the loop has resolved that, the Task resumes ``fetch``.

Waits: a generator, at a yield. Switches: a Task, when a Future is resolved.
Costs: a socket, a suspended frame, a Task. Became: crawlers/generators.py:_step
"""

import socket
from collections.abc import Callable, Generator
from contextlib import suppress
from selectors import EVENT_READ, EVENT_WRITE
from typing import Any

from crawlers.chapter.callbacks import run, selector
from crawlers.chapter.common import RECV_SIZE, Page, Shared, parse, read_page


class Future(list[Callable[[], None]]):
    """Something that is not there yet, and the callbacks of those who wait for it."""

    def resolve(self) -> None:
        for callback in self:
            callback()


class Task:
    """Drives a generator from one Future to the next."""

    def __init__(self, coroutine: Generator[Any, None, Any]) -> None:
        self.coroutine, self.done = coroutine, False
        self.step()

    def step(self) -> None:
        try:
            future = next(self.coroutine)
            future.append(self.step)
        except StopIteration as stop:
            self.done, self.result = True, stop.value


def fetch(shared: Shared, url: str) -> Generator[Future, None, None]:
    address, request = parse(url)
    sock = socket.socket()
    sock.setblocking(False)
    with suppress(BlockingIOError):
        sock.connect(address)
    future = Future()
    selector.register(sock, EVENT_WRITE, future.resolve)
    yield future
    sock.send(request)
    response, chunk = b"", b"?"
    while chunk:
        future = Future()
        selector.modify(sock, EVENT_READ, future.resolve)
        yield future
        chunk = sock.recv(RECV_SIZE)
        response += chunk
    selector.unregister(sock)
    sock.close()
    for link in shared.finish(read_page(url, response)):
        Task(fetch(shared, link))


def crawl(root: str) -> list[Page]:
    shared = Shared(root)
    Task(fetch(shared, root))
    return run(shared)
