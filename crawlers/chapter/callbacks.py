"""Callbacks: ``select`` waits for all sockets at once; the selector keeps what to call for each.
Every link begins at once: a page with many links opens many sockets, without a cap.

Waits: the loop, in select. Switches: the loop, when a method returns.
Costs: a socket, a Fetcher, an entry in the selector. Became: crawlers/callbacks.py:connected
"""

import socket
from contextlib import suppress
from selectors import EVENT_READ, EVENT_WRITE, DefaultSelector

from crawlers.chapter.common import RECV_SIZE, Page, Shared, parse, read_page

selector = DefaultSelector()


class Fetcher:
    """One fetch. Its attributes were the local variables of ``fetch``."""

    def __init__(self, shared: Shared, url: str) -> None:
        self.shared, self.url, self.response = shared, url, b""

    def fetch(self) -> None:
        address, self.request = parse(self.url)
        self.sock = socket.socket()
        self.sock.setblocking(False)
        with suppress(BlockingIOError):
            self.sock.connect(address)
        selector.register(self.sock, EVENT_WRITE, self.connected)

    def connected(self) -> None:
        self.sock.send(self.request)
        selector.modify(self.sock, EVENT_READ, self.receive)

    def receive(self) -> None:
        if chunk := self.sock.recv(RECV_SIZE):
            self.response += chunk
            return  # the loop calls again
        selector.unregister(self.sock)
        self.sock.close()
        for link in self.shared.finish(read_page(self.url, self.response)):
            Fetcher(self.shared, link).fetch()


def run(shared: Shared) -> list[Page]:
    while shared.todo:
        for key, _ in selector.select():
            key.data()
    return shared.pages


def crawl(root: str) -> list[Page]:
    shared = Shared(root)
    Fetcher(shared, root).fetch()
    return run(shared)
