"""The values that pass through a crawl: job, fetch, page, report."""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import ssl

MIB = 1024 * 1024

LONGEST_S = 1e6
"""Longest time in seconds that a job may ask for, about twelve days; clocks overflow far later."""


MAX_PAGES = 100_000
"""Most URLs of a polite crawl of any host: a site may go on for ever, as a calendar does."""

MAX_ROBOTS = 500 * 1024
"""Bytes of a robots.txt that are read (RFC 9309, 2.5)."""

UP_TO = f"at most {LONGEST_S:.0f}"


class JobError(ValueError):
    """The job cannot run as it is; the message says what to change."""


@dataclass(frozen=True, slots=True)
class Work:
    """The pages that need work, and how many rounds each (:mod:`crawlers.work`)."""

    urls: frozenset[str]
    rounds: int


@dataclass(frozen=True, slots=True)
class Job:
    """The work of one crawl.

    ``urls`` are the roots of a crawl, or, with ``follow=False``, the complete
    list of URLs to fetch. Times are in seconds, sizes in bytes.

    ``schedule`` makes the crawl an open loop: ``urls[i]`` is due
    ``schedule[i]`` seconds after the start, however many answers have come by
    then. It needs ``follow=False``, and one entry for each URL. With fewer entries, URLs
    beyond the last entry are due as soon as a slot is free: the crawl starts at
    the pace of the schedule and goes on as a closed loop.

    Only this machine is crawled unless ``any_host`` is set. On other machines
    the crawl obeys robots.txt, and requests to one server are due ``delay_s``
    apart. Set ``polite=False`` only for your own servers.

    Servers at ``https`` URLs must prove who they are, to the authorities in
    ``cafile`` or, without it, to those that the system trusts. ``insecure`` skips
    that: anybody on the way can then read and change the pages. ``https=False``
    is for a backend that cannot speak TLS; links to such URLs are ``unsupported``.

    ``max_pages`` is the most URLs that a crawl fetches: which ones depends on the order of
    the answers. Without it :data:`MAX_PAGES` limits a polite crawl of any host, and nothing
    limits others. ``max_depth`` is the most links from a start URL to a page; redirects do
    not count. All pages of a depth are fetched before the first of the next.

    ``work`` says which pages need processor time of ours: see :mod:`crawlers.work`.
    """

    urls: tuple[str, ...]
    slots: int = 10
    timeout_s: float = 10.0
    max_tries: int = 4
    max_redirects: int = 10
    max_pages: int | None = None
    max_depth: int | None = None
    max_body: int = 16 * MIB
    keep_alive: bool = True
    exclude: str | None = None
    lenient: bool = False
    follow: bool = True
    deadline_s: float | None = None
    schedule: tuple[float, ...] | None = None
    any_host: bool = False
    polite: bool = True
    delay_s: float = 1.0
    cafile: str | None = None
    insecure: bool = False
    https: bool = True
    work: Work | None = None

    def __post_init__(self) -> None:
        if not self.urls:
            raise JobError("no URL given: name at least one page to start from")
        for name, least in (("slots", 1), ("max_tries", 1), ("max_redirects", 0), ("max_body", 1)):
            if getattr(self, name) < least:
                raise JobError(f"{name} must be at least {least}, not {getattr(self, name)}")
        if self.max_pages is not None and self.max_pages < len(self.urls):
            raise JobError(f"max_pages is {self.max_pages}, but {len(self.urls)} URLs are given")
        if self.max_depth is not None and self.max_depth < 0:
            raise JobError(f"max_depth must be at least 0, not {self.max_depth}")
        if not 0 < self.timeout_s <= LONGEST_S:
            raise JobError(f"timeout_s must be above 0, {UP_TO}, not {self.timeout_s}")
        if self.deadline_s is not None and not 0 < self.deadline_s <= LONGEST_S:
            raise JobError(f"deadline_s must be above 0, {UP_TO}, not {self.deadline_s}")
        if not 0 <= self.delay_s <= LONGEST_S:
            raise JobError(f"delay_s must be at least 0, {UP_TO}, not {self.delay_s}")
        if not all(0 <= due <= LONGEST_S for due in self.schedule or ()):
            raise JobError(f"a schedule needs due times of at least 0 s, {UP_TO}")
        if self.schedule is not None and (self.follow or len(self.schedule) > len(self.urls)):
            raise JobError("a schedule needs follow=False and at most one due time for each URL")
        if self.insecure and self.cafile is not None:
            raise JobError("cafile says whom to trust, insecure trusts everybody: choose one")


class Manners(Protocol):
    """The rules of one server beyond this machine; ``read`` comes before ``allow``."""

    def moved(self, answer: PageResult, prefix: str) -> str | None:
        """Where to ask for robots.txt again, if the answer is a redirect to follow."""

    def read(self, answer: PageResult) -> str | None:
        """Take robots.txt; returns an error kind if no URL of the server may be fetched."""

    def allow(self, url: str) -> bool:
        """Whether the server lets a crawler fetch this URL."""

    def due(self, now: float) -> float:
        """When the next request may start; each call books one request."""


class Origin:
    """One server: the URL prefix it answers for and where to connect.

    New connections use the first of the ``addresses``; copies share the list.
    ``head_tail`` is the part of a request after its target, rendered once.
    ``keep_alive`` tells whether connections may carry more than one exchange.
    ``manners`` are None on this machine. ``tls`` has the settings of connections
    that are encrypted, None for plain HTTP, and ``host`` is the name that the
    server's certificate must have, without a dot at its end.
    """

    __slots__ = ("addresses", "head_tail", "host", "keep_alive", "manners", "prefix", "tls")

    def __init__(
        self,
        prefix: str,
        addresses: list[Address],
        head_tail: bytes,
        keep_alive: bool = True,
        manners: Manners | None = None,
        tls: ssl.SSLContext | None = None,
        host: str = "",
    ) -> None:
        self.prefix = prefix
        self.addresses = addresses
        self.head_tail = head_tail
        self.keep_alive = keep_alive
        self.manners = manners
        self.tls = tls
        self.host = host


@dataclass(frozen=True, slots=True)
class Address:
    """Where to connect: an address family and the argument of ``connect``."""

    family: int
    sockaddr: tuple[str | int | bytes, ...]


class Fetch:
    """One URL to fetch, with the number of tries so far.

    ``due`` is the time at which it may start, and ``intended`` the time at which
    the schedule of an open loop wants it to start. Both are on the monotonic
    clock; 0.0 means at once. ``stale`` is set when a try met a stale connection.
    ``robots`` is the prefix of the server whose robots.txt this is, "" for a page.
    ``place`` is where this try has connected, None on a connection that was open.
    """

    __slots__ = ("due", "intended", "origin", "place", "robots", "stale", "target", "tries", "url")

    def __init__(self, url: str, origin: Origin, target: str) -> None:
        self.url = url
        self.origin = origin
        self.target = target
        self.tries = 1
        self.place: Address | None = None
        self.stale = False
        self.robots = ""
        self.due = 0.0
        self.intended = 0.0

    @property
    def address(self) -> Address:
        """Where this try connects: the address that is first now, until the try is over."""
        if self.place is None:
            self.place = self.origin.addresses[0]
        return self.place


class PageResult:
    """The outcome of one URL.

    Without an answer ``status`` is None, and ``error`` names the kind of failure
    (see :data:`crawlers.kinds.ERROR_KINDS`). ``links`` holds the page's links
    until the frontier takes them; ``links_found`` and ``links_new`` count them.
    Only a robots.txt has a ``text``.
    """

    __slots__ = (
        "checksum",
        "content_type",
        "error",
        "links",
        "links_found",
        "links_new",
        "redirect",
        "size",
        "status",
        "text",
    )

    def __init__(self, status: int | None, size: int, checksum: int) -> None:
        self.status = status
        self.size = size
        self.checksum = checksum
        self.content_type: str = ""
        self.error: str | None = None
        self.redirect: str | None = None
        self.links: list[str] | None = None
        self.links_found = 0
        self.links_new = 0
        self.text = b""


@dataclass(slots=True)
class CrawlReport:
    """The outcome of one crawl.

    ``pages`` counts the distinct URLs answered 200, ``bytes`` their bodies.
    ``stopped`` is None for a crawl that ran to its end, otherwise the reason, and
    ``left`` counts the URLs that were found but not fetched; at a limit, the links to them.
    In ``mechanism`` the backend reports how it worked (threads, loop class).
    """

    backend: str
    root: str
    concurrency: int
    elapsed_s: float
    stopped: str | None
    rows: dict[str, PageResult]
    mechanism: dict[str, str | int]
    retries: int = 0
    left: int = 0
    prefix: str = ""
    pages: int = field(init=False)
    bytes: int = field(init=False)
    redirects: int = field(init=False)
    statuses: dict[int, int] = field(init=False)
    errors: dict[str, int] = field(init=False)

    def __post_init__(self) -> None:
        answered = [row for row in self.rows.values() if row.status is not None]
        self.pages = sum(row.status == 200 for row in answered)
        self.bytes = sum(row.size for row in answered if row.status == 200)
        self.redirects = sum(row.redirect is not None for row in answered)
        self.statuses = dict(sorted(Counter(row.status for row in answered if row.status).items()))
        self.errors = dict(
            sorted(Counter(row.error for row in self.rows.values() if row.error).items())
        )

    @property
    def pages_per_s(self) -> float:
        """Pages answered 200 per second of the crawl."""
        return self.pages / self.elapsed_s if self.elapsed_s > 0 else 0.0

    @property
    def digest(self) -> str:
        """SHA-256 over the outcome of every URL, independent of their order.

        One line ``key status crc32`` for each URL that was answered, and ``key
        kind -`` for each that was not, sorted by key. The key is the URL without
        the first root's origin, so that a server's port does not change it.
        """
        cut = len(self.prefix)
        lines = []
        for url, row in self.rows.items():
            key = url[cut:] if self.prefix and url.startswith(self.prefix + "/") else url
            if row.status is None:
                lines.append((key, f"{key} {row.error} -\n"))
            else:
                lines.append((key, f"{key} {row.status} {row.checksum:08x}\n"))
        return hashlib.sha256("".join(line for _, line in sorted(lines)).encode()).hexdigest()
