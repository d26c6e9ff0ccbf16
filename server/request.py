"""One request head: is it correct, and what does it ask for?"""

from __future__ import annotations

import re

import httptools

from server.addresses import HOST

_ABSOLUTE = re.compile(rb"https?://[^/?#]*(.*)", re.IGNORECASE | re.DOTALL)


class Refusal(Exception):
    """A request that gets an error for an answer; the connection then ends."""

    def __init__(self, status: int, reason: str, why: str, allow: str = "") -> None:
        super().__init__(why)
        text = f"{why}\n".encode()
        self.payload = (
            f"HTTP/1.1 {status} {reason}\r\nContent-Type: text/plain; charset=utf-8\r\n"
            f"Content-Length: {len(text)}\r\n{allow}Connection: close\r\n\r\n"
        ).encode() + text


class _Head:
    """One request head as httptools reads it."""

    __slots__ = ("body", "close", "complete", "host", "named", "url")

    def __init__(self) -> None:
        self.url = b""
        self.host = 0
        self.named = True
        self.body = False
        self.close = False
        self.complete = False

    def on_url(self, url: bytes) -> None:
        """Called by httptools, perhaps in pieces."""
        self.url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        """Called by httptools for each header."""
        name = name.lower()
        if name == b"host":
            self.host += 1
            self.named = HOST.fullmatch(value) is not None
        elif name == b"connection":
            # Not parser.should_keep_alive(), which does not know any more after a whole request.
            self.close = self.close or b"close" in re.split(rb"[ \t]*,[ \t]*", value.lower())
        elif name == b"transfer-encoding" or (name == b"content-length" and value.strip(b"0 \t")):
            self.body = True

    def on_headers_complete(self) -> None:
        """Called by httptools."""
        self.complete = True


def read_head(head: bytes) -> tuple[bool, bytes, bool]:
    """Parse one complete request head: (is it HEAD, target, keep the connection).

    Raises :class:`Refusal` for anything but a correct GET or HEAD.
    """
    reader = _Head()
    parser = httptools.HttpRequestParser(reader)
    try:
        parser.feed_data(head)
    except httptools.HttpParserUpgrade:
        pass  # an offer to switch protocols, which a server may ignore
    except httptools.HttpParserError as error:
        raise Refusal(400, "Bad Request", f"not an HTTP request: {error}") from None
    if not reader.complete:
        raise Refusal(400, "Bad Request", "not an HTTP request")
    method, version = parser.get_method(), parser.get_http_version()
    if version not in ("1.1", "1.0"):
        raise Refusal(400, "Bad Request", f"HTTP/{version} is not spoken here")
    if reader.host > 1 or (version == "1.1" and not reader.host) or not reader.named:
        why = "an HTTP/1.1 request needs exactly one Host header, HOST or HOST:PORT"
        raise Refusal(400, "Bad Request", why)
    if method not in (b"GET", b"HEAD"):
        raise Refusal(
            405, "Method Not Allowed", "only GET and HEAD are served", "Allow: GET, HEAD\r\n"
        )
    if reader.body:
        raise Refusal(400, "Bad Request", "a GET or HEAD request takes no body here")
    target = reader.url
    absolute = _ABSOLUTE.fullmatch(target)
    if absolute is not None:
        target = absolute[1] if absolute[1][:1] == b"/" else b"/" + absolute[1]
    elif target[:1] != b"/":
        raise Refusal(400, "Bad Request", "a request target begins with /")
    return method == b"HEAD", target, version == "1.1" and not reader.close
