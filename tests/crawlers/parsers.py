"""Exchanges with the parser in Python, though httptools is installed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

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
