"""Hostile servers against every backend: one page may fail, the crawl goes on."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawlers import registry
from crawlers.conformance.scripted import Connection, ScriptedServer, ok, page, redirect
from crawlers.job import CrawlReport, Job
from crawlers.recorder import NullRecorder
from crawlers.registry import BackendError

HERE = [name for name in registry.names() if not registry.about(name).alone]
STACKS = [name for name in HERE if registry.about(name).family == "stack"]


def load(name: str) -> registry.Backend:
    """A backend, or a skip that says why it cannot run here."""
    try:
        return registry.load(name)
    except BackendError as error:
        pytest.skip(str(error))


def crawl(name: str, server: ScriptedServer, **settings: Any) -> CrawlReport:
    """Crawl a server with short timeouts."""
    job = Job((server.url,), **{"slots": 2, "timeout_s": 5.0, "max_tries": 1, **settings})
    return load(name).crawl(job, NullRecorder())


def outcomes(report: CrawlReport, server: ScriptedServer) -> dict[str, int | str | None]:
    """URL without the server -> error kind or status."""
    return {
        url.removeprefix(server.url): row.error or row.status for url, row in report.rows.items()
    }


def cut(*pieces: bytes) -> Callable[[Connection], None]:
    """Send pieces, then close."""

    def action(connection: Connection) -> None:
        for piece in pieces:
            connection.send(piece)
        connection.close()

    return action


# --- redirects and links that lead nowhere ------------------------------------------


@pytest.mark.parametrize("name", HERE)
def test_a_useless_redirect_or_link_fails_one_page(name: str) -> None:
    """A redirect to mailto: or a link of 66,000 characters ended the crawl of httpx."""
    long = "x" * 66_000
    useless = ("mailto:a@b", "javascript:1", "data:,x", "http://[/", "http://a b/", "//")
    with ScriptedServer() as server:
        server.script["/"] = page(*(f"/{n}" for n in range(len(useless))), f"/{long}", "/last")
        server.script.update({f"/{n}": redirect(to) for n, to in enumerate(useless)})
        server.script[f"/{long}"] = server.script["/last"] = page()
        found = outcomes(crawl(name, server), server)
    assert found.pop(long) == ("unsupported" if name == "httpx" else 200)
    assert found == {"": 200, "last": 200} | {str(n): "bad_redirect" for n in range(6)}


@pytest.mark.parametrize("name", [*registry.MODELS, *STACKS])
def test_a_host_that_cannot_be_encoded_is_unknown(name: str) -> None:
    hosts = ("http://a..127.0.0.1x/", f"http://{'a' * 300}.localhost/")
    with ScriptedServer() as server:
        server.script["/"] = page("/last")
        server.script["/last"] = page()
        report = load(name).crawl(Job((server.url, *hosts), slots=2), NullRecorder())
        found = outcomes(report, server)
    assert found == {"": 200, "last": 200} | dict.fromkeys(hosts, "unknown_host")


@pytest.mark.parametrize("name", HERE)
def test_a_location_is_read_as_browsers_read_it(name: str) -> None:
    """Bytes outside ASCII are percent-encoded as they are; two locations are none."""

    def to(*locations: bytes) -> bytes:
        lines = b"".join(b"Location: %b\r\n" % location for location in locations)
        return b"HTTP/1.1 302 Found\r\n" + lines + b"Content-Length: 0\r\n\r\n"

    with ScriptedServer() as server:
        server.script["/"] = page("/latin", "/utf", "/same", "/two", "/blank")
        server.script["/latin"] = to("/é".encode("latin-1"))
        server.script["/utf"] = to("/ü".encode())
        server.script["/same"] = to(b"/a", b"/a")
        server.script["/two"] = to(b"/a", b"/b")
        server.script["/blank"] = to(b" \t/c \t")
        for target in ("/%E9", "/%C3%BC", "/a", "/c"):
            server.script[target] = page()
        report = crawl(name, server)
        found = outcomes(report, server)
    assert found.pop("two") == "bad_redirect"
    assert found == dict.fromkeys(("", "%E9", "%C3%BC", "a", "c"), 200) | dict.fromkeys(
        ("latin", "utf", "same", "blank"), 302
    )


# --- requests -----------------------------------------------------------------------


@contextmanager
def listening() -> Iterator[tuple[ScriptedServer, list[str]]]:
    """A server, and the heads of the requests that it got."""
    heads: list[str] = []

    class Listening(ScriptedServer):
        def _answer(self, connection: Connection, head: str) -> None:
            heads.append(head)
            super()._answer(connection, head)

    with Listening() as server:
        yield server, heads


@pytest.mark.parametrize("keep_alive", [True, False], ids=["keep-alive", "close"])
@pytest.mark.parametrize("name", HERE)
def test_every_backend_sends_the_same_bytes(name: str, keep_alive: bool) -> None:
    """No other headers, in no other order, and the target as the link has it."""
    targets = ("/q?", "/a%7Eb?c=%41", "/x?&", "/y//z", "/d;e?f=g?h", "/%2F%2e%zz", "/é?ü".encode())
    with listening() as (server, heads):
        links = [each if isinstance(each, str) else each.decode() for each in targets]
        server.script["/"] = page(*links)
        crawl(name, server, slots=1, keep_alive=keep_alive)
        host = server.url.removeprefix("http://").rstrip("/")
    close = "" if keep_alive else "\r\nConnection: close"
    tail = f"HTTP/1.1\r\nHost: {host}\r\nUser-Agent: c10k-crawlers/0.1\r\nAccept: */*{close}"
    wanted = ["/", *links[:-1], "/%C3%A9?%C3%BC"]
    assert heads == [f"GET {target} {tail}" for target in wanted]


@pytest.mark.parametrize("name", HERE)
def test_no_cookie_is_sent_back(name: str) -> None:
    """requests and httpx kept a jar for each slot, so that digests depended on the slots."""
    with listening() as (server, heads):
        server.script["/"] = ok(b'<a href="/a">', extra="Set-Cookie: a=b\r\n")
        server.script["/a"] = redirect("/b")
        server.script["/b"] = page()
        assert crawl(name, server, slots=1).pages == 2
    assert len(heads) == 3
    assert not [head for head in heads if "cookie" in head.lower()]


# --- heads and bodies ---------------------------------------------------------------


@pytest.mark.parametrize("name", HERE)
def test_a_head_that_is_cut_is_no_page(name: str) -> None:
    """http.client takes the end of the stream for the end of the head."""
    pieces = {
        "status": b"HTTP/1.1 200 OK\r\n",
        "half": b"HTTP/1.1 200 OK\r\nContent-Ty",
        "line": b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n",
        "end": b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r",
    }
    with ScriptedServer() as server:
        server.script["/"] = page(*(f"/{key}" for key in pieces))
        server.script.update({f"/{key}": cut(piece) for key, piece in pieces.items()})
        found = outcomes(crawl(name, server), server)
    assert found.pop("") == 200
    assert found == dict.fromkeys(pieces, "closed")


# --- exceptions of libraries ----------------------------------------------------------


ANY = [
    *(OSError, ConnectionResetError, TimeoutError, socket.gaierror, EOFError, ValueError),
    *(TypeError, KeyError, IndexError, AttributeError, AssertionError, RuntimeError),
    *(UnicodeError, NotImplementedError, ArithmeticError, ImportError, LookupError),
]
"""What any library may raise, besides exceptions of its own."""


def exceptions_in(*modules: str) -> list[type[Exception]]:
    """The exception classes of some modules."""
    values = [value for name in modules for value in vars(import_module(name)).values()]
    found = {
        value
        for value in values
        if isinstance(value, type) and issubclass(value, Exception) and value is not Exception
    }
    return sorted(found, key=lambda each: (each.__module__, each.__qualname__))


SOCKET: list[type[Exception]] = [
    *(OSError, ConnectionError, ConnectionResetError, BrokenPipeError, ConnectionAbortedError),
    *(TimeoutError, PermissionError, InterruptedError, socket.gaierror, socket.herror),
]
"""What a socket's methods raise. Models that use nothing else catch nothing else."""

RECV = ("socket:socket.recv", SOCKET)
STREAM = ("asyncio:StreamReader.read", [*SOCKET, RuntimeError])
PLACES: dict[str, tuple[str, list[type[Exception]]]] = {
    # backend: where it calls its library, and what that may raise there
    **dict.fromkeys(("threads", "threads_small_stack", "threads_pool"), RECV),
    **dict.fromkeys(("callbacks", "callbacks_select", "callbacks_poll", "callbacks_epoll"), RECV),
    **dict.fromkeys(("generators", "native_coroutines"), RECV),
    **dict.fromkeys(("async_await", "asyncio_pure", "master_worker", "uvloop"), STREAM),
    "asyncio_sockets": ("socket:socket.recv", SOCKET),
    "asyncio_protocol": ("asyncio.selector_events:_SelectorSocketTransport.write", ANY),
}
LIBRARIES = {
    # backend: where it calls its library, and the modules of the library's exceptions
    "tornado": ("tornado.iostream:IOStream.read_bytes", "tornado.iostream", "tornado.util"),
    "trio": ("trio._socket:_SocketType.recv", "trio"),
    "curio": ("curio.io:Socket.recv", "curio.errors"),
    "anyio": ("anyio._backends._asyncio:SocketStream.receive", "anyio"),
    "anyio_trio": ("anyio._backends._trio:SocketStream.receive", "anyio", "trio"),
    "twisted": ("twisted.internet.tcp:Connection.write", "twisted.internet.error"),
    "aiohttp": (
        "aiohttp:ClientSession._request",
        *("aiohttp.client_exceptions", "aiohttp.http_exceptions"),
    ),
    "httpx": ("httpx:AsyncClient.send", "httpx", "httpcore", "h11", "anyio"),
    "requests": (
        "requests.adapters:HTTPAdapter.send",
        *("requests.exceptions", "urllib3.exceptions", "http.client"),
    ),
    "urllib3": ("urllib3:PoolManager.urlopen", "urllib3.exceptions", "http.client"),
}


def made(kind: type[Exception]) -> Exception:
    """An exception of a class; where its arguments are unknown, without them."""
    for arguments in ((), ("made for a test",)):
        try:
            return kind(*arguments)
        except TypeError:
            continue
    error = kind.__new__(kind)
    error.args = ("made for a test",)
    return error


@pytest.mark.parametrize("name", [*PLACES, *LIBRARIES])
def test_no_exception_of_a_library_ends_a_crawl(name: str) -> None:
    load(name)
    if name in PLACES:
        target, kinds = PLACES[name]
    else:
        target, *modules = LIBRARIES[name]
        kinds = [*ANY, *exceptions_in(*modules)]
    place, _, path = target.partition(":")
    owner: Any = import_module(place)
    *classes, attribute = path.split(".")
    for each in classes:
        owner = getattr(owner, each)
    usual = getattr(owner, attribute)

    @settings(deadline=None, max_examples=settings().max_examples // 3)
    @given(st.sampled_from(kinds), st.integers(1, 3))
    def every_exception(kind: type[Exception], at: int) -> None:
        calls = 0

        def fails() -> bool:
            nonlocal calls
            if threading.current_thread().name == "scripted-server":
                return False
            calls += 1
            return calls == at

        async def awaited(*arguments: Any, **more: Any) -> object:
            if fails():
                raise made(kind)
            return await usual(*arguments, **more)

        def called(*arguments: Any, **more: Any) -> object:
            if fails():
                raise made(kind)
            return usual(*arguments, **more)

        replacement = awaited if asyncio.iscoroutinefunction(usual) else called
        with ScriptedServer() as server, pytest.MonkeyPatch.context() as patch:
            server.script["/"] = page("/a", "/b")
            server.script.update({"/a": page(), "/b": page()})
            patch.setattr(owner, attribute, replacement)
            report = crawl(name, server, slots=1)
        failed = [row.error for row in report.rows.values() if row.error is not None]
        assert report.stopped is None
        assert len(failed) <= 1, kind
        assert calls >= at

    every_exception()
