"""Streams: ``fetch`` as one writes it today: to connect is one line, to read is another. The group
keeps its tasks alive, and if one fails, it ends the crawl with that error.

Waits: a worker, at an await. Switches: asyncio's loop, which resumes a Task.
Costs: a socket, reader, writer, transport, protocol. Became: crawlers/async_await.py:connect
"""

import asyncio

from crawlers.chapter.async_await import Queue, work
from crawlers.chapter.common import Page, parse, read_page


async def fetch(url: str) -> Page:
    address, request = parse(url)
    reader, writer = await asyncio.open_connection(*address)
    writer.write(request)
    response = await reader.read()
    writer.close()
    return read_page(url, response)


async def main(root: str, slots: int) -> list[Page]:
    queue, seen, pages = Queue(), {root}, list[Page]()
    queue.put_nowait(root)
    async with asyncio.TaskGroup() as group:
        workers = [group.create_task(work(queue, seen, pages, fetch)) for _ in range(slots)]
        await queue.join()
        for worker in workers:
            worker.cancel()
    return pages


def crawl(root: str, slots: int = 10) -> list[Page]:
    return asyncio.run(main(root, slots))
