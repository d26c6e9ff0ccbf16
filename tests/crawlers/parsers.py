"""Exchanges fed in pieces, and with the parser in Python, though httptools is installed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import pairwise

import pytest

from crawlers import http, parser


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
