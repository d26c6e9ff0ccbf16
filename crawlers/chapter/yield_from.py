"""Yield from: generators call generators, as functions call functions. What the innermost yields
goes through all its callers to the Task, which did not change. Tracebacks are whole again.

Waits: a stack of generators, in ready. Switches: a Task, when a Future is resolved.
Costs: a socket, suspended frames, a Task. Became: crawlers/generators.py:receive
"""

import socket
from collections.abc import Generator
from contextlib import suppress
from selectors import EVENT_READ, EVENT_WRITE

from crawlers.chapter.callbacks import run, selector
from crawlers.chapter.common import RECV_SIZE, Page, Shared, parse, read_page
from crawlers.chapter.generators import Future, Task


def ready(sock: socket.socket, event: int) -> Generator[Future, None, None]:
    future = Future()
    selector.register(sock, event, future.resolve)
    yield future
    selector.unregister(sock)


def read(sock: socket.socket) -> Generator[Future, None, bytes]:
    yield from ready(sock, EVENT_READ)
    return sock.recv(RECV_SIZE)


def read_all(sock: socket.socket) -> Generator[Future, None, bytes]:
    response = b""
    while chunk := (yield from read(sock)):
        response += chunk
    return response


def fetch(url: str) -> Generator[Future, None, Page]:
    address, request = parse(url)
    with socket.socket() as sock:
        sock.setblocking(False)
        with suppress(BlockingIOError):
            sock.connect(address)
        yield from ready(sock, EVENT_WRITE)
        sock.send(request)
        return read_page(url, (yield from read_all(sock)))


def work(shared: Shared, url: str) -> Generator[Future, None, None]:
    for link in shared.finish((yield from fetch(url))):
        Task(work(shared, link))


def crawl(root: str) -> list[Page]:
    shared = Shared(root)
    Task(work(shared, root))
    return run(shared)
