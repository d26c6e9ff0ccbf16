"""The frontier, sans-IO: which URLs to fetch next, which were seen, which are left.

It has no lock, no socket and no clock. Threads bring their own lock, and that
lock is part of the cost of threads. The outcome of a crawl depends only on the
site and the job, never on the order of the answers:

- a URL is taken once, however many pages link to it;
- each redirect uses up one of the source URL's budget, and a URL reached along
  two chains gets the larger of the two budgets;
- loops and used-up budgets are named when all answers are in.

A limit of pages is the exception: what is found first is fetched.

On another machine it asks for robots.txt before anything else. That is a fetch like any
other, and only the URLs of that server wait for it.
"""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Callable
from copy import copy
from dataclasses import replace
from heapq import heappop, heappush
from math import inf
from socket import EAI_NONAME, gaierror

from crawlers.job import MAX_PAGES, Address, CrawlReport, Fetch, Job, JobError, Origin, PageResult
from crawlers.kinds import RETRYABLE, UNREACHED
from crawlers.origins import (
    in_scope,
    make_origin,
    normal_root,
    origin_prefix,
    with_other_scheme,
)

Step = tuple[str | None, str, int]
"""A redirect's source, if any, its target, and how many more redirects may follow."""

BACKOFF_S = 0.1
"""Seconds before the second try of a URL; each further wait is twice as long."""


class Frontier:
    """URLs to fetch, URLs seen, budgets and due times of one crawl.

    ``resolve`` finds the addresses of an origin: of the start hosts at once, of
    others (with ``lenient`` only) when they are first needed. Raises
    :class:`JobError` for roots that cannot be crawled.
    """

    # Every page reads a dozen of these. Without slots, CPython 3.11 finds the attributes of an
    # object fast only while there are at most 29: two more cost 1.2 % of a page's instructions.
    __slots__ = (
        "_barred",
        "_beyond",
        "_cut",
        "_deeper",
        "_delayed",
        "_delays",
        "_depth",
        "_due",
        "_exclude",
        "_failures",
        "_held",
        "_job",
        "_now",
        "_origin",
        "_origins",
        "_paced",
        "_pending",
        "_places",
        "_prefix",
        "_prefixes",
        "_reduced",
        "_resolve",
        "_room",
        "_seen",
        "_spent",
        "_start",
        "active",
        "retries",
        "root",
        "rows",
        "stopped",
    )

    def __init__(self, job: Job, resolve: Callable[[str, Job], Origin] = make_origin) -> None:
        roots = [normal_root(url) for url in job.urls] if job.follow else list(job.urls)
        self.root = roots[0]
        self.rows: dict[str, PageResult] = {}
        self.active = 0
        self.retries = 0
        self.stopped: str | None = None
        self._job = job
        self._resolve = resolve
        self._origins: dict[str, Origin | None] = {}
        self._places: list[Origin] = []
        self._failures: dict[str, list[str]] = {}
        self._barred: dict[str, str] = {}
        self._held: dict[str, list[str]] = {}
        self._delayed: list[tuple[float, int, Fetch]] = []
        self._delays = 0
        for prefix in dict.fromkeys(map(origin_prefix, roots)):
            self._new_origin(prefix)
        # With the slash, so that http://host does not let http://host.evil in.
        self._prefixes = tuple(
            sorted({each + "/" for prefix in self._origins for each in with_other_scheme(prefix)})
        )
        try:
            self._exclude = re.compile(job.exclude) if job.exclude else None
        except (re.error, OverflowError, RecursionError) as error:
            raise JobError(
                f"exclude {job.exclude!r} is not a regular expression: {error}"
            ) from None
        # The origin of the last fetch: most URLs have the one of the URL before.
        self._origin: Origin
        self._prefix, self._cut = "\n", 0  # no URL begins so
        self._pending = deque(dict.fromkeys(roots))
        self._deeper: deque[str] = deque()
        self._depth = 0
        most = job.max_pages or (MAX_PAGES if job.any_host and job.polite else inf)
        self._room = most - len(self._pending)
        self._beyond: Counter[str] = Counter()
        self._seen = set(self._pending) if job.follow else set()
        self._reduced: dict[str, int] = {}
        self._spent: dict[str, str] = {}
        self._due = deque(job.schedule or ())
        self._paced = bool(self._due) or (job.any_host and job.polite)
        self._start = self._now = 0.0
        if len(self._pending) < len(self._due):
            raise JobError("a schedule needs distinct URLs: no page is fetched twice")

    def start(self, now: float) -> None:
        """Start at ``now``, seconds on the monotonic clock; a schedule counts from here."""
        self._start = self._now = now

    @property
    def ready(self) -> int:
        """How many fetches could be taken now."""
        return 0 if self.stopped else len(self._pending) + len(self._delayed)

    @property
    def finished(self) -> bool:
        """Whether the frontier will hand out no more fetches."""
        return self.stopped is not None or not (
            self.active or self._pending or self._delayed or self._deeper
        )

    @property
    def left(self) -> int:
        """How many URLs were found but not fetched, because the crawl was stopped."""
        pages = [fetch for _, _, fetch in self._delayed if not fetch.robots]
        held = sum(map(len, self._held.values()))
        return len(self._pending) + len(pages) + len(self._deeper) + held

    def stop(self, reason: str) -> None:
        """Hand out no more fetches; settle the ones in flight as usual."""
        if self.stopped is None:
            self.stopped = reason

    def take(self) -> Fetch | None:
        """The next fetch, or None when there is none now.

        The slot that takes a fetch waits until its ``due`` time. After None, ask
        again when another fetch was settled, unless the crawl is ``finished``.
        """
        delayed, pending = self._delayed, self._pending
        while not self.stopped and (delayed or pending or self._next_depth()):
            if delayed and (delayed[0][0] <= self._now or not pending):
                self.active += 1
                return heappop(delayed)[2]
            url = pending.popleft()
            if not url.startswith(self._prefix):
                prefix = url[: url.index("/", 8)]
                try:
                    origin = self._origins[prefix]
                except KeyError:
                    origin = self._meet(prefix)
                if origin is None:
                    self._give_up(url, self._barred[prefix])
                    continue
                self._origin, self._prefix, self._cut = origin, prefix + "/", len(prefix)
            fetch = Fetch(url, self._origin, url[self._cut :])
            if self._paced and not self._pace(fetch):
                continue
            self.active += 1
            return fetch
        return None

    def settle(self, fetch: Fetch, page: PageResult, now: float) -> None:
        """Take the outcome of a fetch: new links, a redirect, a retry or a failure."""
        self.active -= 1
        if now > self._now:
            # Threads read the clock before they have the lock, so times may come out of order.
            self._now = now
        if page.error is not None and self._again(fetch, page, now):
            return
        if fetch.robots:
            self._learn(fetch.robots, page)
            return
        self.rows[fetch.url] = page
        if page.links:
            self._follow(page, page.links)
        elif page.redirect is not None:
            self._redirect(fetch.url, page.redirect, self._budget(fetch.url) - 1)
        if self._deeper and not (self._pending or self._delayed):
            self._next_depth()

    def addresses_of(self, host: str, port: int) -> list[Address]:
        """The addresses of a server that this crawl may connect to.

        For libraries that resolve names themselves: their second answer may lead to another
        machine. Raises :class:`OSError` for a server that is none of this crawl's.
        """
        for origin in (*self._origins.values(), *self._places):
            if origin is None or origin.host != host.removesuffix("."):
                continue
            if origin.addresses[0].sockaddr[1] == port:
                return origin.addresses
        raise gaierror(EAI_NONAME, f"{host}: not resolved for this crawl")

    def report(self, backend: str, mechanism: dict[str, str | int]) -> CrawlReport:
        """The outcome of the crawl, timed from the start to the last outcome."""
        self._name_redirect_errors()
        return CrawlReport(
            backend=backend,
            root=self.root,
            concurrency=self._job.slots,
            elapsed_s=self._now - self._start,
            stopped=self.stopped or " and ".join(self._beyond) or None,
            rows=self.rows,
            mechanism=mechanism,
            retries=self.retries,
            left=self.left + self._beyond.total(),
            prefix=origin_prefix(self.root),
        )

    def _name_redirect_errors(self) -> None:
        """Mark the redirects that used up their budget, and those that lead in a circle."""
        for source, target in self._spent.items():
            if target not in self.rows:
                self.rows[source].error = "too_many_redirects"
        walked: set[str] = set()
        for url, row in self.rows.items():
            trail: dict[str, None] = {}
            while row.redirect is not None and url not in walked and url not in trail:
                trail[url] = None
                url = row.redirect
                following = self.rows.get(url)
                if following is None:
                    break
                row = following
            if url in trail:
                loop = list(trail)
                for member in loop[loop.index(url) :]:
                    self.rows[member].error = "redirect_loop"
            walked.update(trail)

    def _new_origin(self, prefix: str) -> Origin | None:
        origin: Origin | None
        try:
            origin = self._resolve(prefix, self._job)
        except (OSError, UnicodeError):  # a host such as "a..b" cannot even be encoded
            origin = None
            self._barred[prefix] = "unknown_host"
        self._origins[prefix] = origin
        if origin is not None and origin.manners is not None:
            self._ask(prefix, f"{prefix}/robots.txt", origin)
        return origin

    def _ask(self, prefix: str, url: str, origin: Origin) -> None:
        """Fetch robots.txt next; the URLs of its server wait until it is there."""
        self._held.setdefault(prefix, [])
        fetch = Fetch(url, origin, url[len(origin.prefix) :])
        fetch.robots = prefix
        self._delays += 1
        heappush(self._delayed, (fetch.due, self._delays, fetch))

    def _learn(self, prefix: str, answer: PageResult) -> None:
        """Take a robots.txt, or what came instead; let the URLs of its server go on."""
        origin = self._origins[prefix]
        assert origin is not None
        assert origin.manners is not None
        if self.stopped:
            return
        moved = origin.manners.moved(answer, prefix)
        if moved is not None and (place := self._place_of(moved)) is not None:
            self._ask(prefix, moved, place)
            return
        if (kind := origin.manners.read(answer)) is not None:
            self._origins[prefix] = None
            self._barred[prefix] = kind
            self._prefix = "\n"
        self._pending.extendleft(reversed(self._held.pop(prefix)))

    def _place_of(self, url: str) -> Origin | None:
        """Where a robots.txt has moved to; None if it cannot be fetched there."""
        prefix = origin_prefix(url)
        if prefix.startswith("https:") and not self._job.https:
            return None
        if (known := self._origins.get(prefix)) is not None:
            return known
        try:
            self._places.append(self._resolve(prefix, replace(self._job, polite=False)))
        except (OSError, UnicodeError, JobError):
            return None
        return self._places[-1]

    def _meet(self, prefix: str) -> Origin | None:
        """A new origin found by a link; if it may not be crawled, the crawl goes on."""
        if prefix.startswith("https:") and not self._job.https:
            self._origins[prefix] = None
            self._barred[prefix] = "unsupported"
            return None
        try:
            return self._new_origin(prefix)
        except JobError:
            self._origins[prefix] = None
            self._barred[prefix] = "forbidden"
            return None

    def _give_up(self, url: str, kind: str) -> None:
        row = self.rows[url] = PageResult(None, 0, 0)
        row.error = kind

    def _pace(self, fetch: Fetch) -> bool:
        """Set the due time, by the schedule and by manners; False if the URL may not be fetched."""
        held = self._held.get(fetch.origin.prefix)
        if held is not None:
            held.append(fetch.url)
            return False
        if self._due:
            fetch.intended = fetch.due = self._start + self._due.popleft()
        manners = fetch.origin.manners
        if manners is None:
            return True
        if not manners.allow(fetch.url):
            self._give_up(fetch.url, "forbidden")
            return False
        fetch.due = manners.due(max(self._now, fetch.due))
        return True

    def _again(self, fetch: Fetch, page: PageResult, now: float) -> bool:
        """Put the fetch back if it deserves another try; False if it does not."""
        if page.error == "stale":
            if not fetch.stale:
                # The server closed an idle connection before it answered anything.
                # That happens and does not count as a try (RFC 9112, 9.3.1).
                fetch.stale = True
                self._delay(fetch, now)
                return True
            page.error = "closed"
        if fetch.place is not None and self._elsewhere(fetch, page):
            self._put_back(fetch, now)
            return True
        if page.error not in RETRYABLE or fetch.tries >= self._job.max_tries or self.stopped:
            return False
        self._delay(fetch, now + BACKOFF_S * 2 ** (fetch.tries - 1))
        fetch.tries += 1
        self.retries += 1
        return True

    def _elsewhere(self, fetch: Fetch, page: PageResult) -> bool:
        """Let new connections begin at the next address; whether this try has one left.

        So a server is tried at all its addresses, in turn, before a try counts as failed, and
        the address that works is used from then on (RFC 8305, without its race). A silent
        address costs a try: it cannot be told from a slow server.
        """
        addresses = fetch.origin.addresses
        failures = self._failures.pop(fetch.url, [])
        if len(addresses) < 2 or not (page.error in RETRYABLE or failures):
            return False
        if addresses[0] == fetch.place:  # another fetch may have met the same before
            addresses.append(addresses.pop(0))
        if page.error in UNREACHED or (failures and page.error == "limit"):
            failures.append(page.error)
            if len(failures) < len(addresses) and not self.stopped:
                self._failures[fetch.url] = failures
                return True
            page.error = failures[0]
        return False

    def _delay(self, fetch: Fetch, due: float) -> None:
        # No slot is connected to a copy, so this try opens a new connection. Another
        # connection that was used before might be stale as well.
        fetch.origin = copy(fetch.origin)
        self._put_back(fetch, due)

    def _put_back(self, fetch: Fetch, due: float) -> None:
        fetch.place = None
        self._delays += 1
        manners = fetch.origin.manners
        fetch.due = due if manners is None else manners.due(due)
        heappush(self._delayed, (fetch.due, self._delays, fetch))

    def _allowed(self, url: str) -> bool:
        return (
            url.startswith(self._prefixes) or (self._job.lenient and in_scope(url, self._origins))
        ) and (self._exclude is None or not self._exclude.search(url))

    def _follow(self, page: PageResult, links: list[str]) -> None:
        page.links_found = len(links)
        deepest = self._depth == self._job.max_depth
        if deepest or len(links) > self._room:
            links = self._within_limits(links, deepest)
        pending = self._pending if self._job.max_depth is None else self._deeper
        seen, reduced = self._seen, self._reduced
        before = len(pending)
        for url in links:
            if url not in seen:
                seen.add(url)
                if self._allowed(url):
                    pending.append(url)
            elif url in reduced:
                self._redirect(None, url, self._job.max_redirects)
        page.links_new = len(pending) - before
        page.links = None
        self._room -= page.links_new

    def _within_limits(self, links: list[str], deepest: bool) -> list[str]:
        """Without the links that the crawl may not follow, which are counted, not remembered."""
        room = 0 if deepest else self._room
        kept = []
        for url in dict.fromkeys(links):
            if url not in self._seen and self._allowed(url):
                if room < 1:
                    self._beyond["max_depth" if deepest else "max_pages"] += 1
                    continue
                room -= 1
            kept.append(url)
        return kept

    def _next_depth(self) -> bool:
        """Go on to the links of the pages fetched so far, when all of these are settled."""
        if self.active or not self._deeper:
            return False
        self._depth += 1
        self._pending.extend(self._deeper)
        self._deeper.clear()
        return True

    def _budget(self, url: str) -> int:
        return self._reduced.get(url, self._job.max_redirects)

    def _redirect(self, source: str | None, target: str, budget: int) -> None:
        """Add a URL with the rest of a redirect budget, and pass any gain on along its chain."""
        step: Step | None = (source, target, budget)
        while step is not None:
            step = self._redirect_once(*step)

    def _redirect_once(self, source: str | None, target: str, budget: int) -> Step | None:
        """One step of that; returns the next."""
        if target not in self._seen:
            if not self._allowed(target):
                self._seen.add(target)
            elif budget >= 0 and self._room < 1:
                self._beyond["max_pages"] += 1
            elif budget >= 0:
                self._room -= 1
                self._seen.add(target)
                self._pending.append(target)
                self._reduced[target] = budget
            elif source is not None:
                # Do not mark it as seen: a link or a shorter chain may still lead there.
                self._spent[source] = target
            return None
        if budget <= self._reduced.get(target, budget):
            return None
        self._reduced[target] = budget
        row = self.rows.get(target)
        if row is None or row.redirect is None:
            return None
        return target, row.redirect, budget - 1
