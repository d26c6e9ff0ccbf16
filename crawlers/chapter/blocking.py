"""Blocking: one page after the other, with sockets as they are by default.

Waits: the program, in the kernel. Switches: nothing.
Costs: a socket. Became: crawlers/threads.py:fetch
"""

import socket
from collections.abc import Callable

from crawlers.chapter.common import RECV_SIZE, Page, parse, read_page


def fetch(url: str) -> Page:
    address, request = parse(url)
    with socket.socket() as sock:
        sock.connect(address)
        sock.sendall(request)
        response = b""
        while chunk := sock.recv(RECV_SIZE):
            response += chunk
    return read_page(url, response)


def crawl(root: str, fetch: Callable[[str], Page] = fetch) -> list[Page]:
    todo, seen, pages = [root], {root}, []
    while todo:
        page = fetch(todo.pop())
        pages.append(page)
        todo.extend(page.links - seen)
        seen.update(page.links)
    return pages
