"""Spin: a call that would have to wait raises an error at once, so the program could do something
else. It has nothing else to do, asks again, and keeps a whole processor busy.

Waits: nothing. Switches: nothing.
Costs: a socket, a processor. Became: crawlers/sockets.py:begin_connect
"""

import socket
from contextlib import suppress

from crawlers.chapter import blocking
from crawlers.chapter.common import RECV_SIZE, Page, parse, read_page


def fetch(url: str) -> Page:
    address, request = parse(url)
    with socket.socket() as sock:
        sock.setblocking(False)
        with suppress(BlockingIOError):  # always raised: it says that connecting has begun
            sock.connect(address)
        sent, response, chunk = 0, b"", b"?"
        while not sent:
            with suppress(BlockingIOError):  # not connected yet
                sent = sock.send(request)
        while chunk:
            with suppress(BlockingIOError):  # nothing there yet
                chunk = sock.recv(RECV_SIZE)
                response += chunk
    return read_page(url, response)


def crawl(root: str) -> list[Page]:
    return blocking.crawl(root, fetch)
