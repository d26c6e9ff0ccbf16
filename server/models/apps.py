"""One application for all stacks, as ASGI, as WSGI and for aiohttp.web: the answers of a site.

A stack reads requests, keeps connections and limits, and stops by its own means. The application
knows what the conversation knows of a request: page, size and CRC-32 of a body, 404, 405 and 413.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from functools import lru_cache
from http import HTTPStatus
from threading import Lock
from typing import TYPE_CHECKING, Any
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment
from zlib import crc32

from server.models.conversation import METHODS, PART, sizes
from server.models.service import Service
from server.sites.site import Resource

if TYPE_CHECKING:
    from aiohttp import web

Message = dict[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Fields = list[tuple[bytes, bytes]]
Answer = tuple[int, Fields, bytes]
"""Status, headers and body."""


@lru_cache(100_000)
def fields_of(resource: Resource) -> Fields:
    """The headers of an answer of a site, with the lower-case names that ASGI asks for."""
    lines = resource.payload[: resource.body_start - 4].split(b"\r\n")[1:]
    return [(name.lower(), value) for name, _, value in (line.partition(b": ") for line in lines)]


@lru_cache(64)
def large_body(resource: Resource) -> bytes:
    """The body of a page, for all its requests: a stack holds it until a slow reader has it."""
    return resource.body


def body_of(resource: Resource) -> bytes:
    """The body; a small one is copied sooner than found in a cache."""
    return large_body(resource) if resource.size > PART else resource.body


class Asked:
    """One request: feed its body while it ``wants`` more, then take the answer."""

    __slots__ = ("checksum", "method", "service", "size", "target", "wants")

    counting = Lock()  # of the tally: WSGI has threads

    def __init__(self, service: Service, method: str, target: bytes) -> None:
        self.service = service
        self.method = method.encode()
        self.target = target
        self.size = self.checksum = 0
        self.wants = method not in ("GET", "HEAD")

    def feed(self, data: bytes, more: bool) -> None:
        """Take a piece of the body."""
        self.size += len(data)
        self.checksum = crc32(data, self.checksum)
        self.wants = more and self.size <= self.service.limits.max_body

    def answer(self) -> Answer:
        """The answer; counts the request."""
        service, tally = self.service, self.service.tally
        resource = service.site.find(self.target) or service.site.not_found
        gets = self.method == b"GET" or (self.method == b"POST" and resource.status != 200)
        with self.counting:
            tally.requests += 1
            if gets:
                tally.bytes += resource.size
                tally.checksum = (tally.checksum + resource.checksum) % 2**64
        if self.size > service.limits.max_body:
            return text(413, b"too large\n", (b"connection", b"close"))
        if self.method not in METHODS:
            return text(405, b"GET, HEAD or POST\n", (b"allow", b", ".join(METHODS)))
        if self.method == b"POST" and resource.status == 200:
            return text(200, sizes(self.size, self.checksum))
        return resource.status, fields_of(resource), body_of(resource) if gets else b""


def text(status: int, body: bytes, *fields: tuple[bytes, bytes]) -> Answer:
    """An answer that no site has."""
    size = (b"content-length", b"%d" % len(body))
    kind = (b"content-type", b"text/plain; charset=utf-8")
    return status, [kind, size, *fields], body


def asgi(service: Service) -> Callable[[Message, Receive, Send], Awaitable[None]]:
    """The application for uvicorn, hypercorn and granian; the server is ready when it starts."""

    async def lifespan(receive: Receive, send: Send) -> None:
        await receive()
        service.ready()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await send({"type": "lifespan.shutdown.complete"})

    async def app(scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            return await lifespan(receive, send)
        target, query = scope["raw_path"], scope["query_string"]
        asked = Asked(service, scope["method"], target + b"?" + query if query else target)
        while asked.wants:
            event = await receive()
            if event["type"] == "http.disconnect":
                return None
            asked.feed(event.get("body", b""), event.get("more_body", False))
        status, fields, body = asked.answer()
        await send({"type": "http.response.start", "status": status, "headers": fields})
        await send({"type": "http.response.body", "body": body})

    return app


def wsgi(service: Service) -> WSGIApplication:
    """The application for gunicorn and waitress."""

    def app(environ: WSGIEnvironment, start_response: StartResponse) -> Iterator[bytes]:
        target = (environ.get("RAW_URI") or environ["REQUEST_URI"]).encode("latin-1")
        asked = Asked(service, environ["REQUEST_METHOD"], target)
        while asked.wants:
            data = environ["wsgi.input"].read(PART)
            asked.feed(data, bool(data))
        status, fields, body = asked.answer()
        headers = [(name.decode(), value.decode("latin-1")) for name, value in fields]
        start_response(f"{status} {HTTPStatus(status).phrase}", headers)
        return iter([body] if body else [])

    return app


def for_aiohttp(service: Service) -> web.Application:
    """The application for aiohttp.web; the server is ready when it starts."""
    from aiohttp import web

    async def handle(request: web.Request) -> web.Response:
        asked = Asked(service, request.method, request.raw_path.encode("latin-1"))
        while asked.wants:
            data = await request.content.readany()
            asked.feed(data, bool(data))
        status, fields, body = asked.answer()
        headers = {name.decode(): value.decode("latin-1") for name, value in fields}
        return web.Response(status=status, headers=headers, body=body)

    async def ready(app: web.Application) -> None:
        service.ready()

    app = web.Application(client_max_size=service.limits.max_body)
    app.router.add_route("*", "/{target:.*}", handle)
    app.on_startup.append(ready)
    return app
