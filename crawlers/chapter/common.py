"""What the steps share: the parts of a crawler that no model of concurrency changes."""

from typing import NamedTuple
from zlib import crc32

from crawlers.links import extract
from crawlers.origins import origin_prefix
from crawlers.urls import normalise

RECV_SIZE = 4096


class Page(NamedTuple):
    """What came of one URL. Of ``links``, only those to the same server; a redirect is one."""

    url: str
    status: int
    checksum: int
    links: frozenset[str]


class Shared:
    """The state of a crawl: URLs seen, URLs still to do, pages fetched."""

    def __init__(self, root: str) -> None:
        self.seen, self.todo, self.pages = {root}, {root}, list[Page]()

    def finish(self, page: Page) -> frozenset[str]:
        """Take a page; returns its new links."""
        new = page.links - self.seen
        self.seen |= new
        self.todo = (self.todo | new) - {page.url}
        self.pages.append(page)
        return new


def parse(url: str) -> tuple[tuple[str, int], bytes]:
    """Where to connect, and what to send. In HTTP/1.0 a page ends with its connection."""
    _, _, server, target = url.split("/", 3)
    host, _, port = server.partition(":")
    return (host, int(port or 80)), f"GET /{target} HTTP/1.0\r\nHost: {server}\r\n\r\n".encode()


def read_page(url: str, response: bytes) -> Page:
    """Take a whole response apart."""
    head, _, body = response.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    fields = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
    links = extract(body, url, None) if "html" in fields.get("content-type", "") else []
    links.append(normalise(url, fields.get("location", "")) or url)
    inside = frozenset(link for link in links if link.startswith(origin_prefix(url) + "/"))
    return Page(url, int(first.split()[1]), crc32(body), inside)
