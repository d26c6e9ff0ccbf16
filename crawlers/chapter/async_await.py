"""async/await: the step before with asyncio's loop, Task and Queue. ``await`` is the new ``yield
from``. If a worker fails, ``join`` waits for ever: the next step does better.

Waits: a worker, at an await. Switches: asyncio's loop, which resumes a Task.
Costs: a socket, frames and Task of its worker. Became: crawlers/async_await.py:work
"""

import asyncio
import socket
from collections.abc import Awaitable, Callable

from crawlers.chapter.common import RECV_SIZE, Page, parse, read_page

Queue = asyncio.Queue[str]
Fetch = Callable[[str], Awaitable[Page]]


async def fetch(url: str) -> Page:
    address, request = parse(url)
    loop, response = asyncio.get_running_loop(), b""
    with socket.socket() as sock:
        sock.setblocking(False)
        await loop.sock_connect(sock, address)
        await loop.sock_sendall(sock, request)
        while chunk := await loop.sock_recv(sock, RECV_SIZE):
            response += chunk
    return read_page(url, response)


async def work(queue: Queue, seen: set[str], pages: list[Page], fetch: Fetch) -> None:
    while True:
        url = await queue.get()
        page = await fetch(url)
        pages.append(page)
        for link in page.links - seen:
            queue.put_nowait(link)
        seen.update(page.links)
        queue.task_done()


async def main(root: str, slots: int) -> list[Page]:
    queue, seen, pages = Queue(), {root}, list[Page]()
    queue.put_nowait(root)
    workers = [asyncio.create_task(work(queue, seen, pages, fetch)) for _ in range(slots)]
    await queue.join()
    for worker in workers:
        worker.cancel()
    return pages


def crawl(root: str, slots: int = 10) -> list[Page]:
    return asyncio.run(main(root, slots))
