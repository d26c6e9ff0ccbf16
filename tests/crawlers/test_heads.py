"""Ordinary heads against the parsers: the same outcome, and only ordinary heads are taken."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from crawlers import heads, http
from crawlers.heads import LONGEST, REMEMBERED, read_head
from tests.crawlers.parsers import in_python
from tests.crawlers.test_parser import BODIES, HEADERS, STATUS_LINES, outcome

ORDINARY = st.sampled_from(
    [
        b"Content-Length: 3",
        b"content-length:3",
        b"CONTENT-LENGTH:  003 ",
        b"Content-Length:0",
        b"Content-Type: text/html",
        b"content-type:",
        b"Content-Type: text/plain; charset=x ",
        b"Location: /a",
        b"location:/b",
        b"Server: nginx/1.27.0",
        b"X-Empty:",
        b'ETag: "a-b"',
        b"Connection: keep-alive",
        b"connection:Keep-Alive",
        b"Content-Language: en",
        b"Content-Encoding: gzip",
        b"Keep-Alive: timeout=5",
        b"Date: now",
        b"X_Y: z",
    ]
)
RESPONSES = st.builds(
    lambda line, headers, body: b"\r\n".join([line, *headers, b"", body]),
    STATUS_LINES,
    st.lists(st.one_of(ORDINARY, ORDINARY, HEADERS), max_size=5),
    BODIES,
)


def by_the_parser(data: bytes) -> tuple[object, ...]:
    """The outcome where no head counts as ordinary."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(http, "read_head", lambda _: None)
        return outcome(data, [])


@settings(max_examples=10 * settings().max_examples)
@given(RESPONSES)
@example(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\nabc")
@example(b"HTTP/1.1 200 OK\r\nLocation: /a\r\nLocation: /b\r\nContent-Length: 0\r\n\r\n")
@example(b"HTTP/1.1 204 No\r\nContent-Length: 3\r\n\r\nabc")
@example(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\nabc")
def test_an_ordinary_head_means_what_the_parsers_read(data: bytes) -> None:
    made = outcome(data, [])
    assert made == by_the_parser(data)
    with in_python():
        assert made == by_the_parser(data)


@settings(max_examples=5 * settings().max_examples)
@given(
    st.lists(ORDINARY, max_size=3),
    st.integers(0, 200),
    st.integers(0, 2),
    st.one_of(st.sampled_from([b"\r", b"\n", b" ", b"\t", b":", b"\0"]), st.binary(max_size=2)),
)
def test_damage_is_left_to_the_parsers(lines: list[bytes], at: int, lost: int, put: bytes) -> None:
    data = b"\r\n".join([b"HTTP/1.1 200 OK", *lines, b"Content-Length: 3", b"", b"abc"])
    at %= len(data) + 1
    data = data[:at] + put + data[at + lost :]
    assert outcome(data, []) == by_the_parser(data)


def test_only_so_many_lines_are_remembered() -> None:
    """A server that never repeats a line, or sends long ones, must not fill the memory."""
    for number in range(2 * REMEMBERED):
        line = b"X: %d" % number + b"y" * (LONGEST if number % 2 else 0)
        assert read_head(b"HTTP/1.1 200 %d\r\nContent-Length: 1\r\n%b" % (number, line))
    for known in (heads._statuses, heads._fields):
        assert len(known) <= REMEMBERED
        assert all(len(line) <= LONGEST for line in known)
