"""The exchange: bytes in, outcome out, however the bytes were split."""

from __future__ import annotations

import errno
import socket
from collections.abc import Iterable, Iterator
from contextlib import nullcontext

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawlers.http import MAX_HEAD, Exchange
from crawlers.kinds import ERROR_KINDS, error_kind
from crawlers.page import read_page
from tests.crawlers.answers import CASES, CHUNKED, MAX_BODY, Case
from tests.crawlers.exchanges import fed, fetch_of, in_python


@pytest.fixture(params=["httptools", "python"], scope="module", autouse=True)
def each_parser(request: pytest.FixtureRequest) -> Iterator[None]:
    """Whatever holds for exchanges holds with both parsers."""
    with in_python() if request.param == "python" else nullcontext():
        yield


def exchange(max_body: int = 10_000, target: str = "/a?b=1", reused: bool = False) -> Exchange:
    """A fresh exchange."""
    made = Exchange(fetch_of(target), max_body)
    made.reused = reused
    return made


OK = b"HTTP/1.1 200 OK\r\n"
ANSWERED = [(case, case.answer) for case in CASES if isinstance(case.answer, bytes)]
SHORT = [(case, data) for case, data in ANSWERED if len(data) < 1000]


def each(rows: list[tuple[Case, bytes]]) -> pytest.MarkDecorator:
    """One test for each row of the table."""
    return pytest.mark.parametrize(("case", "data"), rows, ids=[case.name for case, _ in rows])


def play(data: bytes, cuts: Iterable[int] = ()) -> Exchange:
    """Feed an answer cut at these places, and then the end of the stream."""
    return fed(exchange(max_body=MAX_BODY), data, cuts)


def outcome(made: Exchange) -> str:
    """An error kind, or status, size and what becomes of the connection."""
    assert made.done
    kept = "kept" if made.keep_alive else "closed"
    assert made.error is None or made.status is None
    return made.error or f"{made.status}, {len(made.body)} B, {kept}"


@each(ANSWERED)
def test_an_answer_comes_to_what_the_table_says(case: Case, data: bytes) -> None:
    found = outcome(play(data))
    assert case.allows(found), found


def same_page(data: bytes, *splits: Iterable[int]) -> None:
    """A surplus that comes later is read by the next exchange, which fails on it."""
    whole = play(data)
    for cuts in splits:
        split = play(data, cuts)
        assert outcome(split).rpartition(",")[0] == outcome(whole).rpartition(",")[0]
        assert (split.error, split.body) == (whole.error, whole.body)


@given(st.sampled_from(SHORT), st.lists(st.integers(0, 400), max_size=12))
@settings(max_examples=10 * settings().max_examples)
def test_any_split_gives_the_same(one: tuple[Case, bytes], cuts: list[int]) -> None:
    same_page(one[1], cuts)


@each(SHORT)
def test_in_two_pieces_and_byte_by_byte(case: Case, data: bytes) -> None:
    """A head cut right behind ``Content-Length: 0`` was once taken for a whole answer."""
    same_page(data, range(len(data)), *([cut] for cut in range(1, len(data))))


@st.composite
def large(draw: st.DrawFn) -> tuple[bytes, list[int]]:
    """Answers with a head or a body about as long as is allowed, and where to cut them."""
    length = draw(st.sampled_from([0, MAX_HEAD - 90, MAX_HEAD - 70, MAX_HEAD + 9000]))
    head = OK + b"X: " + b"y" * length
    body = b"x" * draw(st.integers(0, 60))
    framing = draw(st.sampled_from([b"Content-Length: %d" % len(body), b"Y: z"]))
    chunked = b"\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n" % (len(body), body)
    trailers = b"0\r\n" + (b"X: " + b"y" * 95 + b"\r\n") * draw(st.sampled_from([600, 700]))
    ends = [b"", b"surplus", b"5\r\nhello\r\n-1\r\n", trailers + b"\r\n"]
    tail = chunked if draw(st.booleans()) else b"\r\n" + framing + b"\r\n\r\n" + body
    data = head + tail + draw(st.sampled_from(ends))
    near = st.one_of(st.integers(0, 400).map(lambda back: len(data) - back), st.integers(0, 70_000))
    return data, draw(st.lists(near, max_size=6))


@given(large())
def test_limits_do_not_depend_on_the_split(drawn: tuple[bytes, list[int]]) -> None:
    data, cuts = drawn
    outcomes = set()
    in_small = [*range(0, len(data), 5000), *range(len(data) - 100, len(data))]
    for places in ([], cuts, in_small):
        made = fed(exchange(max_body=40), data, places)
        outcomes.add((made.error, made.status, made.body if made.error is None else b""))
    assert len(outcomes) == 1


@pytest.mark.parametrize("part", [b"3;x=", b"3\r\nabc\r\n0\r\nX: "])
@pytest.mark.parametrize("piece", [100, MAX_HEAD])
def test_a_line_around_chunks_has_an_end(part: bytes, piece: int) -> None:
    """A trailer without end filled the memory until the timeout."""
    made = exchange()
    made.feed(CHUNKED + part)
    for _ in range(0, MAX_HEAD + 1, piece):
        assert not made.done
        made.feed(b"y" * piece)
    assert made.error == "too_large"


def test_a_surplus_behind_a_long_head_spoils_the_connection() -> None:
    made = exchange()
    answer = OK + b"X: " + b"y" * (MAX_HEAD - 90) + b"\r\nContent-Length: 0\r\n\r\n"
    made.feed(answer + b" " * 200)
    assert (made.error, made.status, made.keep_alive) == (None, 200, False)


def test_a_reused_connection_that_closes_first_is_stale() -> None:
    ended, reset, begun = (exchange(reused=True) for _ in range(3))
    ended.feed(b"")
    reset.fail(ConnectionResetError(errno.ECONNRESET, "reset"))
    begun.feed(b"HTTP/1.1 ")
    begun.feed(b"")
    assert [made.error for made in (ended, reset, begun)] == ["stale", "stale", "closed"]


def test_the_first_outcome_stays() -> None:
    made = exchange()
    made.abort("timeout")
    made.fail(ConnectionResetError(errno.ECONNRESET, "reset"))
    made.feed(OK + b"Content-Length: 0\r\n\r\n")
    made.abort("cancelled")
    assert (made.error, made.status) == ("timeout", None)


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (ConnectionRefusedError(errno.ECONNREFUSED, ""), "refused"),
        (ConnectionResetError(errno.ECONNRESET, ""), "reset"),
        (BrokenPipeError(errno.EPIPE, ""), "reset"),
        (ConnectionResetError("Connection lost"), "reset"),
        (TimeoutError(), "timeout"),
        (OSError(errno.EHOSTUNREACH, ""), "unreachable"),
        (OSError(errno.EMFILE, ""), "limit"),
        (socket.gaierror(socket.EAI_NONAME, ""), "unknown_host"),
        (OSError(errno.EPERM, ""), "network"),
        (OSError(), "network"),
    ],
)
def test_error_kinds(error: OSError, kind: str) -> None:
    assert error_kind(error) == kind
    assert kind in ERROR_KINDS


def test_no_cycle_is_left_for_the_collector() -> None:
    made = exchange()
    made.feed(OK + b"Content-Length: 3\r\n\r\nabc")
    assert made._parser is None


@given(st.binary(max_size=300))
def test_any_bytes_end_in_a_documented_way(data: bytes) -> None:
    made = play(b"HTTP/1.1 200 OK\r\n" + data)
    assert made.done
    assert made.error is None or made.error in ERROR_KINDS


TRAILERS = b"Content-Encoding: gzip\r\nLocation: /b\r\nContent-Type: text/plain\r\nX: y\r\n"


def test_trailers_are_ignored() -> None:
    """RFC 9110, 6.5.1: merged into the head they would change what the page is."""
    made = exchange()
    made.feed(OK + b"Transfer-Encoding: chunked\r\nContent-Type: text/html\r\n\r\n")
    made.feed(b"3\r\nabc\r\n0\r\n" + TRAILERS + b"\r\n")
    assert (made.done, made.error, made.body) == (True, None, b"abc")
    assert made.headers == {b"transfer-encoding": b"chunked", b"content-type": b"text/html"}
    assert made.location == ""


@pytest.mark.parametrize("value", [b"identity", b"identity ", b" IDENTITY\t", b""])
def test_blanks_around_a_content_encoding_do_not_count(value: bytes) -> None:
    made = exchange()
    head = OK + b"Content-Type: text/html\r\nContent-Encoding: " + value
    made.feed(head + b"\r\nContent-Length: 13\r\n\r\n<a href=/b>x<")
    page = read_page(fetch_of(), made, follow=True)
    assert page.links == ["http://site.test/b"]


@pytest.mark.parametrize(
    ("locations", "found"),
    [
        ([b"/a"], "/a"),
        (["/é".encode("latin-1")], "/%E9"),
        (["/é".encode()], "/%C3%A9"),
        ([b" /a\t"], "/a"),
        ([b"/a", b"/a"], "/a"),
        ([b"/a", b"/b"], ""),
        ([b"/a", b"/b", b"/a"], ""),
        ([b""], ""),
        ([], ""),
    ],
)
def test_locations(locations: list[bytes], found: str) -> None:
    made = exchange()
    lines = b"".join(b"Location: %b\r\n" % location for location in locations)
    made.feed(b"HTTP/1.1 302 Found\r\n" + lines + b"Content-Length: 0\r\n\r\n")
    assert made.error is None
    assert made.location == found
