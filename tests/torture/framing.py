"""Responses at the edges of RFC 9112, and what each backend makes of them.

``python -m tests.torture.framing`` writes docs/notebook/http-differences.md. The models must
do what the RFC says; the HTTP stacks bring a parser of their own, and the page
shows where it differs.
"""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from importlib.metadata import version
from pathlib import Path
from typing import Final

from bench.launch import ROOT
from crawlers import http, registry
from crawlers.conformance.scripted import Connection, ScriptedServer, ok
from crawlers.job import Job
from crawlers.recorder import NullRecorder
from tests.torture.document import table

PAGE: Final = ROOT / "docs" / "notebook" / "http-differences.md"
STACKS: Final = ("urllib3", "requests", "aiohttp", "httpx")
LIBRARIES: Final = ("httptools", "urllib3", "requests", "aiohttp", "httpx", "httpcore", "h11")
TIMEOUT_S: Final = 0.5


@dataclass(frozen=True, slots=True)
class Case:
    """A response and what RFC 9112 says of it.

    ``allowed`` are the outcomes that the RFC allows, as patterns; see :func:`outcome`.
    With ``ends`` the server closes the connection after the response.
    """

    name: str
    section: str
    says: str
    response: bytes
    allowed: tuple[str, ...]
    ends: bool = False


OK: Final = b"HTTP/1.1 200 OK\r\n"
CHUNKED: Final = OK + b"Transfer-Encoding: chunked\r\n\r\n"
ABC: Final = b"Content-Length: 3\r\n\r\nabc"
WHOLE, KEPT, LOST = ("200, 3 B, *",), ("200, 3 B, kept",), ("200, 3 B, closed",)
CUT = REFUSED = ("protocol", "closed")
EITHER = (*WHOLE, *REFUSED)
BAD, FREE = "invalid", "invalid; a recipient may be lenient"

CASES: Final = (
    Case("no reason, but its space", "4", "valid", b"HTTP/1.1 200 \r\n" + ABC, KEPT),
    Case("no reason and no space", "4", FREE, b"HTTP/1.1 200\r\n" + ABC, EITHER),
    Case("two spaces before the status", "4", FREE, b"HTTP/1.1  200 OK\r\n" + ABC, EITHER),
    Case("http in lower case", "2.3", BAD, b"http/1.1 200 OK\r\n" + ABC, REFUSED),
    Case("a status of two digits", "4", BAD, b"HTTP/1.1 20 OK\r\n" + ABC, REFUSED),
    Case("a status of four digits", "4", BAD, b"HTTP/1.1 2000 OK\r\n" + ABC, REFUSED),
    Case("a status of letters", "4", BAD, b"HTTP/1.1 abc OK\r\n" + ABC, REFUSED),
    Case("another protocol", "2.3", BAD, b"ICY 200 OK\r\n" + ABC, REFUSED),
    Case("an empty line first", "2.2", "only servers should skip it", b"\r\n" + OK + ABC, EITHER),
    Case("lines that end in LF alone", "2.2", "a recipient may accept it",
         b"HTTP/1.1 200 OK\nContent-Length: 3\n\nabc", EITHER),
    Case("a bare CR in a value", "2.2", "invalid, or replaced by a space",
         OK + b"X: a\rb\r\n" + ABC, EITHER),
    Case("a bare CR that hides a length", "2.2", "invalid, or replaced by a space",
         OK + b"X: a\rContent-Length: 1\r\n" + ABC, EITHER),
    Case("a folded value", "5.2", "a user agent must replace the fold by spaces",
         OK + b"X: a\r\n b\r\n" + ABC, KEPT),
    Case("a space before the colon", "5.1", FREE, OK + b"X : a\r\n" + ABC, EITHER),
    Case("a line without a colon", "5", BAD, OK + b"nonsense\r\n" + ABC, REFUSED),
    Case("an empty name", "5", BAD, OK + b": a\r\n" + ABC, REFUSED),
    Case("a space in a name", "5", BAD, OK + b"X Y: a\r\n" + ABC, REFUSED),
    Case("a NUL in a value", "9110, 5.5", "invalid, or replaced by a space",
         OK + b"X: a\0b\r\n" + ABC, EITHER),
    Case("no length", "6.3", "read to close", OK + b"\r\nabc", LOST, ends=True),
    Case("a length that is not reached", "6.3", "incomplete",
         OK + b"Content-Length: 9\r\n\r\nabc", CUT, ends=True),
    Case("bytes after the body", "6.3", "not a part of it; close",
         OK + ABC + b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx", LOST),
    Case("a length of +3", "6.2", BAD, OK + b"Content-Length: +3\r\n\r\nabc", REFUSED),
    Case("a length of -3", "6.2", BAD, OK + b"Content-Length: -3\r\n\r\nabc", REFUSED),
    Case("a length of 0x3", "6.2", BAD, OK + b"Content-Length: 0x3\r\n\r\nabc", REFUSED),
    Case("a length of 3.0", "6.2", BAD, OK + b"Content-Length: 3.0\r\n\r\nabc", REFUSED),
    Case("a length of 3_0", "6.2", BAD, OK + b"Content-Length: 3_0\r\n\r\nabc", REFUSED),
    Case("an empty length", "6.2", BAD, OK + b"Content-Length: \r\n\r\nabc", REFUSED),
    Case("a length of thirty digits", "6.2", "a recipient must guard against overflow",
         OK + b"Content-Length: " + b"9" * 30 + b"\r\n\r\nabc",
         ("protocol", "too_large", "closed"), ends=True),
    Case("the same length twice", "6.3", "invalid, or taken as one",
         OK + b"Content-Length: 3\r\n" + ABC, EITHER),
    Case("a list of equal lengths", "6.3", "invalid, or taken as one",
         OK + b"Content-Length: 3, 3\r\n\r\nabc", EITHER),
    Case("two lengths", "6.3", BAD, OK + b"Content-Length: 2\r\n" + ABC, REFUSED),
    Case("a length beside chunks", "6.3", "the chunks count; ought to be an error; close",
         OK + b"Content-Length: 9\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
         (*LOST, *REFUSED)),
    Case("chunks", "7.1", "valid", CHUNKED + b"1\r\na\r\n2\r\nbc\r\n0\r\n\r\n", KEPT),
    Case("Chunked in another case", "7", "valid",
         OK + b"Transfer-Encoding: CHUNKED\r\n\r\n3\r\nabc\r\n0\r\n\r\n", KEPT),
    Case("an extension of a chunk", "7.1.1", "ignored",
         CHUNKED + b"3;a=b\r\nabc\r\n0\r\n\r\n", KEPT),
    Case("a quoted extension", "7.1.1", "ignored",
         CHUNKED + b'3;a="b;c"\r\nabc\r\n0\r\n\r\n', KEPT),
    Case("a blank after a chunk's size", "7.1", FREE, CHUNKED + b"3 \r\nabc\r\n0\r\n\r\n", EITHER),
    Case("a chunk's size of +3", "7.1", BAD, CHUNKED + b"+3\r\nabc\r\n0\r\n\r\n", REFUSED),
    Case("a chunk's size of -3", "7.1", BAD, CHUNKED + b"-3\r\nabc\r\n0\r\n\r\n", REFUSED),
    Case("a chunk's size of 0x3", "7.1", BAD, CHUNKED + b"0x3\r\nabc\r\n0\r\n\r\n", REFUSED),
    Case("an empty chunk's size", "7.1", BAD, CHUNKED + b"\r\nabc\r\n0\r\n\r\n", REFUSED),
    Case("a chunk's size of twenty digits", "7.1", "a recipient must guard against overflow",
         CHUNKED + b"F" * 20 + b"\r\nabc\r\n", ("protocol", "too_large", "closed"), ends=True),
    Case("more than a chunk's size", "7.1", BAD, CHUNKED + b"3\r\nabcd\r\n0\r\n\r\n", REFUSED),
    Case("chunks that end lines in LF", "7.1", BAD, CHUNKED + b"3\nabc\n0\n\n", EITHER),
    Case("no last chunk", "8", "incomplete", CHUNKED + b"3\r\nabc\r\n", CUT, ends=True),
    Case("no line after the last chunk", "8", "incomplete",
         CHUNKED + b"3\r\nabc\r\n0\r\n", CUT, ends=True),
    Case("trailers", "7.1.2", "ignored", CHUNKED + b"3\r\nabc\r\n0\r\nX: y\r\n\r\n", KEPT),
    Case("a length among the trailers", "9110, 6.5.1", "ignored",
         CHUNKED + b"3\r\nabc\r\n0\r\nContent-Length: 9\r\n\r\n", WHOLE),
    Case("a tab after chunked", "9110, 5.5", "valid",
         OK + b"Transfer-Encoding: chunked\t\r\n\r\n3\r\nabc\r\n0\r\n\r\n", KEPT),
    Case("chunked twice", "6.1", "invalid: only once",
         OK + b"Transfer-Encoding: chunked, chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
         EITHER, ends=True),
    Case("a coding that is not chunked", "6.3", "read to close",
         OK + b"Transfer-Encoding: gzip\r\n\r\nabc", LOST, ends=True),
    Case("the coding identity", "6.3", "read to close",
         OK + b"Transfer-Encoding: identity\r\n\r\nabc", LOST, ends=True),
    Case("chunks in HTTP/1.0", "6.1", "faulty: close, even if it says keep-alive",
         b"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n"
         b"3\r\nabc\r\n0\r\n\r\n",
         ("200, * B, closed", "protocol"), ends=True),
    Case("100 first", "9110, 15.2", "skipped", b"HTTP/1.1 100 Continue\r\n\r\n" + OK + ABC, KEPT),
    Case("103 with headers first", "9110, 15.2", "skipped",
         b"HTTP/1.1 103 Early Hints\r\nContent-Length: 1\r\n\r\n" + OK + ABC, KEPT),
    Case("five interim responses", "9110, 15.2", "skipped",
         b"HTTP/1.1 102 Processing\r\n\r\n" * 5 + OK + ABC, KEPT),
    Case("an interim response alone", "9110, 15.2", "incomplete",
         b"HTTP/1.1 100 Continue\r\n\r\n", CUT, ends=True),
    Case("101 that was not asked for", "9110, 15.2.2", "only after Upgrade",
         b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\nabc",
         REFUSED, ends=True),
    Case("204", "6.3", "has no body", b"HTTP/1.1 204 No Content\r\n\r\n", ("204, 0 B, kept",)),
    Case("204 with a length", "6.3", "has no body",
         b"HTTP/1.1 204 No Content\r\nContent-Length: 3\r\n\r\n", ("204, 0 B, *",)),
    Case("304 with a length", "6.3", "has no body",
         b"HTTP/1.1 304 Not Modified\r\nContent-Length: 3\r\n\r\n", ("304, 0 B, kept",)),
    Case("Connection: close", "9.3", "close", OK + b"Connection: close\r\n" + ABC, LOST),
    Case("close in a list", "9.3", "close", OK + b"Connection: x, Close\r\n" + ABC, LOST),
    Case("HTTP/1.0", "9.3", "close", b"HTTP/1.0 200 OK\r\n" + ABC, LOST),
    Case("HTTP/1.0 with keep-alive", "9.3", "keep",
         b"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n" + ABC, WHOLE),
)  # fmt: skip


def outcome(name: str, case: Case, timeout_s: float = TIMEOUT_S) -> str:
    """What a backend makes of a case: an error kind, or status, size and connection.

    ``200, 3 B, kept`` is a page of three bytes whose connection carried the next
    request too.
    """

    def answer(connection: Connection) -> None:
        connection.send(case.response)
        if case.ends:
            connection.close()

    with ScriptedServer() as server:
        server.script.update({"/case": answer, "/next": ok()})
        urls = (f"{server.url}case", f"{server.url}next")
        job = Job(urls, slots=1, follow=False, max_tries=1, timeout_s=timeout_s)
        report = registry.load(name).crawl(job, NullRecorder())
        row = report.rows[urls[0]]
        if row.error is not None:
            return row.error
        kept = "kept" if server.connections == 1 else "closed"
        return f"{row.status}, {row.size} B, {kept}"


def allowed(case: Case, found: str) -> bool:
    return any(fnmatchcase(found, pattern) for pattern in case.allowed)


def outcomes(name: str) -> dict[str, str]:
    outcome(name, CASES[0])  # the first request of a library may take longer
    found = {case.name: outcome(name, case) for case in CASES}
    # On a busy machine a library may be late, which is not the same as waiting for ever.
    late = [case for case in CASES if found[case.name] == "timeout"]
    return found | {case.name: outcome(name, case, 6 * TIMEOUT_S) for case in late}


def versions(names: Iterable[str] = LIBRARIES) -> str:
    return ", ".join(f"{name} {version(name)}" for name in names)


def page(models: Mapping[str, str], stacks: Mapping[str, Mapping[str, str]]) -> str:
    rows = []
    for case in CASES:
        cells = [models[case.name], *(found[case.name] for found in stacks.values())]
        shown = [cell if allowed(case, cell) else f"**{cell}**" for cell in cells]
        rows.append([case.name, f"{case.section}: {case.says}", *shown])
    wrong = {
        name: sum(not allowed(case, found[case.name]) for case in CASES)
        for name, found in stacks.items()
    }
    counts = ", ".join(f"{name} {count}" for name, count in wrong.items())
    return f"""# HTTP stacks and RFC 9112

The four models share one parser, and so do most variants. The HTTP stacks bring their own. This
page shows how each of them reads {len(CASES)} responses at the edges of RFC 9112. The second column
names the section, of RFC 9110 where it says so. Outcomes that the RFC does not allow are bold:
{counts}. The models have none.

An outcome is an error kind of `crawlers/kinds.py`, or the status, the size of the body, and whether
the connection carried the next request too ("kept"). The error kinds here are `protocol` (the
answer is not HTTP), `closed` (it is cut short) and `timeout` (it never ends, because the library
waits for the end of the connection).

`python -m tests.torture.framing` writes this page, and a test compares it with the outcomes of the
libraries that are installed. Here:
{textwrap.fill(versions(), 100)}.

{table(("response", "RFC 9112", "the models", *stacks), rows)}
"""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.torture.framing", description=__doc__)
    parser.add_argument("--page", type=Path, default=PAGE, help="where to write the page")
    target: Path = parser.parse_args().page
    assert http.PARSER != "python", "the models' column is httptools'"
    models = outcomes("threads")
    target.write_text(page(models, {name: outcomes(name) for name in STACKS}))
    bad = [case.name for case in CASES if not allowed(case, models[case.name])]
    print(f"{target}: {len(CASES)} cases; models against the RFC: {bad or 'none'}")
    return 1 if bad else 0


if __name__ == "__main__":
    raise SystemExit(main())
