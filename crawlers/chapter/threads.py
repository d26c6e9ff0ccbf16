"""Threads: a thread for each URL may block, because the others go on. What they share needs a
lock: a link is looked up, and added later, and no other thread may come between.

Waits: a thread, in the kernel. Switches: the kernel, at any moment.
Costs: a socket, a thread with its stacks. Became: crawlers/threads.py:work
"""

from threading import Lock, Thread

from crawlers.chapter.blocking import fetch
from crawlers.chapter.common import Page


def crawl(root: str) -> list[Page]:
    seen, pages, threads, lock = {root}, list[Page](), list[Thread](), Lock()

    def start(url: str) -> None:
        threads.append(Thread(target=work, args=(url,)))
        threads[-1].start()

    def work(url: str) -> None:
        page = fetch(url)
        with lock:
            pages.append(page)
            for link in page.links - seen:
                start(link)
            seen.update(page.links)

    start(root)
    for thread in threads:  # the list grows meanwhile: a thread starts others before it ends
        thread.join()
    return pages
