"""The parser in Python against httptools: the same calls for the same bytes."""

from __future__ import annotations

import subprocess
import sys

import httptools
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawlers import http
from crawlers.job import Fetch, Origin
from crawlers.parser import MAX_LINE, ParserError, ResponseParser
from tests.crawlers.parsers import fed, in_python

ORIGIN = Origin("http://site.test", [], http.request_tail("site.test", True))

STATUS_LINES = st.sampled_from(
    [
        *[b"HTTP/1.1 200 OK"] * 6,
        *(b"HTTP/1.1 %d X" % status for status in (100, 101, 103, 204, 301, 304, 404, 99)),
        b"HTTP/1.0 200 OK",
        b"HTTP/2.0 200 OK",
        b"HTTP/0.9 200 OK",
        b"HTTP/1.2 200 OK",
        b"HTTP/1.1 200",
        b"HTTP/1.1 200 ",
        b"HTTP/1.1 20 OK",
        b"HTTP/1.1  200 OK",
        b"HTTP/1.1",
        b"ICY 200 OK",
    ]
)
CODINGS = [
    b"chunked",
    b"Chunked ",
    b"gzip, chunked",
    b"gzip",
    b"chunked, gzip",
    b"xchunked",
    b"",
    b"chunkedx",
    b"chunked\t",
    b"gzip, chunked \t ",
    b"chunked\t, gzip",
]
LENGTHS = [b"3", b"0" * 30 + b"3", b"0", b"3 ", b"3\t", b"03", b"+3", b"", b"3, 3", b"9" * 23]
CONNECTIONS = [
    b"close",
    b"Keep-Alive",
    b"foo, close",
    b"close, keep-alive",
    b"upgrade",
    b"closer",
    b"close ",
    b", close",
    b"close;x",
    b"close x",
]
HEADERS = st.sampled_from(
    [
        *(b"Transfer-Encoding: " + value for value in CODINGS),
        *(b"Content-Length: " + value for value in LENGTHS),
        *(b"Connection: " + value for value in CONNECTIONS),
        b"Proxy-Connection: close",
        b"Upgrade: h2c",
        b"Content-Type:\ttext/html ",
        b"Location: /\xff",
        b"X:",
        b"X: a\r\n b",
        b"X : a",
        b"X",
        b": x",
        b" X: a",
        b"X: a\0b",
        b"X: \x7f",
        b"X: a\nY: b",
        b"X: a\rb",
    ]
)
SIZES = [
    b"3",
    b"0003",
    b"0" * 30 + b"3",
    b"3;x=y",
    b"3;a;b",
    b'3;x="a b"',
    b'3;x="a\\"b"',
    b"3;x=",
    b"3;=y",
    b"3;",
    b"3 ",
    b"3;a =b",
    b'3;x="a"b',
    b'3;x=7"a"',
    b"x",
    b"f" * 17,
    b"4",
]
ENDS = [
    b"0\r\n\r\n",
    b"0\r\nContent-Type: x\r\n\r\n",
    b"0\r\nContent-Length: 3\r\n\r\n",
    b"0\r\nContent-Length: x\r\n\r\n",
    b"0\r\nConnection: close\r\n\r\n",
    b"0\r\nTransfer-Encoding: x\r\n\r\n",
    b"0\r\n",
]
CHUNKS = st.builds(b"%b\r\nabc\r\n%b".__mod__, st.tuples(*map(st.sampled_from, (SIZES, ENDS))))
BODIES = st.one_of(st.sampled_from([b"abc", b"", b"\r\n", b"3\nabc\r\n0\r\n\r\n"]), CHUNKS)
RESPONSES = st.builds(
    lambda line, headers, body: b"\r\n".join([line, *headers, b"", body]),
    STATUS_LINES,
    st.lists(HEADERS, max_size=3),
    BODIES,
)


def outcome(data: bytes, cuts: list[int]) -> tuple[object, ...]:
    """What an exchange makes of a stream that ends after ``data``."""
    exchange = fed(http.Exchange(Fetch("http://site.test/", ORIGIN, "/")), data, cuts)
    kept = exchange.headers if exchange.error is None else None
    return exchange.status, exchange.error, exchange.body, exchange.keep_alive, kept


@settings(max_examples=3 * settings().max_examples)
@given(st.lists(RESPONSES, min_size=1, max_size=3), st.lists(st.integers(0, 500), max_size=6))
def test_agrees_with_httptools(responses: list[bytes], cuts: list[int]) -> None:
    # The last line is a whole one: faults in lines show at their end.
    data = b"".join(responses) + b"\r\n"
    expected = outcome(data, cuts)
    with in_python():
        assert outcome(data, cuts) == expected


@settings(max_examples=3 * settings().max_examples)
@given(
    RESPONSES,
    st.integers(0, 500),
    st.integers(0, 2),
    st.one_of(st.sampled_from([b"\r", b"\n", b" ", b"\t", b":", b"\0"]), st.binary(max_size=2)),
)
def test_agrees_with_httptools_on_damage(data: bytes, at: int, lost: int, put: bytes) -> None:
    at %= len(data) + 1
    data = data[:at] + put + data[at + lost :] + b"\r\n"
    expected = outcome(data, [])
    with in_python():
        assert outcome(data, []) == expected


def test_a_line_without_end_is_refused() -> None:
    """A chunk's size line is not counted by the exchange's limit on the head."""
    made = ResponseParser(http.Exchange(Fetch("http://site.test/", ORIGIN, "/")))
    made.feed_data(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;x=")
    made.feed_data(b"y" * (MAX_LINE - 4))
    with pytest.raises(ParserError):
        made.feed_data(b"y")


def test_which_parser_is_used_is_said() -> None:
    assert f"httptools {httptools.__version__}" == http.PARSER
    without = "import sys; sys.modules['httptools'] = None\nfrom crawlers import http\n"
    done = subprocess.run(
        [sys.executable, "-c", without + "print(http.PARSER, http.HttpResponseParser.__module__)"],
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    assert done.stdout.split() == ["python", "crawlers.parser"]
