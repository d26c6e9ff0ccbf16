"""Redis: a master puts URLs into a list and takes pages out of another. A worker is a process of
its own, and the first step inside. The lists outlive a worker, but not the URL that it took.

Waits: a worker, in BRPOP or fetch. Switches: the kernel, between processes.
Costs: a socket, a process. Became: crawlers/variants/processes.py:crawl
"""

import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import get_context
from shutil import which
from subprocess import PIPE, Popen
from tempfile import TemporaryDirectory

from crawlers.chapter.blocking import fetch
from crawlers.chapter.common import Page, Shared
from crawlers.job import JobError


class Redis:
    """A client. A command is an array of strings, each behind its length; so is a URL."""

    def __init__(self, port: int) -> None:
        with socket.create_connection(("127.0.0.1", port)) as sock:
            self.stream = sock.makefile("rwb")  # which keeps it open

    def __call__(self, *words: str) -> str:
        strings = [b"$%d\r\n%s\r\n" % (len(word.encode()), word.encode()) for word in words]
        self.stream.write(b"*%d\r\n%s" % (len(words), b"".join(strings)))
        self.stream.flush()
        answer = self.stream.readline()
        for _ in range(int(answer[1:]) if answer[:1] == b"*" else 0):
            answer = self.stream.read(int(self.stream.readline()[1:]) + 2)
        return answer.decode().strip()


@contextmanager
def redis_server() -> Iterator[int]:
    if not which("redis-server"):
        raise JobError("this step needs a Redis server: apt-get install redis-server")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port: int = free.getsockname()[1]
    with TemporaryDirectory(prefix="chapter-") as folder:
        options = f"--bind 127.0.0.1 --port {port} --dir {folder} --appendonly no --save".split()
        with Popen(["redis-server", *options, ""], stdout=PIPE, text=True) as process:
            try:
                any("Ready to accept" in line for line in process.stdout or ())
                yield port
            finally:
                process.terminate()


def work(port: int) -> None:
    redis = Redis(port)
    while url := redis("BRPOP", "todo", "0"):
        page = fetch(url)
        redis("LPUSH", "done", json.dumps([*page[:3], [*page.links]]))


def crawl(root: str, slots: int = 4) -> list[Page]:
    shared = Shared(root)
    with redis_server() as port:
        redis = Redis(port)
        for _ in range(slots):
            get_context("fork").Process(target=work, args=(port,), daemon=True).start()
        redis("LPUSH", "todo", root)
        while shared.todo:
            url, status, checksum, links = json.loads(redis("BRPOP", "done", "0"))
            for link in shared.finish(Page(url, status, checksum, frozenset(links))):
                redis("LPUSH", "todo", link)
        for _ in range(slots):
            redis("LPUSH", "todo", "")
    return shared.pages
