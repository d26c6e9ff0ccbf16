"""Queue: ten workers, so ten sockets. A worker without a URL waits in ``get``, and ``join`` waits
until each URL is done. No worker can know that, so the main coroutine cancels them.

Waits: a worker, in get or fetch. Switches: a Task, when a Future is resolved.
Costs: a socket, frames and Task of its worker. Became: crawlers/generators.py:take
"""

from collections import deque
from collections.abc import Callable, Generator

from crawlers.chapter import generators
from crawlers.chapter.callbacks import selector
from crawlers.chapter.common import Page
from crawlers.chapter.yield_from import fetch

soon: deque[Callable[[], None]] = deque()


class Future(generators.Future):
    def resolve(self) -> None:
        soon.extend(self)  # the coroutine that resolves this still runs


class Queue:
    def __init__(self) -> None:
        self.urls, self.getters = deque[str](), deque[Future]()
        self.unfinished, self.finished = 0, Future()

    def put(self, url: str) -> None:
        self.unfinished += 1
        self.urls.append(url)
        if self.getters:
            self.getters.popleft().resolve()

    def get(self) -> Generator[generators.Future, None, str]:
        while not self.urls:
            self.getters.append(Future())
            yield self.getters[-1]
        return self.urls.popleft()

    def task_done(self) -> None:
        self.unfinished -= 1
        if not self.unfinished:
            self.finished.resolve()

    def join(self) -> Generator[generators.Future, None, None]:
        yield self.finished


def work(
    queue: Queue, seen: set[str], pages: list[Page]
) -> Generator[generators.Future, None, None]:
    while True:
        url = yield from queue.get()
        page = yield from fetch(url)
        pages.append(page)
        for link in page.links - seen:
            queue.put(link)
        seen.update(page.links)
        queue.task_done()


def main(root: str, slots: int) -> Generator[generators.Future, None, list[Page]]:
    queue, seen, pages = Queue(), {root}, list[Page]()
    queue.put(root)
    workers = [generators.Task(work(queue, seen, pages)) for _ in range(slots)]
    yield from queue.join()
    for worker in workers:
        worker.coroutine.close()  # raises GeneratorExit where it waits
    return pages


def crawl(root: str, slots: int = 10) -> list[Page]:
    task = generators.Task(main(root, slots))
    while not task.done:
        for key, _ in selector.select(0 if soon else None):
            key.data()
        while soon:
            soon.popleft()()
    return list(task.result)
