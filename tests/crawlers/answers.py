"""Answers at the edges of RFC 9112 and beyond: what a server sends, and what must come of it.

A row is tried on the exchange alone, cut in any way (test_http.py), and over a socket in the
backends (test_answers.py).
"""

from __future__ import annotations

import gzip
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final

from crawlers.conformance.scripted import Connection, ok
from crawlers.http import MAX_INTERIM

Answer = bytes | Callable[[Connection], None]


@dataclass(frozen=True, slots=True)
class Case:
    """An answer, and the outcomes that are right: patterns separated by ``|``.

    An outcome is an error kind, or status, size and whether the connection is kept. With ``ends``
    the server closes the connection after it. ``valid``: every HTTP library must agree.
    """

    name: str
    answer: Answer
    wanted: str
    valid: bool = False
    ends: bool = True

    def allows(self, found: str) -> bool:
        """Whether an outcome is right; without its last word, whatever became of the connection."""
        known = found.count(",") == 2 or "," not in found
        wanted = self.wanted.split("|")
        return any(
            fnmatchcase(found, pattern if known else pattern.rpartition(",")[0] or pattern)
            for pattern in wanted
        )


MAX_BODY: Final = 1 << 20
OK: Final = b"HTTP/1.1 200 OK\r\n"
ABC: Final = b"Content-Length: 3\r\n\r\nabc"
CHUNKED: Final = OK + b"Transfer-Encoding: chunked\r\n\r\n"
IN_CHUNKS: Final = b"3\r\nabc\r\n0\r\n\r\n"
GOOD, KEPT, LOST = "200, 3 B, *", "200, 3 B, kept", "200, 3 B, closed"
BAD: Final = "protocol|closed"
EITHER, LARGE = f"{GOOD}|{BAD}", f"{BAD}|too_large"


def length(value: bytes) -> bytes:
    return OK + b"Content-Length:" + value + b"\r\n\r\nabc"


def coded(value: bytes, body: bytes = IN_CHUNKS) -> bytes:
    return OK + b"Transfer-Encoding: " + value + b"\r\n\r\n" + body


def sized(size: bytes, rest: bytes = b"\r\nabc\r\n0\r\n\r\n") -> bytes:
    """A body in chunks whose first line is this."""
    return CHUNKED + size + rest


def headed(*lines: bytes) -> bytes:
    """A page of three bytes with these header lines."""
    return OK + b"".join(line + b"\r\n" for line in lines) + ABC


def status(line: bytes) -> bytes:
    """A page of three bytes with this status line."""
    return line + b"\r\n" + ABC


def in_pieces(*parts: bytes) -> Callable[[Connection], None]:
    def action(connection: Connection) -> None:
        for part in parts:
            connection.send(part)
            time.sleep(0.01)

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


PROTOCOLS = tuple(
    Case(f"a server that speaks {name}", greeting, BAD)
    for name, greeting in {
        "TLS": b"\x15\x03\x01\x00\x02\x02\x28",
        "SSH": b"SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n",
        "HTTP/0.9": b"<html><a href=/x>x</a></html>\n",
        "ICY": b"ICY 200 OK\r\n" + ABC,
        "RTSP": b"RTSP/1.0 200 OK\r\n" + ABC,
        "RTSP after a blank line": b"\r\nRTSP/1.0 200 OK\r\n" + ABC,
        "ICE": b"ICE/1.0 200 OK\r\n" + ABC,
        "all bytes": bytes(range(256)) * 8,
        "NULs": bytes(5000),
        "blank lines": b"\r\n" * 2000,
        "nothing": b"",
    }.items()
)
STATUS = (
    *(
        Case(f"the status line {line!r}", status(line), BAD)
        for line in (
            b"http/1.1 200 OK",
            b"HTTP/1.1 20 OK",
            b"HTTP/1.1 2000 OK",
            b"HTTP/1.1 abc OK",
            "HTTP/1.1 ٢٠٠ OK".encode(),
            OK + b"HTTP/1.1 404 X",
            b"\xef\xbb\xbfHTTP/1.1 200 OK",
        )
    ),
    Case("no reason, but its space", status(b"HTTP/1.1 200 "), KEPT),
    Case("no reason and no space", status(b"HTTP/1.1 200"), EITHER),
    Case("two spaces before the status", status(b"HTTP/1.1  200 OK"), EITHER),
    Case("a reason in UTF-8", status("HTTP/1.1 200 ça va".encode()), KEPT, valid=True),
    Case("an empty line first", b"\r\n" + OK + ABC, EITHER),
    Case("version 2.0", status(b"HTTP/2.0 200 OK"), EITHER),
    Case("version of 30,000 digits", status(b"HTTP/1." + b"1" * 30_000 + b" 200 OK"), BAD),
    Case("status 000", status(b"HTTP/1.1 000 OK"), "protocol", ends=False),
    Case("status 099", status(b"HTTP/1.1 099 OK"), "protocol", ends=False),
    Case("version 1.2", status(b"HTTP/1.2 200 OK"), KEPT),
    Case("version 1.9 and a fold", b"HTTP/1.9 200 OK\r\nX: a\r\n b\r\n" + ABC, KEPT),
    Case("status 599", status(b"HTTP/1.1 599 OK"), "599, 3 B, kept", valid=True),
    Case("status 999", status(b"HTTP/1.1 999 OK"), f"999, 3 B, *|{BAD}"),
    Case("HTTP/1.0", status(b"HTTP/1.0 200 OK"), LOST, valid=True),
    Case("HTTP/1.0 with keep-alive", b"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n" + ABC, GOOD),
    Case(
        "chunks in HTTP/1.0",
        b"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n"
        b"Transfer-Encoding: chunked\r\n\r\n" + IN_CHUNKS,
        "200, * B, closed|protocol",
    ),
)
HEADS = (
    Case("lines that end in LF alone", b"HTTP/1.1 200 OK\nContent-Length: 3\n\nabc", EITHER),
    Case("lines that end in CR CR LF", (OK + ABC).replace(b"\r\n", b"\r\r\n"), EITHER),
    Case("a bare CR in a value", headed(b"X: a\rb"), EITHER),
    Case("a bare CR that hides a length", headed(b"X: a\rContent-Length: 1"), EITHER),
    Case("a folded value", headed(b"X: a\r\n b"), KEPT),
    Case(
        "folded lines and such a body",
        OK + b"X: a\r\n b \r\n\t c\r\nContent-Length:\r\n 5\r\n\r\na\r\n b",
        "200, 5 B, kept",
    ),
    Case("a folded line before nonsense", headed(b"X: a\r\n b", b"nonsense"), "protocol"),
    Case("a folded status line", OK + b" X: a\r\nContent-Length: 0\r\n\r\n", "protocol"),
    Case("a folded Content-Length", length(b"\r\n 3"), EITHER),
    Case("a space before the colon", headed(b"X : a"), EITHER),
    Case("a line without a colon", headed(b"nonsense"), BAD),
    Case("an empty name", headed(b": a"), BAD),
    Case("a space in a name", headed(b"X Y: a"), BAD),
    Case("a NUL in a value", headed(b"X: a\0b"), EITHER),
    Case("an escape in a value", headed(b"x: \x1b[2J"), EITHER),
    Case("blanks before the first line", headed(b" ", b"X: a"), BAD),
    Case("a value of blanks", headed(b"x:      \t   "), KEPT, valid=True),
    Case("five thousand headers", headed(*[b"a: b"] * 5000), GOOD),
    Case("a name of 60,000 bytes", headed(b"x" * 60_000 + b": y"), GOOD),
    Case("a head of 70,000 bytes", headed(b"x: " + b"y" * 70_000), "too_large"),
    Case("Connection: close", headed(b"Connection: close"), LOST, valid=True),
    Case("close in a list", headed(b"Connection: x, Close"), LOST),
    Case("close and keep-alive", headed(b"Connection: close, keep-alive"), GOOD, valid=True),
    Case("Keep-Alive of nothing", headed(b"Keep-Alive: timeout=nan, max=-1"), GOOD, valid=True),
    Case("Upgrade in a 200", headed(b"Connection: upgrade", b"Upgrade: h2c"), EITHER),
    Case("two hundred cookies", headed(*[b"Set-Cookie: a=b; Domain=..; Max-Age=x"] * 200), GOOD),
    Case(
        "a login",
        b"HTTP/1.1 401 No\r\nWWW-Authenticate: Basic realm=x, Digest\r\n" + ABC,
        "401, 3 B, *",
        valid=True,
    ),
    Case("503 until -1", b"HTTP/1.1 503 X\r\nRetry-After: -1\r\n" + ABC, "503, 3 B, *", True),
    Case("300 with a Location", b"HTTP/1.1 300 X\r\nLocation: /x\r\n" + ABC, "300, 3 B, *", True),
)
LENGTHS = (
    *(
        Case(f"a length of {value!r}", length(value), BAD)
        for value in (b" +3", b" -3", b" 0x3", b" 3.0", b" 3_0", b" ", " ٣".encode())
    ),
    *(
        Case(f"a length of {value!r}", length(value), LARGE)
        for value in (b" 18446744073709551619", b" 4294967299", b" 9999999", b" " + b"9" * 30)
    ),
    Case("a length that is not reached", length(b" 9"), "closed"),
    Case("a length after tabs", length(b"\t\t3\t"), KEPT, valid=True),
    Case("a length after a thousand zeros", length(b" " + b"0" * 1000 + b"3"), EITHER),
    Case("the same length twice", headed(b"Content-Length: 3"), EITHER),
    Case("a list of equal lengths", length(b" 3, 3"), EITHER),
    Case("two lengths", headed(b"Content-Length: 2"), "protocol"),
    Case("Content_Length", headed(b"Content_Length: 1"), KEPT, valid=True),
    Case("no length", OK + b"\r\nabc", LOST, valid=True),
    Case("no length and no body", OK + b"\r\n", "200, 0 B, closed", valid=True),
    Case("bytes after the body", OK + ABC + b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx", LOST),
    Case("a body before its head", b"abc" + OK + ABC, BAD),
    Case("a body of the limit", OK + b"\r\n" + b"x" * MAX_BODY, f"200, {MAX_BODY} B, closed"),
    Case("a body above the limit", OK + b"\r\n" + b"x" * (MAX_BODY + 1), "too_large"),
)
CUT = (
    # urllib3 let http.client read it as a length, which is a ValueError there.
    Case("a chunk of negative size", sized(b"-5"), "protocol", valid=True),
    *(
        Case(f"cut behind {data[-12:]!r}", data, "closed", valid=True)
        for data in (
            b"HTT",
            CHUNKED,
            CHUNKED + b"5\r\n",
            CHUNKED + b"5\r\nab",
            CHUNKED + b"5\r\nabcde\r\n",
        )
    ),
    # http.client takes the end of the stream for the end of the head.
    *(
        Case(f"a head cut behind {data[-12:]!r}", data, "closed")
        for data in (OK, OK + b"Content-Ty", OK + b"X: y\r\n", OK + b"X: y\r\n\r")
    ),
)
CODINGS = (
    *(
        Case(f"the coding {value!r}", coded(value), KEPT)
        # RFC 9110, 5.5: a tab is a blank. llhttp read to the end of the connection.
        for value in (
            b"CHUNKED",
            b"chunked\t",
            b"\t chunked \t ",
            b"identity, chunked",
            b"gzip, chunked",
            b"gzip, chunked\t\t",
            b"gzip\r\nTransfer-Encoding: chunked",
        )
    ),
    *(
        Case(f"the coding {value!r}", coded(value, b"abc"), LOST)
        for value in (b"gzip", b"identity", b"chunked, gzip", b"gzip\r\nTransfer-Encoding: x")
    ),
    *(
        Case(f"a chunk of {size!r}", sized(size), BAD)
        for size in (b"+3", b"-3", b"0x3", b"", b"xyz", "３".encode(), b"3;a\nb")
    ),
    *(
        Case(f"a chunk of {size!r}", sized(size), KEPT)
        for size in (b"3;a=b", b'3;a="b;c"', b"0003")
    ),
    Case("chunks", CHUNKED + b"1\r\na\r\n2\r\nbc\r\n0\r\n\r\n", KEPT, valid=True),
    Case(
        "chunks of one byte",
        CHUNKED + b"1\r\nx\r\n" * 5000 + b"0\r\n\r\n",
        "200, 5000 B, kept",
        valid=True,
    ),
    Case("chunked twice", coded(b"chunked, chunked"), EITHER),
    Case(
        "chunked and gzip in two lines",
        coded(b"chunked\r\nTransfer-Encoding: gzip", b"abc"),
        EITHER,
    ),
    Case("chunked and a NUL", coded(b"chunked\0", b"abc"), EITHER),
    Case(
        "a length beside chunks",
        OK + b"Content-Length: 9\r\nTransfer-Encoding: chunked\r\n\r\n" + IN_CHUNKS,
        f"{LOST}|{BAD}",
    ),
    Case("a blank after a chunk's size", sized(b"3 "), EITHER),
    Case("a chunk's size with thirty zeros", sized(b"0" * 30 + b"3"), EITHER),
    Case("a chunk's size of twenty digits", sized(b"F" * 20), LARGE),
    Case("a chunk's size of 2**64 + 3", sized(b"10000000000000003"), LARGE),
    Case("an extension of 60,000 bytes", sized(b"3;" + b"x" * 60_000), f"{EITHER}|too_large"),
    Case("more than a chunk's size", sized(b"3", b"\r\nabcd\r\n0\r\n\r\n"), BAD),
    Case("chunks that end lines in LF", CHUNKED + b"3\nabc\n0\n\n", EITHER),
    Case("no last chunk", sized(b"3", b"\r\nabc\r\n"), "closed"),
    Case("no line after the last chunk", sized(b"3", b"\r\nabc\r\n0\r\n"), "closed"),
    Case("trailers", sized(b"3", b"\r\nabc\r\n0\r\nX: y\r\n\r\n"), KEPT),
    Case(
        "a thousand trailers",
        sized(b"3", b"\r\nabc\r\n0\r\n" + b"a: b\r\n" * 1000 + b"\r\n"),
        f"{EITHER}|too_large",
    ),
    # llhttp tells of no bytes behind these.
    *(
        Case(
            f"bytes after the trailer {line.decode()}",
            sized(b"3", b"\r\nabc\r\n0\r\n" + line + b"\r\n\r\nHTTP/1.1 200 OK\r\n"),
            LOST,
        )
        for line in (b"Transfer-Encoding: x", b"Connection: close")
    ),
    # Both parsers take it for one in the head.
    *(
        Case(
            f"a length of {value!r} in a trailer",
            sized(b"3", b"\r\nabc\r\n0\r\nContent-Length: " + value + b"\r\n\r\n"),
            LOST,
        )
        for value in (b"9", b"3", b"x", b"-1", b"9" * 30, b"3\r\nContent-Length: 4")
    ),
    Case(
        "a length in a trailer behind a folded line",
        OK + b"Transfer-Encoding: chunked\r\n"
        b"X: a\r\n b\r\n\r\n3\r\nabc\r\n0\r\nContent-Length: x\r\n\r\n",
        LOST,
    ),
    Case(
        "a length in a trailer behind a tab",
        coded(b"chunked\t", b"3\r\nabc\r\n0\r\nContent-Length: x\r\n\r\n"),
        LOST,
    ),
    Case(
        "chunks with an extension and a trailer",
        sized(b"3", b"\r\nabc\r\n2;x=y\r\nde\r\n0\r\nT: 1\r\n\r\n"),
        "200, 5 B, kept",
    ),
    Case(
        "chunks above the limit",
        sized(b"fffff", b"\r\n" + b"x" * 0xFFFFF + b"\r\n9\r\n123456789\r\n0\r\n\r\n"),
        "too_large",
    ),
    *(
        Case(
            name,
            ok(body, extra=f"Content-Encoding: {coding}\r\n"),
            f"coded|200, {len(body)} B, *",
            True,
            False,
        )
        for name, coding, body in (
            ("gzip that was not asked for", "gzip", gzip.compress(b"<a href=/never>")),
            ("gzip that is none", "gzip", b"abc"),
            ("gzip that is cut", "gzip", gzip.compress(b"<a href=/never>")[:-6]),
            ("a bomb of gzip", "gzip", gzip.compress(bytes(20_000_000), 9)),
            ("an unknown coding", "\xff", b"abc"),
            ("a second coding", "identity\r\nContent-Encoding: br", b"abc"),
        )
    ),
    Case(
        "gzip of no page", ok(b"abc", "text/plain", "Content-Encoding: gzip\r\n"), GOOD, True, False
    ),
)
CLOSING: Final = b" X\r\nConnection: close\r\n\r\n"
FOLDED: Final = b"HTTP/1.1 103 X\r\nX: a\r\n b\r\n\r\n" + OK + ABC
INTERIM = (
    Case("100 first", b"HTTP/1.1 100 Continue\r\n\r\n" + OK + ABC, KEPT, ends=False),
    Case(
        "103 and 200 with folded lines",
        b"HTTP/1.1 103 X\r\nX: a\r\n b\r\n\r\n" + headed(b"X: a\r\n b"),
        KEPT,
    ),
    Case(
        "103 and 200 with a tab behind chunked",
        b"HTTP/1.1 100 X\r\n\r\nHTTP/1.1 103 X\r\n"
        b"Transfer-Encoding: chunked\t\r\n\r\n" + coded(b"chunked\t", b"3\r\na\t\r\r\n0\r\n\r\n"),
        KEPT,
    ),
    Case("103 with headers", b"HTTP/1.1 103 X\r\nContent-Length: 1\r\n\r\n" + OK + ABC, KEPT),
    Case("as many as are allowed", b"HTTP/1.1 102 X\r\n\r\n" * MAX_INTERIM + OK + ABC, KEPT),
    Case("as many, one with a fold", b"HTTP/1.1 102 X\r\n\r\n" * (MAX_INTERIM - 1) + FOLDED, KEPT),
    Case("one more", b"HTTP/1.1 102 X\r\n\r\n" * (MAX_INTERIM + 1) + OK + ABC, "protocol"),
    Case("an interim answer alone", b"HTTP/1.1 100 Continue\r\n\r\n", "closed"),
    Case("103 that closes", b"HTTP/1.1 103" + CLOSING + OK + ABC, KEPT),
    Case("two that close", b"HTTP/1.2 103" + CLOSING + b"HTTP/1.1 100" + CLOSING + OK + ABC, KEPT),
    Case("103 in HTTP/1.0 and a fold", b"HTTP/1.0 103 X\r\nA: b\r\n c\r\n\r\n" + OK + ABC, KEPT),
    Case(
        "103 and a final one that closes",
        b"HTTP/1.1 103 X\r\nconnection: close\r\n\r\n"
        b"HTTP/1.1 200 OK\r\nConnection: close\r\n" + ABC,
        LOST,
    ),
    Case("103 long before 200", in_pieces(b"HTTP/1.1 103 X\r\n\r\n", OK + ABC), GOOD, ends=False),
    Case("100 with a Location", b"HTTP/1.1 100 X\r\nLocation: /x\r\n\r\n" + OK + ABC, GOOD),
    Case(
        "an interim answer in pieces",
        in_pieces(b"HTTP/1.1 1", b"00 X\r\n\r", b"\n" + OK, ABC),
        GOOD,
        False,
        False,
    ),
    Case(
        "101 that was not asked for",
        b"HTTP/1.1 101 X\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\nabc",
        BAD,
    ),
    Case("204", b"HTTP/1.1 204 No Content\r\n\r\n", "204, 0 B, kept", True, False),
    Case("204 with a length", b"HTTP/1.1 204 X\r\nContent-Length: 3\r\n\r\n", "204, 0 B, *"),
    Case("204 and a body", b"HTTP/1.1 204 X\r\n\r\nabc", "204, 0 B, *"),
    Case("304", b"HTTP/1.1 304 X\r\nContent-Length: 9\r\n\r\n", "304, 0 B, kept", True, False),
    Case("304 and a body", b"HTTP/1.1 304 X\r\n" + ABC, "304, 0 B, *"),
    Case("304 and a Location", b"HTTP/1.1 304 X\r\nLocation: /x\r\n\r\n", "304, 0 B, *", True),
    Case("205 and a body", b"HTTP/1.1 205 X\r\n" + ABC, "205, 3 B, *", False, False),
)
TIMES = (
    Case("one byte at a time", in_pieces(*(bytes([byte]) for byte in OK + ABC)), GOOD, True, False),
    Case("urgent data", urgent, GOOD, True, False),
    Case("half closed after the answer", half_closed, GOOD, True, False),
    Case("closed a moment after the answer", late, GOOD, True, False),
)
KINDS = (
    Case("no type", OK + b"Content-Length: 18\r\n\r\n<a href=/never>x</", "200, 18 B, *", True),
    Case("a type of 50,000 bytes", ok(b"abc", kind="text/" + "x" * 50_000), GOOD, False, False),
    Case("an escape in the type", ok(b"abc", kind="text/\x1b[2J"), EITHER, False, False),
    Case("a codec as charset", ok(b"abc", kind="text/html; charset=rot13"), GOOD, True, False),
    Case("a path as charset", ok(b"abc", kind="text/html; charset=../../x"), GOOD, True, False),
)
CASES: Final = (
    *PROTOCOLS,
    *STATUS,
    *HEADS,
    *LENGTHS,
    *CUT,
    *CODINGS,
    *INTERIM,
    *TIMES,
    *KINDS,
)
