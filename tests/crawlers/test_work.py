"""Work that pages need: what it comes to, and that no other page has any."""

from __future__ import annotations

import os
import pickle
import sys
from collections.abc import Iterator
from threading import get_ident
from time import monotonic, thread_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawlers import callbacks, page, work
from crawlers.http import Exchange
from crawlers.job import Fetch, Job, PageResult, Work
from tests.crawlers.exchanges import fed, fetch_of

URL = fetch_of("/p/7").url


@pytest.fixture(autouse=True)
def as_ever() -> Iterator[None]:
    """Later tests read pages without work."""
    yield
    work.begin(Job((URL,)))


def read(fetch: Fetch, exchange: Exchange) -> PageResult:
    """The page as a model reads it."""
    found: PageResult = vars(callbacks)["read_page"](fetch, exchange, False)
    return found


def answered(target: str = "/p/7", status: bytes = b"200 OK") -> Exchange:
    head = b"HTTP/1.1 %s\r\nContent-Length: 11\r\n\r\n" % status
    return fed(Exchange(fetch_of(target)), head + b"one two two")


def test_words_are_counted_whatever_their_case_and_marks() -> None:
    assert work.words(b"a b b") == 1 * 1 * 1 + 2 * 2 * 1
    assert work.words(b"A, b. <B>") == work.words(b"a b b")
    assert work.words(b"") == 0


@given(st.binary(max_size=200), st.integers(0, 20))
def test_what_rounds_come_to_can_be_told_from_one(body: bytes, rounds: int) -> None:
    began, cpu = monotonic(), thread_time()
    done = work.do(body, rounds)
    assert done.check == work.fold(work.words(body), rounds) < work.LIMIT
    assert 0 <= done.cpu_s <= thread_time() - cpu
    assert 0 <= done.wall_s <= done.ended - began <= monotonic() - began
    assert (done.process, done.thread) == (os.getpid(), get_ident())


@given(st.integers(1, 1000), st.integers(0, work.LIMIT - 1))
def test_a_round_more_or_less_is_seen(rounds: int, value: int) -> None:
    assert work.fold(value, rounds) != work.fold(value, rounds + 1)


def test_only_pages_that_need_it_are_worked_on() -> None:
    work.begin(Job((URL, URL + "0"), follow=False, work=Work(frozenset({URL}), 4)))
    needs, other = fetch_of("/p/7"), fetch_of("/p/70")
    needs.intended = 12.5
    found = read(needs, answered())
    assert isinstance(found, work.WorkedPage)
    plain = page.read_page(needs, answered(), False)
    assert (found.status, found.size, found.checksum) == (200, plain.size, plain.checksum)
    assert found.done.check == work.fold(work.words(b"one two two"), 4)
    assert found.intended == 12.5
    assert not isinstance(read(other, answered("/p/70")), work.WorkedPage)
    gone = answered(status=b"404 Not Found")
    assert not isinstance(read(needs, gone), work.WorkedPage)


def test_a_worked_page_survives_its_way_from_another_process() -> None:
    work.begin(Job((URL,), follow=False, work=Work(frozenset({URL}), 2)))
    found = read(fetch_of("/p/7"), answered())
    back = pickle.loads(pickle.dumps(found, pickle.HIGHEST_PROTOCOL))
    assert isinstance(back, work.WorkedPage)
    assert isinstance(found, work.WorkedPage)
    assert back.done == found.done
    assert (back.checksum, back.links_found) == (found.checksum, found.links_found)


def test_work_done_elsewhere_is_not_done_again() -> None:
    work.begin(Job((URL,), follow=False, work=Work(frozenset({URL}), 2)))
    done = work.Done(1, 2.0, 2.5, 3.0, 4, 5)
    work.elsewhere[URL] = done
    found = read(fetch_of("/p/7"), answered())
    assert isinstance(found, work.WorkedPage)
    assert found.done is done
    assert not work.elsewhere


def test_a_job_without_work_reads_pages_with_the_function_itself() -> None:
    """So that it takes not one instruction more."""
    work.begin(Job((URL,), follow=False, work=Work(frozenset({URL}), 2)))
    assert vars(callbacks)["read_page"] is not page.read_page
    work.begin(Job((URL,)))
    readers = [
        vars(module)["read_page"]
        for name, module in list(sys.modules.items())
        if name.startswith("crawlers.") and not name.startswith("crawlers.chapter.")
        if "read_page" in vars(module)
    ]
    assert len(readers) >= 2
    assert all(reader is page.read_page for reader in readers)
