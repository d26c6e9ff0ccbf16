"""The answers of the hostile servers: what each sends, and what must come of it."""

from __future__ import annotations

import gzip
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from crawlers.conformance.scripted import Connection, ok

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
    """A response with this Content-Length."""
    return OK + b"Content-Length:" + value + b"\r\n\r\nabc"


def coded(value: bytes, body: bytes = b"3\r\nabc\r\n0\r\n\r\n") -> bytes:
    """A response with this Transfer-Encoding."""
    return OK + b"Transfer-Encoding: " + value + b"\r\n\r\n" + body


def headed(*lines: bytes) -> bytes:
    """A page of three bytes with these header lines."""
    return OK + b"".join(line + b"\r\n" for line in lines) + ABC


def status(line: bytes) -> bytes:
    """A page of three bytes with this status line."""
    return line + b"\r\n" + ABC


def drip(data: bytes) -> Callable[[Connection], None]:
    """Send one byte at a time."""

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
    """Send parts with pauses between them."""

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
    """A server of another protocol."""
    return Case(f"a server that speaks {name}", greeting, BAD)


PROTOCOLS = (
    speaks("TLS", b"\x15\x03\x01\x00\x02\x02\x28"),
    speaks("SSH", b"SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n"),
    speaks("SMTP", b"220 mail.test ESMTP\r\n"),
    speaks("POP3", b"+OK ready\r\n"),
    speaks("Redis", b"-ERR unknown command 'GET'\r\n"),
    speaks("HTTP/2", b"\x00\x00\x06\x04\x00\x00\x00\x00\x00\x00\x03\x00\x00\x00\x64"),
    speaks("HTTP/0.9", b"<html><a href=/x>x</a></html>\n"),
    speaks("RTSP", b"RTSP/1.0 200 OK\r\n" + ABC),
    speaks("RTSP after a blank line", b"\r\nRTSP/1.0 200 OK\r\n" + ABC),
    speaks("ICE", b"ICE/1.0 200 OK\r\n" + ABC),
    speaks("SIP", b"SIP/2.0 200 OK\r\n" + ABC),
    speaks("requests", b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"),
    speaks("all bytes", bytes(range(256)) * 8),
    speaks("NULs", bytes(5000)),
    speaks("blank lines", b"\r\n" * 2000),
    speaks("blanks", b" " * 5000 + b"\r\n\r\n"),
)
STATUS = (
    Case("version 2.0", status(b"HTTP/2.0 200 OK"), EITHER),
    Case("version 0.9", status(b"HTTP/0.9 200 OK"), EITHER),
    Case("version 9.9", status(b"HTTP/9.9 200 OK"), EITHER),
    Case("version 1.10", status(b"HTTP/1.10 200 OK"), BAD),
    Case("version 1", status(b"HTTP/1 200 OK"), BAD),
    Case("version -1.1", status(b"HTTP/-1.1 200 OK"), BAD),
    Case("version of 30,000 digits", status(b"HTTP/1." + b"1" * 30_000 + b" 200 OK"), BAD),
    Case("status 000", status(b"HTTP/1.1 000 OK"), f"{BAD}|0, 3 B"),
    Case("status 099", status(b"HTTP/1.1 099 OK"), f"{BAD}|99, 3 B"),
    Case("status 599", status(b"HTTP/1.1 599 OK"), "599, 3 B", valid=True),
    Case("status 999", status(b"HTTP/1.1 999 OK"), f"999, 3 B|{BAD}"),
    Case("status -20", status(b"HTTP/1.1 -20 OK"), BAD),
    Case("status 2e2", status(b"HTTP/1.1 2e2 OK"), BAD),
    Case("status 0200", status(b"HTTP/1.1 0200 OK"), BAD),
    Case("Arabic digits", status("HTTP/1.1 ٢٠٠ OK".encode()), BAD),
    Case("status of 30,000 digits", status(b"HTTP/1.1 " + b"2" * 30_000 + b" OK"), BAD),
    Case("two status lines", OK + status(b"HTTP/1.1 404 X"), BAD),
    Case("a reason of 30,000 bytes", status(b"HTTP/1.1 200 " + b"x" * 30_000), GOOD),
    Case("a reason in UTF-8", status("HTTP/1.1 200 ça va".encode()), GOOD, valid=True),
    Case("an escape in the reason", status(b"HTTP/1.1 200 \x1b[2J"), EITHER),
    Case("tabs in the status line", status(b"HTTP/1.1\t200\tOK"), EITHER),
    Case("a blank before the status line", b" " + OK + ABC, EITHER),
    Case("a BOM before the status line", b"\xef\xbb\xbf" + OK + ABC, BAD),
)
HEADS = (
    Case("five thousand headers", headed(*[b"a: b"] * 5000), GOOD),
    Case("a name of 60,000 bytes", headed(b"x" * 60_000 + b": y"), GOOD),
    Case("a value of 60,000 bytes", headed(b"x: " + b"y" * 60_000), GOOD),
    Case("a head of 70,000 bytes", headed(b"x: " + b"y" * 70_000), "too_large"),
    Case("a name in UTF-8", headed("é: x".encode()), EITHER),
    Case("an escape in a value", headed(b"x: \x1b[2J"), EITHER),
    Case("an escape in a name", headed(b"\x1b[2J: x"), EITHER),
    Case("a value of blanks", headed(b"x:      \t   "), GOOD, valid=True),
    Case("a NUL in a name", headed(b"a\0b: x"), BAD),
    Case("a name in quotes", headed(b'"a": x'), BAD),
    Case("lines that end in CR", (OK + ABC).replace(b"\r\n", b"\r"), BAD),
    Case("lines that end in LF CR", (OK + ABC).replace(b"\r\n", b"\n\r"), EITHER),
    Case("lines that end in CR CR LF", (OK + ABC).replace(b"\r\n", b"\r\r\n"), EITHER),
    Case("a fold before the first header", OK + b" x: y\r\n" + ABC, EITHER),
    Case("a hundred folds", headed(b"x: a" + b"\r\n b" * 100), GOOD),
    Case("a folded Content-Length", OK + b"Content-Length:\r\n 3\r\n\r\nabc", EITHER),
    Case("close and keep-alive", headed(b"Connection: close, keep-alive"), GOOD, valid=True),
    Case("an empty Connection", headed(b"Connection: ,,,"), GOOD, valid=True),
    Case("Keep-Alive of nothing", headed(b"Keep-Alive: timeout=nan, max=-1"), GOOD, valid=True),
    Case("Upgrade in a 200", headed(b"Connection: upgrade", b"Upgrade: h2c"), EITHER),
    Case("two hundred cookies", headed(*[b"Set-Cookie: a=b; Domain=..; Max-Age=x"] * 200), GOOD),
    Case("a cookie that is not one", headed(b"Set-Cookie: \xff=;;=;,"), GOOD, valid=True),
    Case(
        *("a login", b"HTTP/1.1 401 No\r\nWWW-Authenticate: Basic realm=x, Digest\r\n" + ABC),
        *("401, 3 B", True),
    ),
    Case(
        *("a proxy's login", b"HTTP/1.1 407 No\r\nProxy-Authenticate: Basic\r\n" + ABC),
        *("407, 3 B", True),
    ),
    Case("408 and close", b"HTTP/1.1 408 X\r\nConnection: close\r\n" + ABC, "408, 3 B", True),
    Case("421", b"HTTP/1.1 421 X\r\n" + ABC, "421, 3 B", True),
    Case("426", b"HTTP/1.1 426 X\r\nUpgrade: h2\r\n" + ABC, "426, 3 B", True),
    Case("429 for ever", b"HTTP/1.1 429 X\r\nRetry-After: 1e9\r\n" + ABC, "429, 3 B", True),
    Case("503 until -1", b"HTTP/1.1 503 X\r\nRetry-After: -1\r\n" + ABC, "503, 3 B", True),
    Case("413 until tomorrow", b"HTTP/1.1 413 X\r\nRetry-After: 86400\r\n" + ABC, "413, 3 B", True),
    Case("Refresh", headed(b"Refresh: 0; url=/elsewhere"), GOOD, True),
    Case("HSTS and Alt-Svc", headed(b"Strict-Transport-Security: max-age=9", b'Alt-Svc: h2=":1"'),
         GOOD, True),
    Case("300 with a Location", b"HTTP/1.1 300 X\r\nLocation: /x\r\n" + ABC, "300, 3 B", True),
    Case("201 with a Location", b"HTTP/1.1 201 X\r\nLocation: /x\r\n" + ABC, "201, 3 B", True),
)  # fmt: skip
LENGTHS = (
    Case("a length after tabs", length(b"\t\t3\t"), GOOD, valid=True),
    Case("a length of 0003", length(b" 0003"), EITHER),
    Case("a length after a thousand zeros", length(b" " + b"0" * 1000 + b"3"), EITHER),
    Case("Arabic digits as a length", length(" ٣".encode()), BAD),
    Case("fullwidth digits as a length", length(" ３".encode()), BAD),
    Case("a length of 2**64 + 3", length(b" 18446744073709551619"), f"{BAD}|too_large"),
    Case("a length of 2**63", length(b" 9223372036854775808"), f"{BAD}|too_large"),
    Case("a length of 2**32 + 3", length(b" 4294967299"), f"{BAD}|too_large"),
    Case("a length of 3,", length(b" 3,"), BAD),
    Case("a length of ,3", length(b" ,3"), BAD),
    Case("a length of '3 3'", length(b" 3 3"), BAD),
    Case("a length of 3;q=1", length(b" 3;q=1"), BAD),
    Case("a length of 1e0", length(b" 1e0"), BAD),
    Case("a length of NaN", length(b" NaN"), BAD),
    Case("a length in quotes", length(b' "3"'), BAD),
    Case("a length with a NUL", length(b" 3\0"), BAD),
    Case("Content_Length", OK + b"Content_Length: 1\r\n" + ABC, GOOD, valid=True),
    Case("a length above the limit", length(b" 9999999"), f"{BAD}|too_large"),
)
CODINGS = (
    Case("blanks around chunked", coded(b"\t chunked \t"), f"{GOOD}|closed"),
    Case("chunked;q=1", coded(b"chunked;q=1"), "200, 13 B|protocol"),
    Case("x-chunked", coded(b"x-chunked"), "200, 13 B|protocol"),
    Case("chunked, identity", coded(b"chunked, identity"), "200, 13 B|protocol"),
    Case("identity, chunked", coded(b"identity, chunked"), GOOD),
    Case("gzip, chunked", coded(b"gzip, chunked"), GOOD),
    Case("gzip and chunked in two lines", OK + b"Transfer-Encoding: gzip\r\n"
         b"Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n", GOOD),
    Case("chunked and gzip in two lines", OK + b"Transfer-Encoding: chunked\r\n"
         b"Transfer-Encoding: gzip\r\n\r\nabc", EITHER),
    Case("an empty coding", coded(b"", b"abc"), EITHER),
    Case("chunked in quotes", coded(b'"chunked"', b"abc"), EITHER),
    Case("chunked and a NUL", coded(b"chunked\0", b"abc"), EITHER),
    Case("a comma before chunked", coded(b",,chunked"), EITHER),
    Case("a chunk's size with zeros", CHUNKED + b"0000000000003\r\nabc\r\n" + LAST, EITHER),
    Case("a chunk's size with thirty zeros", CHUNKED + b"0" * 30 + b"3\r\nabc\r\n" + LAST, EITHER),
    Case("a chunk's size of 2**64 + 3", CHUNKED + b"10000000000000003\r\nabc\r\n" + LAST,
         f"{BAD}|too_large"),
    Case("a chunk's size of 2**63", CHUNKED + b"8000000000000000\r\nabc\r\n" + LAST,
         f"{BAD}|too_large"),
    Case("a chunk's size of -0", CHUNKED + b"-0\r\n\r\n", BAD),
    Case("a chunk's size of 3h", CHUNKED + b"3h\r\nabc\r\n" + LAST, BAD),
    Case("a chunk's size in UTF-8", CHUNKED + "３\r\nabc\r\n".encode() + LAST, BAD),
    Case("a blank before a chunk's size", CHUNKED + b" 3\r\nabc\r\n" + LAST, EITHER),
    Case("an extension of 60,000 bytes", CHUNKED + b"3;" + b"x" * 60_000 + b"\r\nabc\r\n" + LAST,
         f"{EITHER}|too_large"),
    Case("an LF in an extension", CHUNKED + b"3;a\nb\r\nabc\r\n" + LAST, BAD),
    Case("a bare CR in an extension", CHUNKED + b"3;a\rb\r\nabc\r\n" + LAST, EITHER),
    Case("a NUL in an extension", CHUNKED + b"3;a\0b\r\nabc\r\n" + LAST, EITHER),
    Case("no end of a chunk", CHUNKED + b"3\r\nabc" + LAST, BAD),
    Case("chunks of one byte", CHUNKED + b"1\r\nx\r\n" * 5000 + LAST, "200, 5000 B", True),
    Case("a thousand trailers", CHUNKED + b"3\r\nabc\r\n0\r\n" + b"a: b\r\n" * 1000 + b"\r\n",
         f"{EITHER}|too_large"),
    Case("a trailer that is not one", CHUNKED + b"3\r\nabc\r\n0\r\nnonsense\r\n\r\n", BAD),
    Case("a length in a trailer", CHUNKED + b"3\r\nabc\r\n0\r\nContent-Length: 9\r\n\r\n", GOOD),
    Case("chunks above the limit", CHUNKED + b"fffff\r\n" + b"x" * 0xFFFFF + b"\r\n9\r\n123456789"
         b"\r\n" + LAST, "too_large"),
    Case("gzip that was not asked for", ok(gzip.compress(b"<a href=/never>"),
         extra="Content-Encoding: gzip\r\n"), "200, 35 B", True, False),
    Case("gzip that is none", ok(b"abc", extra="Content-Encoding: gzip\r\n"), GOOD, True, False),
    Case("a bomb of gzip", ok(gzip.compress(bytes(20_000_000), 9),
         extra="Content-Encoding: gzip\r\n"), "200, 19465 B", True, False),
    Case("deflate that is none", ok(b"abc", extra="Content-Encoding: deflate\r\n"), GOOD, True,
         False),
    Case("br and zstd", ok(b"abc", extra="Content-Encoding: br, zstd\r\n"), GOOD, True, False),
    Case("an unknown coding", ok(b"abc", extra="Content-Encoding: \xff\r\n"), GOOD, True, False),
)  # fmt: skip
INTERIM = (
    Case("eight interim answers", b"HTTP/1.1 102 X\r\n\r\n" * 8 + OK + ABC, GOOD),
    Case("nine interim answers", b"HTTP/1.1 102 X\r\n\r\n" * 9 + OK + ABC, "protocol"),
    Case("100 with a length", b"HTTP/1.1 100 X\r\nContent-Length: 3\r\n\r\n" + OK + ABC, GOOD),
    Case("100 with chunks", b"HTTP/1.1 100 X\r\nTransfer-Encoding: chunked\r\n\r\n" + OK + ABC,
         GOOD),
    Case("100 with a Location", b"HTTP/1.1 100 X\r\nLocation: /x\r\n\r\n" + OK + ABC, GOOD),
    Case("199", b"HTTP/1.1 199 X\r\n\r\n" + OK + ABC, GOOD),
    Case("an interim answer in pieces", pieces(b"HTTP/1.1 1", b"00 X\r\n\r", b"\n" + OK, ABC),
         GOOD, False, False),
    Case("204 and a body", b"HTTP/1.1 204 X\r\n\r\nabc", "204, 0 B"),
    Case("204 and chunks", b"HTTP/1.1 204 X\r\nTransfer-Encoding: chunked\r\n\r\n" + LAST,
         "204, 0 B"),
    Case("304 and a Location", b"HTTP/1.1 304 X\r\nLocation: /x\r\n\r\n", "304, 0 B", True, False),
    Case("205 and a body", b"HTTP/1.1 205 X\r\n" + ABC, "205, 3 B", False, False),
)  # fmt: skip
TIMES = (
    Case("one byte at a time", drip(OK + ABC), GOOD, True, False),
    Case("one byte of chunks at a time", drip(CHUNKED + b"3\r\nabc\r\n" + LAST), GOOD, True, False),
    Case("a CR and an LF apart", pieces((OK + ABC)[:16], (OK + ABC)[16:]), GOOD, True, False),
    Case("urgent data", urgent, GOOD, True, False),
    Case("half closed after the answer", half_closed, GOOD, True, False),
    Case("closed a moment after the answer", late, GOOD, True, False),
    Case("a body before its head", b"abc" + OK + ABC, BAD),
    Case("silence", stalls(b""), "timeout", True, False),
    Case("a head and silence", stalls(OK), "timeout", True, False),
    Case("half a body and silence", stalls(length(b" 9")), "timeout",
         True, False),
    Case("a chunk and silence", stalls(CHUNKED + b"3\r\nabc\r\n"),
         "timeout", True, False),
    Case("interim answers and silence", stalls(b"HTTP/1.1 100 X\r\n\r\n"),
         "timeout", True, False),
)  # fmt: skip
KINDS = (
    Case("no type", OK + b"Content-Length: 18\r\n\r\n<a href=/never>x</", "200, 18 B", True),
    Case("an odd type", ok(b"<a href=/never>", kind="text/htm"), "200, 15 B", True, False),
    Case("two types", HTML + b"Content-Type: text/plain\r\n" + ABC, GOOD, True),
    Case("a type in UTF-8", ok(b"abc", kind="té/xt"), GOOD, True, False),
    Case("a type of 50,000 bytes", ok(b"abc", kind="text/" + "x" * 50_000), GOOD, False, False),
    Case("an escape in the type", ok(b"abc", kind="text/\x1b[2J"), EITHER, False, False),
    Case("the name of a codec as charset", ok(b"abc", kind="text/html; charset=rot13"), GOOD, True,
         False),
    Case("a path as charset", ok(b"abc", kind="text/html; charset=../../etc/passwd"), GOOD, True,
         False),
    Case("a charset of 50,000 bytes", ok(b"abc", kind="text/html; charset=" + "x" * 50_000), GOOD,
         False, False),
)  # fmt: skip
CASES: Final = (
    *(*PROTOCOLS, *STATUS, *HEADS, *LENGTHS),
    *(*CODINGS, *INTERIM, *TIMES, *KINDS),
)
