"""The values that flow through a crawl: job, fetch, page, report."""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from crawlers.manners import Manners

MIB = 1024 * 1024


class JobError(ValueError):
    """The job cannot be run as it stands; the message says what to change."""


@dataclass(frozen=True, slots=True)
class Job:
    """What one crawl does.

    ``urls`` are the roots of a crawl, or with ``follow=False`` the whole list
    of what is fetched. Times are in seconds, sizes in bytes.

    ``schedule`` makes the crawl an open loop: ``urls[i]`` is due
    ``schedule[i]`` seconds after the start, whatever has been answered by
    then. It needs ``follow=False`` and as many entries as there are URLs.

    ``expand=False`` is for one of several crawlers that share a crawl out among
    them: links and redirects are read and stay with their pages in the report,
    but whoever shares the crawl out decides who fetches them.

    Only this machine is crawled unless ``any_host`` is set. Beyond it
    robots.txt is obeyed, and requests to one server are due ``delay_s`` apart;
    only for servers of one's own may ``polite`` be off.
    """

    urls: tuple[str, ...]
    slots: int = 10
    timeout_s: float = 10.0
    max_tries: int = 4
    max_redirects: int = 10
    max_body: int = 16 * MIB
    keep_alive: bool = True
    exclude: str | None = None
    lenient: bool = False
    follow: bool = True
    expand: bool = True
    deadline_s: float | None = None
    schedule: tuple[float, ...] | None = None
    any_host: bool = False
    polite: bool = True
    delay_s: float = 1.0

    def __post_init__(self) -> None:
        if not self.urls:
            raise JobError("no URL given: name at least one page to start from")
        for name, least in (("slots", 1), ("max_tries", 1), ("max_redirects", 0), ("max_body", 1)):
            if getattr(self, name) < least:
                raise JobError(f"{name} must be at least {least}, not {getattr(self, name)}")
        if not self.timeout_s > 0:
            raise JobError(f"timeout_s must be above 0, not {self.timeout_s}")
        if self.deadline_s is not None and not self.deadline_s > 0:
            raise JobError(f"deadline_s must be above 0, not {self.deadline_s}")
        if not 0 <= self.delay_s < float("inf"):
            raise JobError(f"delay_s must be at least 0, not {self.delay_s}")
        if self.schedule is not None and (self.follow or len(self.schedule) != len(self.urls)):
            raise JobError("a schedule needs follow=False and one due time for each URL")


class Origin:
    """One server: the URL prefix it answers for and where to connect.

    ``head_tail`` is all of a request after its target, rendered once, and
    ``keep_alive`` whether connections may carry more than one exchange.
    ``manners`` are None on this machine.
    """

    __slots__ = ("addresses", "head_tail", "keep_alive", "manners", "prefix")

    def __init__(
        self,
        prefix: str,
        addresses: list[Address],
        head_tail: bytes,
        keep_alive: bool = True,
        manners: Manners | None = None,
    ) -> None:
        self.prefix = prefix
        self.addresses = addresses
        self.head_tail = head_tail
        self.keep_alive = keep_alive
        self.manners = manners


@dataclass(frozen=True, slots=True)
class Address:
    """Where to connect: an address family and the address ``connect`` takes."""

    family: int
    sockaddr: tuple[str | int | bytes, ...]


class Fetch:
    """One URL to fetch now, with what earlier tries used up.

    ``due`` is when it may start, ``intended`` when the schedule of an open
    loop wanted it to start; both are on the monotonic clock, 0.0 for at once.
    """

    __slots__ = ("due", "intended", "origin", "stale", "target", "tries", "url")

    def __init__(self, url: str, origin: Origin, target: str) -> None:
        self.url = url
        self.origin = origin
        self.target = target
        self.tries = 1
        self.stale = False
        self.due = 0.0
        self.intended = 0.0

    @property
    def address(self) -> Address:
        """The address for this try: each further try takes the next one."""
        addresses = self.origin.addresses
        return addresses[(self.tries - 1) % len(addresses)]


class PageResult:
    """What became of one URL.

    ``status`` is None when there was no answer, and then ``error`` names the
    kind (see :data:`crawlers.http.ERROR_KINDS`). ``links`` holds the page's
    links only until the frontier has taken them; afterwards ``links_found``
    and ``links_new`` count them.
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


@dataclass(slots=True)
class CrawlReport:
    """The outcome of one crawl.

    ``pages`` counts distinct URLs answered 200, ``bytes`` their bodies.
    ``stopped`` is None for a crawl that ran to its end, else why it did not,
    and ``left`` counts the URLs then found and not fetched.
    ``mechanism`` is what the backend says of itself (threads, loop class).
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
        """SHA-256 over every URL's outcome, whatever order it came in.

        One line ``key status crc32`` for each URL answered and ``key kind -``
        for each that was not, sorted by key; the key is the URL without the
        first root's origin, so that a server's port does not change it.
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
