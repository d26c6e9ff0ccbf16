"""Odd answers, one after the other: each costs its own page at most, in every backend."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from crawlers.conformance.scripted import Action, Connection, ScriptedServer, ok, page
from crawlers.job import PageResult
from crawlers.kinds import ERROR_KINDS
from tests.crawlers import backends
from tests.crawlers.answers import CASES, CUT, MAX_BODY, Case
from tests.crawlers.backends import HERE, LIBRARIES, each, models

NAMELESS = ("a_b", "-", "xn--", "xn--a", "*", "a,b")
ADDRESSES = {
    **dict.fromkeys(("http://127.0.0.1:0/", "http://[::1]:0/", "http://0.0.0.0:9/"), "refused"),
    **dict.fromkeys(("http://127.0.0.1:65535/", "http://127.255.255.254:9/"), "refused"),
    **dict.fromkeys(("http://255.255.255.255:9/", "http://[fe80::1]:9/"), "forbidden"),
    **{f"http://{name}.localhost:9/": "unknown_host" for name in NAMELESS},
}
"""Start URLs that lead nowhere, and the error of each."""


@pytest.fixture(autouse=True)
def no_records() -> Iterator[None]:
    """pytest keeps each record of a library, with the frames of its traceback."""
    logging.disable()
    yield
    logging.disable(logging.NOTSET)


def in_words(row: PageResult) -> str:
    """An outcome as the table has it, but for the connection."""
    return row.error or f"{row.status}, {row.size} B"


def crawl(name: str, *urls: str, **settings: Any) -> dict[str, PageResult]:
    """All rows of a crawl that must come to its end."""
    report = backends.crawl(name, *urls, slots=16, max_tries=1, max_body=MAX_BODY, **settings)
    assert report.stopped is None
    return report.rows


def scripted(case: Case) -> bytes | Action:
    """The answer, and the end of its connection."""
    answer = case.answer
    if callable(answer) or not case.ends:
        return answer

    def action(connection: Connection) -> None:
        connection.send(answer)
        connection.close()

    return action


def right(case: Case, found: str, name: str) -> bool:
    if name in LIBRARIES and not case.valid:  # it may read broken answers in its own way
        return found in ERROR_KINDS or ", " in found
    return case.allows(found)


def wrong(name: str, cases: Sequence[Case] = CASES) -> dict[str, str]:
    """Crawl a server that has a good page after each case: what came otherwise, by case."""
    found: dict[str, str] = {}
    with ScriptedServer() as server:
        places = range(len(cases))
        server.script["/"] = page(*(f"/{kind}/{at}" for at in places for kind in ("case", "good")))
        server.script |= {f"/good/{at}": ok(b"good") for at in places}
        server.script |= {f"/case/{at}": scripted(cases[at]) for at in places}
        rows = crawl(name, server.url, timeout_s=60.0)
        assert len(rows) == 2 * len(cases) + 1
        for at, case in enumerate(cases):
            came = in_words(rows[f"{server.url}case/{at}"])
            good = in_words(rows[f"{server.url}good/{at}"])
            if not right(case, came, name):
                found[case.name] = f"{came} instead of {case.wanted}"
            elif good != "200, 4 B":
                found[case.name] = f"the good page after it: {good}"
    return found


@models
def test_no_answer_ends_a_crawl_or_spoils_the_next(name: str) -> None:
    assert wrong(name) == {}


@each(HERE)
def test_an_answer_that_is_cut_is_no_page(name: str) -> None:
    """In its first line, in its head, before a chunk, in one, behind one."""
    assert wrong(name, CUT) == {}


@models
def test_no_address_ends_a_crawl(name: str) -> None:
    rows = crawl(name, *ADDRESSES, timeout_s=60.0, any_host=True)
    assert {url: rows[url].error for url in ADDRESSES} == ADDRESSES


SHARED = ("asyncio_protocol", "uvloop", "trio", "gevent", "tornado", "twisted")
"""One backend for each library below the models' parser."""


@pytest.mark.slow
@pytest.mark.parametrize("name", [*SHARED, *LIBRARIES])
def test_every_library_stands_all_answers(name: str) -> None:
    assert wrong(name) == {}
