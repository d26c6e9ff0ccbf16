"""The frontier against a model of it: sets, and no thought of speed."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from crawlers.frontier import Frontier
from crawlers.job import Fetch, Job, PageResult
from crawlers.kinds import RETRYABLE
from tests.crawlers.exchanges import ORIGIN, failed, page, redirect
from tests.crawlers.exchanges import SITE as HOST

TRIES = 3

urls = st.integers(0, 15).map(lambda number: f"{HOST}/{number}")
away = st.just("http://other.test/")
kinds = st.sampled_from(sorted(RETRYABLE | {"stale", "protocol", "too_large", "cancelled"}))


class Crawl(RuleBasedStateMachine):
    """Slots take and settle in any order; the model keeps what must be where."""

    def __init__(self) -> None:
        super().__init__()
        job = Job((f"{HOST}/0",), max_tries=TRIES, max_redirects=100)
        self.frontier = Frontier(job, lambda prefix, job: ORIGIN)
        self.now = 0.0
        self.known = {f"{HOST}/0"}  # found, and not taken yet
        self.seen = {f"{HOST}/0"}
        self.back: dict[str, Fetch] = {}  # put back for another try
        self.flying: list[Fetch] = []
        self.rows: dict[str, int | str] = {}
        self.tries: dict[str, int] = {}
        self.stale: set[str] = set()
        self.retries = 0
        self.stopped = False

    @rule()
    def take(self) -> None:
        fetch = self.frontier.take()
        if self.stopped or not (self.known or self.back):
            assert fetch is None
            return
        assert fetch is not None
        if fetch.url in self.back:
            assert fetch is self.back.pop(fetch.url)
            assert fetch.origin is not ORIGIN, "another try goes over a connection of its own"
        else:
            self.known.remove(fetch.url)
            assert fetch.origin is ORIGIN
        self.flying.append(fetch)

    def settled(self, chosen: int, outcome: PageResult) -> Fetch:
        fetch = self.flying.pop(chosen % len(self.flying))
        self.now += 1.0
        self.frontier.settle(fetch, outcome, self.now)
        return fetch

    def find(self, url: str) -> None:
        if url not in self.seen and url.startswith(f"{HOST}/"):
            self.seen.add(url)
            self.known.add(url)

    @precondition(lambda self: self.flying)
    @rule(chosen=st.integers(0, 99), links=st.lists(st.one_of(urls, away), max_size=6))
    def settle_page(self, chosen: int, links: list[str]) -> None:
        self.rows[self.settled(chosen, page(*links)).url] = 200
        for link in links:
            self.find(link)

    @precondition(lambda self: self.flying)
    @rule(chosen=st.integers(0, 99), to=st.one_of(urls, away))
    def settle_redirect(self, chosen: int, to: str) -> None:
        self.rows[self.settled(chosen, redirect(to)).url] = 302
        self.find(to)

    @precondition(lambda self: self.flying)
    @rule(chosen=st.integers(0, 99), kind=kinds)
    def settle_failure(self, chosen: int, kind: str) -> None:
        fetch = self.settled(chosen, failed(kind))
        url = fetch.url
        if kind == "stale" and url not in self.stale:
            self.stale.add(url)  # free, and once
            self.back[url] = fetch
            return
        error = "closed" if kind == "stale" else kind
        used = self.tries.get(url, 1)
        if error in RETRYABLE and used < TRIES and not self.stopped:
            self.tries[url] = used + 1
            self.retries += 1
            self.back[url] = fetch
        else:
            self.rows[url] = error

    @rule()
    @precondition(lambda self: len(self.rows) > 8)
    def stop(self) -> None:
        self.frontier.stop("deadline")
        self.stopped = True

    @invariant()
    def agrees(self) -> None:
        crawl = self.frontier
        waiting = len(self.known) + len(self.back)
        assert crawl.ready == (0 if self.stopped else waiting)
        assert crawl.left == waiting
        assert crawl.active == len(self.flying)
        assert crawl.finished == (self.stopped or not (waiting or self.flying))
        assert crawl.retries == self.retries
        assert {url: row.error or row.status for url, row in crawl.rows.items()} == self.rows


Crawl.TestCase.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
TestFrontier = Crawl.TestCase
