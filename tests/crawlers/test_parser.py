"""Three readers of one answer: httptools, the parser in Python, the short way for plain heads."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import httptools
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from crawlers import heads, http
from crawlers.heads import LONGEST, REMEMBERED, read_head
from tests.crawlers.exchanges import fed, fetch_of, in_python
from tests.programs import python

STATUS = b"100 X|101 X|103 X|204 X|301 X|304 X|404 X|99 X|200|200 |20 OK| 200 OK".split(b"|")
OTHERS = b"HTTP/1.0 200 OK|HTTP/2.0 200 OK|HTTP/0.9 200 OK|HTTP/1.2 200 OK|HTTP/1.1|ICY 200 OK"
STATUS_LINES = st.one_of(
    st.just(b"HTTP/1.1 200 OK"),
    st.sampled_from([*(b"HTTP/1.1 " + status for status in STATUS), *OTHERS.split(b"|")]),
)
CODINGS = (
    b"chunked|Chunked |gzip, chunked|gzip|chunked, gzip|xchunked||chunkedx|chunked\t|"
    b"gzip, chunked \t |chunked\t, gzip"
)
LENGTHS = b"3|%b|0|3 |3\t|03|+3||3, 3|%b" % (b"0" * 30 + b"3", b"9" * 23)
CONNECTIONS = (
    b"close|Keep-Alive|foo, close|close, keep-alive|upgrade|closer|close |, close|close;x|close x"
)
ODD = (
    b"Proxy-Connection: close|Upgrade: h2c|Content-Type:\ttext/html |Location: /\xff|X:|"
    b"X: a\r\n b|X : a|X|: x| X: a|X: a\0b|X: \x7f|X: a\nY: b|X: a\rb"
)
HEADERS = st.sampled_from(
    [
        *(b"Transfer-Encoding: " + value for value in CODINGS.split(b"|")),
        *(b"Content-Length: " + value for value in LENGTHS.split(b"|")),
        *(b"Connection: " + value for value in CONNECTIONS.split(b"|")),
        *ODD.split(b"|"),
    ]
)
SIZES = (
    b'3|0003|%b|3;x=y|3;a;b|3;x="a b"|3;x="a\\"b"|3;x=|3;=y|3;|3 |3;a =b|3;x="a"b|3;x=7"a"|x|%b|4'
    % (b"0" * 30 + b"3", b"f" * 17)
).split(b"|")
TRAILERS = (
    b"Content-Type: x|Content-Length: 3|Content-Length: x|Connection: close|Transfer-Encoding: x"
)
ENDS = [b"0\r\n", b"0\r\n\r\n", *(b"0\r\n%b\r\n\r\n" % line for line in TRAILERS.split(b"|"))]
CHUNKS = st.builds(b"%b\r\nabc\r\n%b".__mod__, st.tuples(*map(st.sampled_from, (SIZES, ENDS))))
BODIES = st.one_of(st.sampled_from([b"abc", b"", b"\r\n", b"3\nabc\r\n0\r\n\r\n"]), CHUNKS)
PLAIN = st.sampled_from(
    (
        b"Content-Length: 3|content-length:3|CONTENT-LENGTH:  003 |Content-Length:0|content-type:|"
        b"Content-Type: text/html|Content-Type: text/plain; charset=x |Location: /a|location:/b|"
        b'Server: nginx/1.27.0|X-Empty:|ETag: "a-b"|Connection: keep-alive|connection:Keep-Alive|'
        b"Content-Language: en|Content-Encoding: gzip|Keep-Alive: timeout=5|Date: now|X_Y: z"
    ).split(b"|")
)


def responses(headers: st.SearchStrategy[bytes], most: int) -> st.SearchStrategy[bytes]:
    """Answers with up to so many of these header lines."""
    lines = st.lists(headers, max_size=most)
    return st.builds(
        lambda first, lines, body: b"\r\n".join([first, *lines, b"", body]),
        STATUS_LINES,
        lines,
        BODIES,
    )


ANY = responses(st.one_of(PLAIN, HEADERS), 3)
DAMAGE = st.tuples(
    st.integers(0, 500),
    st.integers(0, 2),
    st.one_of(st.sampled_from([b"\r", b"\n", b" ", b"\t", b":", b"\0"]), st.binary(max_size=2)),
)
"""Where a byte or two are lost, and what is put there."""


@contextmanager
def without_the_short_way() -> Iterator[None]:
    """No head counts as plain."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(http, "read_head", lambda _: None)
        yield


def outcome(data: bytes, cuts: list[int]) -> tuple[object, ...]:
    """What an exchange makes of a stream that ends after ``data``."""
    exchange = fed(http.Exchange(fetch_of()), data, cuts)
    kept = exchange.headers if exchange.error is None else None
    return exchange.status, exchange.error, exchange.body, exchange.keep_alive, kept


def agree(data: bytes, cuts: list[int]) -> None:
    """What the readers make of an answer is the same, with and without the short way."""
    expected = outcome(data, cuts)
    with without_the_short_way():
        assert outcome(data, cuts) == expected
        with in_python():
            assert outcome(data, cuts) == expected
    with in_python():
        assert outcome(data, cuts) == expected


@settings(max_examples=10 * settings().max_examples)
@given(responses(st.one_of(PLAIN, PLAIN, HEADERS), 5))
@example(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\nabc")
@example(b"HTTP/1.1 200 OK\r\nLocation: /a\r\nLocation: /b\r\nContent-Length: 0\r\n\r\n")
@example(b"HTTP/1.1 200 OK\nContent-Length: 3\n\nabc")
@example(b"HTTP/1.1 204 No\r\nContent-Length: 3\r\n\r\nabc")
@example(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\nabc")
@example(
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: \r\n X: a\r\nTransfer-Encoding: chunked\r\n\r\n\r\n"
)
def test_the_readers_agree(data: bytes) -> None:
    agree(data, [])


@settings(max_examples=6 * settings().max_examples)
@given(
    st.lists(ANY, min_size=1, max_size=3),
    st.lists(st.integers(0, 500), max_size=6),
    st.lists(DAMAGE, max_size=1),
)
def test_the_readers_agree_on_pieces_and_damage(
    answers: list[bytes], cuts: list[int], damage: list[tuple[int, int, bytes]]
) -> None:
    data = b"".join(answers)
    for at, lost, put in damage:
        at %= len(data) + 1
        data = data[:at] + put + data[at + lost :]
    # The last line is a whole one: faults in lines show at their end.
    agree(data + b"\r\n", cuts)


def test_only_so_many_lines_are_remembered() -> None:
    """A server that never repeats a line, or sends long ones, must not fill the memory."""
    usual = b"Content-Length: 1\r\nContent-Type: text/html\r\nConnection: Keep-Alive"
    for number in range(2 * REMEMBERED):
        line = b"X: %d" % number + b"y" * (LONGEST if number % 2 else 0)
        assert read_head(b"HTTP/1.1 200 %d\r\n%b\r\n%b" % (number, usual, line))
    for known in (heads._statuses, heads._fields):
        assert len(known) <= REMEMBERED
        assert all(len(line) <= LONGEST for line in known)


def test_which_parser_is_used_is_said() -> None:
    assert f"httptools {httptools.__version__}" == http.PARSER
    without = "import sys; sys.modules['httptools'] = None\nfrom crawlers import http\n"
    show = "print(http.PARSER, http.HttpResponseParser.__module__)"
    done = python("-c", without + show)
    assert done.stdout.split() == ["python", "crawlers.parser"]
