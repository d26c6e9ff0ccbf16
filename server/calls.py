"""Calls with JSON both ways over HTTP/1.1: what the control plane speaks.

httptools reads them, and streams carry them. aiohttp would do both, but importing it is four fifths
of the time that a server needs to start, and a campaign starts two thousand servers.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qs

import httptools

MOST_BYTES = 1 << 20
"""The longest call, head and body."""


@dataclass(slots=True)
class Call:
    """One request. Names of ``headers`` are in lower case; ``keep`` is false for the last one."""

    method: str = ""
    url: bytes = b""
    headers: dict[bytes, bytes] = field(default_factory=dict)
    content: bytes = b""
    keep: bool = False

    @property
    def path(self) -> str:
        return self.url.partition(b"?")[0].decode("ascii", "backslashreplace")

    @property
    def query(self) -> dict[str, list[str]]:
        return parse_qs(self.url.partition(b"?")[2].decode("ascii", "replace"))

    def body(self, *known: str) -> dict[str, Any]:
        """The JSON object in its body; no body is an empty object. Raises :class:`ValueError`."""
        try:
            body = json.loads(self.content) if self.content.strip() else {}
        except (ValueError, RecursionError):
            raise ValueError("the body is not JSON") from None
        if not isinstance(body, dict):
            raise ValueError("the body must be a JSON object")
        unknown = [name for name in body if name not in known]
        if unknown:
            raise ValueError(f"unknown field {unknown[0]!r}; known: {', '.join(known)}")
        return body


Answer = tuple[HTTPStatus, Mapping[str, object]]


class _Reader:
    """Collects whole calls from what httptools finds."""

    def __init__(self) -> None:
        self.parser = httptools.HttpRequestParser(self)
        self.calls: list[Call] = []
        self.size = 0  # bytes of the call that is not whole yet

    def feed(self, data: bytes) -> None:
        """Raises :class:`httptools.HttpParserError`, and ``ValueError`` if a call is too long."""
        self.size += len(data)
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade:  # another protocol would follow; this is the last call
            self.calls[-1].keep = False
        if self.size > MOST_BYTES:
            raise ValueError

    def on_message_begin(self) -> None:
        self.call = Call()

    def on_url(self, url: bytes) -> None:
        self.call.url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        self.call.headers[name.lower()] = value

    def on_headers_complete(self) -> None:
        self.call.method = self.parser.get_method().decode()
        self.call.keep = self.parser.should_keep_alive()

    def on_body(self, body: bytes) -> None:
        self.call.content += body

    def on_message_complete(self) -> None:
        self.calls.append(self.call)
        self.size = 0


def rendered(answer: Answer) -> bytes:
    status, body = answer
    content = json.dumps(body).encode()
    return (
        f"HTTP/1.1 {status.value} {status.phrase}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(content)}\r\n\r\n"
    ).encode() + content


async def converse(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    answer: Callable[[Call], Awaitable[Answer]],
) -> None:
    """Answer the calls of one connection, in their order, until either side ends it."""
    heard = _Reader()
    with contextlib.suppress(ConnectionError), contextlib.closing(writer):
        while data := await reader.read(1 << 16):
            refusal: Answer | None = None
            try:
                heard.feed(data)
            except ValueError:
                refusal = HTTPStatus.REQUEST_ENTITY_TOO_LARGE, {"error": "the call is too long"}
            except httptools.HttpParserError as error:
                refusal = HTTPStatus.BAD_REQUEST, {"error": f"not a call: {error}"}
            calls, heard.calls = heard.calls, []
            for call in calls:
                writer.write(rendered(await answer(call)))
                await writer.drain()
                if not call.keep:
                    return
            if refusal is not None:
                writer.write(rendered(refusal))
                return
