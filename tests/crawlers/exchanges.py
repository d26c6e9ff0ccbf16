"""Exchanges without a socket: fed in pieces, by either parser; and what pages came to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import pairwise

import pytest

from crawlers import http, parser
from crawlers.job import Fetch, Origin, PageResult

SITE = "http://site.test"
ORIGIN = Origin(SITE, [], http.request_tail("site.test", True))


def fetch_of(target: str = "/") -> Fetch:
    """A fetch from this site."""
    return Fetch(SITE + target, ORIGIN, target)


def page(*links: str) -> PageResult:
    """A page answered 200."""
    found = PageResult(200, 10, 1)
    found.links = [link if "://" in link else f"{SITE}/{link}" for link in links]
    return found


def redirect(target: str) -> PageResult:
    """A redirect."""
    found = PageResult(302, 0, 0)
    found.redirect = target if "://" in target else f"{SITE}/{target}"
    return found


def failed(kind: str) -> PageResult:
    """No answer."""
    found = PageResult(None, 0, 0)
    found.error = kind
    return found


@contextmanager
def in_python() -> Iterator[None]:
    """What an exchange has where httptools cannot be imported."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(http, "HttpResponseParser", parser.ResponseParser)
        patch.setattr(http, "HttpParserError", parser.ParserError)
        patch.setattr(http, "HttpParserUpgrade", parser.ParserUpgrade)
        yield


def fed(exchange: http.Exchange, data: bytes, cuts: Iterable[int] = ()) -> http.Exchange:
    """Feed an exchange these bytes, cut at these places, and then the end of the stream."""
    edges = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
    for start, end in pairwise(edges):
        if start < end:
            exchange.feed(data[start:end])
    exchange.feed(b"")
    return exchange
