"""Hostile HTTP servers: what each sends, and what must come of it in every backend.

All cases are paths of one server and one backend crawls them in one crawl, with a good
page after each. So one case that ends the crawl, or that spoils a connection for the next
request, fails the group. What RFC 9112 says of malformed answers is in tests/torture/framing.py.
"""

from __future__ import annotations

import gzip
import logging
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Final

from crawlers.conformance.scripted import Connection, ScriptedServer, ok, page
from crawlers.job import Job
from crawlers.kinds import ERROR_KINDS
from crawlers.recorder import NullRecorder
from crawlers.registry import Backend
from tests.torture import leaks

Answer = bytes | Callable[[Connection], None]


@dataclass(frozen=True, slots=True)
class Case:
    """A response, and the outcomes that are right: patterns separated by ``|``."""

    name: str
    answer: Answer
    wanted: str
    valid: bool = False  # then the stacks must agree
    ends: bool = True


OK: Final = b"HTTP/1.1 200 OK\r\n"
HTML: Final = OK + b"Content-Type: text/html\r\n"
ABC: Final = b"Content-Length: 3\r\n\r\nabc"
CHUNKED: Final = OK + b"Transfer-Encoding: chunked\r\n\r\n"
LAST: Final = b"0\r\n\r\n"
GOOD: Final = "200, 3 B"
BAD: Final = "protocol|closed"
EITHER: Final = f"{GOOD}|{BAD}"


def length(value: bytes) -> bytes:
    return OK + b"Content-Length:" + value + b"\r\n\r\nabc"


def coded(value: bytes, body: bytes = b"3\r\nabc\r\n0\r\n\r\n") -> bytes:
    return OK + b"Transfer-Encoding: " + value + b"\r\n\r\n" + body


def headed(*lines: bytes) -> bytes:
    """A page of three bytes with these header lines."""
    return OK + b"".join(line + b"\r\n" for line in lines) + ABC


def status(line: bytes) -> bytes:
    """A page of three bytes with this status line."""
    return line + b"\r\n" + ABC


def drip(data: bytes) -> Callable[[Connection], None]:
    def action(connection: Connection) -> None:
        for at in range(len(data)):
            connection.send(data[at : at + 1])

    return action


def urgent(connection: Connection) -> None:
    """Send a byte out of band in the middle of a body."""
    connection.send(OK + b"Content-Length: 3\r\n\r\na")
    assert isinstance(connection.sock, socket.socket)
    connection.sock.send(b"!", socket.MSG_OOB)
    connection.send(b"bc")


def half_closed(connection: Connection) -> None:
    """Close the sending side alone after a whole answer, and go on reading."""
    connection.send(OK + ABC)
    connection.sock.shutdown(socket.SHUT_WR)
    connection.hang()


def late(connection: Connection) -> None:
    """Close a kept-alive connection a moment after the answer."""
    connection.send(OK + ABC)
    time.sleep(0.02)
    connection.close()


def pieces(*parts: bytes) -> Callable[[Connection], None]:
    def action(connection: Connection) -> None:
        for part in parts:
            connection.send(part)
            time.sleep(0.01)

    return action


def stalls(data: bytes) -> Callable[[Connection], None]:
    """Send some bytes, and no more until the crawler closes."""

    def action(connection: Connection) -> None:
        connection.send(data)
        connection.hang()

    return action


def speaks(name: str, greeting: bytes) -> Case:
    return Case(f"a server that speaks {name}", greeting, BAD)


PROTOCOLS = (
    speaks("TLS", b"\x15\x03\x01\x00\x02\x02\x28"),
    speaks("SSH", b"SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n"),
    speaks("Redis", b"-ERR unknown command 'GET'\r\n"),
    speaks("HTTP/0.9", b"<html><a href=/x>x</a></html>\n"),
    speaks("RTSP", b"RTSP/1.0 200 OK\r\n" + ABC),
    speaks("RTSP after a blank line", b"\r\nRTSP/1.0 200 OK\r\n" + ABC),
    speaks("ICE", b"ICE/1.0 200 OK\r\n" + ABC),
    speaks("all bytes", bytes(range(256)) * 8),
    speaks("NULs", bytes(5000)),
    speaks("blank lines", b"\r\n" * 2000),
)
STATUS = (
    Case("version 2.0", status(b"HTTP/2.0 200 OK"), EITHER),
    Case("version of 30,000 digits", status(b"HTTP/1." + b"1" * 30_000 + b" 200 OK"), BAD),
    Case("status 099", status(b"HTTP/1.1 099 OK"), f"{BAD}|99, 3 B"),
    Case("status 599", status(b"HTTP/1.1 599 OK"), "599, 3 B", valid=True),
    Case("status 999", status(b"HTTP/1.1 999 OK"), f"999, 3 B|{BAD}"),
    Case("Arabic digits", status("HTTP/1.1 ٢٠٠ OK".encode()), BAD),
    Case("two status lines", OK + status(b"HTTP/1.1 404 X"), BAD),
    Case("a reason in UTF-8", status("HTTP/1.1 200 ça va".encode()), GOOD, valid=True),
    Case("a BOM before the status line", b"\xef\xbb\xbf" + OK + ABC, BAD),
)
HEADS = (
    Case("five thousand headers", headed(*[b"a: b"] * 5000), GOOD),
    Case("a name of 60,000 bytes", headed(b"x" * 60_000 + b": y"), GOOD),
    Case("a head of 70,000 bytes", headed(b"x: " + b"y" * 70_000), "too_large"),
    Case("an escape in a value", headed(b"x: \x1b[2J"), EITHER),
    Case("a value of blanks", headed(b"x:      \t   "), GOOD, valid=True),
    Case("lines that end in CR CR LF", (OK + ABC).replace(b"\r\n", b"\r\r\n"), EITHER),
    Case("a folded Content-Length", OK + b"Content-Length:\r\n 3\r\n\r\nabc", EITHER),
    Case("close and keep-alive", headed(b"Connection: close, keep-alive"), GOOD, valid=True),
    Case("Keep-Alive of nothing", headed(b"Keep-Alive: timeout=nan, max=-1"), GOOD, valid=True),
    Case("Upgrade in a 200", headed(b"Connection: upgrade", b"Upgrade: h2c"), EITHER),
    Case("two hundred cookies", headed(*[b"Set-Cookie: a=b; Domain=..; Max-Age=x"] * 200), GOOD),
    Case(
        *("a login", b"HTTP/1.1 401 No\r\nWWW-Authenticate: Basic realm=x, Digest\r\n" + ABC),
        *("401, 3 B", True),
    ),
    Case("429 for ever", b"HTTP/1.1 429 X\r\nRetry-After: 1e9\r\n" + ABC, "429, 3 B", True),
    Case("503 until -1", b"HTTP/1.1 503 X\r\nRetry-After: -1\r\n" + ABC, "503, 3 B", True),
    Case("300 with a Location", b"HTTP/1.1 300 X\r\nLocation: /x\r\n" + ABC, "300, 3 B", True),
)  # fmt: skip
LENGTHS = (
    Case("a length after tabs", length(b"\t\t3\t"), GOOD, valid=True),
    Case("a length after a thousand zeros", length(b" " + b"0" * 1000 + b"3"), EITHER),
    Case("Arabic digits as a length", length(" ٣".encode()), BAD),
    Case("a length of 2**64 + 3", length(b" 18446744073709551619"), f"{BAD}|too_large"),
    Case("a length of 2**32 + 3", length(b" 4294967299"), f"{BAD}|too_large"),
    Case("Content_Length", OK + b"Content_Length: 1\r\n" + ABC, GOOD, valid=True),
    Case("a length above the limit", length(b" 9999999"), f"{BAD}|too_large"),
)
CODINGS = (
    Case("blanks around chunked", coded(b"\t chunked \t"), f"{GOOD}|closed"),
    Case("identity, chunked", coded(b"identity, chunked"), GOOD),
    Case("gzip, chunked", coded(b"gzip, chunked"), GOOD),
    Case("gzip and chunked in two lines", OK + b"Transfer-Encoding: gzip\r\n"
         b"Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n", GOOD),
    Case("chunked and gzip in two lines", OK + b"Transfer-Encoding: chunked\r\n"
         b"Transfer-Encoding: gzip\r\n\r\nabc", EITHER),
    Case("chunked and a NUL", coded(b"chunked\0", b"abc"), EITHER),
    Case("a chunk's size with thirty zeros", CHUNKED + b"0" * 30 + b"3\r\nabc\r\n" + LAST, EITHER),
    Case("a chunk's size of 2**64 + 3", CHUNKED + b"10000000000000003\r\nabc\r\n" + LAST,
         f"{BAD}|too_large"),
    Case("a chunk's size in UTF-8", CHUNKED + "３\r\nabc\r\n".encode() + LAST, BAD),
    Case("an extension of 60,000 bytes", CHUNKED + b"3;" + b"x" * 60_000 + b"\r\nabc\r\n" + LAST,
         f"{EITHER}|too_large"),
    Case("an LF in an extension", CHUNKED + b"3;a\nb\r\nabc\r\n" + LAST, BAD),
    Case("chunks of one byte", CHUNKED + b"1\r\nx\r\n" * 5000 + LAST, "200, 5000 B", True),
    Case("a thousand trailers", CHUNKED + b"3\r\nabc\r\n0\r\n" + b"a: b\r\n" * 1000 + b"\r\n",
         f"{EITHER}|too_large"),
    Case("a length in a trailer", CHUNKED + b"3\r\nabc\r\n0\r\nContent-Length: 9\r\n\r\n", GOOD),
    Case("chunks above the limit", CHUNKED + b"fffff\r\n" + b"x" * 0xFFFFF + b"\r\n9\r\n123456789"
         b"\r\n" + LAST, "too_large"),
    Case("gzip that was not asked for", ok(gzip.compress(b"<a href=/never>"),
         extra="Content-Encoding: gzip\r\n"), "200, 35 B", True, False),
    Case("gzip that is none", ok(b"abc", extra="Content-Encoding: gzip\r\n"), GOOD, True, False),
    Case("a bomb of gzip", ok(gzip.compress(bytes(20_000_000), 9),
         extra="Content-Encoding: gzip\r\n"), "200, 19465 B", True, False),
    Case("an unknown coding", ok(b"abc", extra="Content-Encoding: \xff\r\n"), GOOD, True, False),
)  # fmt: skip
INTERIM = (
    Case("eight interim answers", b"HTTP/1.1 102 X\r\n\r\n" * 8 + OK + ABC, GOOD),
    Case("nine interim answers", b"HTTP/1.1 102 X\r\n\r\n" * 9 + OK + ABC, "protocol"),
    Case("100 with a Location", b"HTTP/1.1 100 X\r\nLocation: /x\r\n\r\n" + OK + ABC, GOOD),
    Case("an interim answer in pieces", pieces(b"HTTP/1.1 1", b"00 X\r\n\r", b"\n" + OK, ABC),
         GOOD, False, False),
    Case("204 and a body", b"HTTP/1.1 204 X\r\n\r\nabc", "204, 0 B"),
    Case("304 and a Location", b"HTTP/1.1 304 X\r\nLocation: /x\r\n\r\n", "304, 0 B", True, False),
    Case("205 and a body", b"HTTP/1.1 205 X\r\n" + ABC, "205, 3 B", False, False),
)  # fmt: skip
TIMES = (
    Case("one byte at a time", drip(OK + ABC), GOOD, True, False),
    Case("urgent data", urgent, GOOD, True, False),
    Case("half closed after the answer", half_closed, GOOD, True, False),
    Case("closed a moment after the answer", late, GOOD, True, False),
    Case("a body before its head", b"abc" + OK + ABC, BAD),
    Case("silence", stalls(b""), "timeout", True, False),
    Case("a head and silence", stalls(OK), "timeout", True, False),
    Case("half a body and silence", stalls(length(b" 9")), "timeout",
         True, False),
    Case("interim answers and silence", stalls(b"HTTP/1.1 100 X\r\n\r\n"),
         "timeout", True, False),
)  # fmt: skip
KINDS = (
    Case("no type", OK + b"Content-Length: 18\r\n\r\n<a href=/never>x</", "200, 18 B", True),
    Case("a type of 50,000 bytes", ok(b"abc", kind="text/" + "x" * 50_000), GOOD, False, False),
    Case("an escape in the type", ok(b"abc", kind="text/\x1b[2J"), EITHER, False, False),
    Case("the name of a codec as charset", ok(b"abc", kind="text/html; charset=rot13"), GOOD, True,
         False),
    Case("a path as charset", ok(b"abc", kind="text/html; charset=../../etc/passwd"), GOOD, True,
         False),
)  # fmt: skip
CASES: Final = (
    *(*PROTOCOLS, *STATUS, *HEADS, *LENGTHS),
    *(*CODINGS, *INTERIM, *TIMES, *KINDS),
)

SHARED: Final = (
    *("threads", "callbacks", "generators", "async_await"),
    *("uvloop", "trio", "gevent", "tornado", "twisted"),
)
"""Backends with the models' parser: every outcome must be the wanted one."""

STACKS: Final = ("urllib3_tuned", "requests_tuned", "httpx_tuned")
"""Backends with a parser of their own: they must agree in the cases that are valid HTTP.

urllib3, requests, aiohttp and httpx as they ship decode bodies, so they cannot.
"""

TIMEOUT_S: Final = 4.0
MAX_BODY: Final = 1 << 20
NAMELESS: Final = ("a_b", "-", "xn--", "xn--a", "*", "a,b")
ADDRESSES: Final = {
    **dict.fromkeys(("http://127.0.0.1:0/", "http://[::1]:0/", "http://0.0.0.0:9/"), "refused"),
    **dict.fromkeys(("http://127.0.0.1:65535/", "http://127.255.255.254:9/"), "refused"),
    **dict.fromkeys(("http://255.255.255.255:9/", "http://[fe80::1]:9/"), "forbidden"),
    **{f"http://{name}.localhost:9/": "unknown_host" for name in NAMELESS},
}
"""Start URLs that lead nowhere, and the error of each."""


@contextmanager
def hostile(cases: tuple[Case, ...] = CASES) -> Iterator[ScriptedServer]:
    """A server whose root links to every case, and to a good page after each."""

    def ending(answer: bytes) -> Callable[[Connection], None]:
        def action(connection: Connection) -> None:
            connection.send(answer)
            connection.close()

        return action

    with ScriptedServer() as server:
        paths = [path for at in range(len(cases)) for path in (f"/case/{at}", f"/good/{at}")]
        server.script["/"] = page(*paths)
        for at, case in enumerate(cases):
            server.script[f"/good/{at}"] = ok(b"good")
            answer = case.answer
            if case.ends and isinstance(answer, bytes):
                answer = ending(answer)
            server.script[f"/case/{at}"] = answer
        yield server


Rows = dict[str, tuple[int | None, str | None, str | None, int | None]]
"""URL -> status, error, redirect, size."""


def crawl(backend: Backend, *urls: str, counted: bool = True, **settings: Any) -> Rows:
    """Crawl hostile URLs: every row. Fails if the crawl stops, or leaves something behind."""
    before = leaks.held()
    job = Job(urls, slots=16, max_tries=1, timeout_s=TIMEOUT_S, max_body=MAX_BODY, **settings)
    logging.disable()  # pytest keeps each record, with the frames of its traceback
    try:
        with leaks.no_warnings():
            report = backend.crawl(job, NullRecorder())
    finally:
        logging.disable(logging.NOTSET)
    assert report.stopped is None
    assert not counted or leaks.left(before) == {}
    return {
        url: (row.status, row.error, row.redirect, row.size) for url, row in report.rows.items()
    }


def outcome(row: tuple[Any, ...]) -> str:
    """A row in words: an error kind, or status and size."""
    status, error, _, size = row
    return error or f"{status}, {size} B"


def right(case: Case, found: str, *, stack: bool) -> bool:
    """Whether an outcome is right; a stack may read broken responses in its own way."""
    if stack and not case.valid:
        return found in ERROR_KINDS or ", " in found
    return any(fnmatchcase(found, pattern) for pattern in case.wanted.split("|"))


def wrong(
    name: str, rows: Rows, server: ScriptedServer, cases: tuple[Case, ...] = CASES
) -> dict[str, str]:
    """What one backend did wrong: case -> what came instead."""
    assert len(rows) == 2 * len(cases) + 1
    found: dict[str, str] = {}
    for at, case in enumerate(cases):
        came = outcome(rows[f"{server.url}case/{at}"])
        good = outcome(rows[f"{server.url}good/{at}"])
        if not right(case, came, stack=name in STACKS):
            found[case.name] = f"{came} instead of {case.wanted}"
        elif good != "200, 4 B":
            found[case.name] = f"the good page after it: {good}"
    return found
