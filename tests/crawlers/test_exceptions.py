"""No exception of a library ends a crawl: it costs the one page it belongs to."""

from __future__ import annotations

import inspect
import json
import threading
from collections.abc import Callable
from importlib import import_module
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawlers import registry
from crawlers.conformance.scripted import ScriptedServer
from crawlers.job import CrawlReport, Job
from crawlers.recorder import NullRecorder
from tests.crawlers.backends import HERE, IN_CHILDREN, each, link, load
from tests.crawlers.raised import ANY, SOCKET, exceptions_in, made
from tests.programs import python

Place = tuple[str, list[type[Exception]]]
"""Where a backend calls its library, and what that may raise there."""

RECV: Place = ("socket:socket.recv", SOCKET)
STREAM: Place = ("asyncio:StreamReader.read", [*SOCKET, RuntimeError])
TRANSPORT: Place = ("asyncio.selector_events:_SelectorSocketTransport.write", ANY)


def raising(place: str, *modules: str) -> Place:
    """A place that may raise anything, and whatever these modules of the library have."""
    return place, [*ANY, *exceptions_in(*modules)]


PLACES: dict[str, Callable[[], Place]] = {
    "gevent": lambda: (
        "gevent.socket:socket.recv",
        [*SOCKET, *(kind for kind in exceptions_in("gevent.socket") if issubclass(kind, OSError))],
    ),
    "asyncio_sockets": lambda: RECV,
    "asyncio_protocol": lambda: TRANSPORT,
    "uvloop_sockets": lambda: ("uvloop:Loop.sock_recv", ANY),
    # These transports cannot be patched. Each of these crawls connects for each page.
    "uvloop_protocol": lambda: ("uvloop:Loop.create_connection", ANY),
    "aiofastnet_protocol": lambda: ("aiofastnet.api_create_connection:_connect_sock", ANY),
    "tornado": lambda: raising(
        "tornado.iostream:IOStream.read_bytes", "tornado.iostream", "tornado.util"
    ),
    "trio": lambda: raising("trio._socket:_SocketType.recv", "trio"),
    "anyio": lambda: raising("anyio._backends._asyncio:SocketStream.receive", "anyio"),
    "anyio_trio": lambda: raising("anyio._backends._trio:SocketStream.receive", "anyio", "trio"),
    "twisted": lambda: raising("twisted.internet.tcp:Connection.write", "twisted.internet.error"),
    "aiohttp": lambda: raising(
        "aiohttp:ClientSession._request", "aiohttp.client_exceptions", "aiohttp.http_exceptions"
    ),
    "httpx": lambda: raising("httpx:AsyncClient.send", "httpx", "httpcore", "h11", "anyio"),
    "httpx2": lambda: raising("httpx2:AsyncClient.send", "httpx2", "httpcore2", "h11", "anyio"),
    "requests": lambda: raising(
        "requests.adapters:HTTPAdapter.send",
        "requests.exceptions",
        "urllib3.exceptions",
        "http.client",
    ),
    "urllib3": lambda: raising("urllib3:PoolManager.urlopen", "urllib3.exceptions", "http.client"),
}
"""By the beginning of a name, the longest that fits; others use sockets or asyncio's streams."""


def place(name: str) -> Place:
    """Where a backend calls its library; the test fails if it is never called."""
    fitting = [each for each in PLACES if name == each or name.startswith(f"{each}_")]
    if fitting:
        return PLACES[max(fitting, key=len)]()
    return STREAM if registry.about(name).family == "async" else RECV


def job(server: ScriptedServer, name: str) -> Job:
    """A crawl that fetches one page after the other, each once."""
    keep_alive = name not in ("uvloop_protocol", "aiofastnet_protocol")
    return Job((server.url,), slots=1, timeout_s=5.0, max_tries=1, keep_alive=keep_alive)


def failures(report: CrawlReport) -> int:
    """How many pages failed in a crawl that ran to its end."""
    assert report.stopped is None
    return sum(row.error is not None for row in report.rows.values())


@each([name for name in HERE if name not in IN_CHILDREN])
def test_no_exception_of_a_library_ends_a_crawl(name: str) -> None:
    backend = load(name)
    target, kinds = place(name)
    module, _, path = target.partition(":")
    owner: Any = import_module(module)
    *classes, attribute = path.split(".")
    for name_of_class in classes:
        owner = getattr(owner, name_of_class)
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

        replacement = awaited if inspect.iscoroutinefunction(usual) else called
        with ScriptedServer() as server, pytest.MonkeyPatch.context() as patch:
            link(server, "/a", "/b")
            patch.setattr(owner, attribute, replacement)
            report = backend.crawl(job(server, name), NullRecorder())
        assert failures(report) <= 1, kind
        assert calls >= at

    every_exception()


FAILING_RECV = """
import builtins, socket
calls, usual = 0, socket.socket.recv
def recv(sock, *arguments):
    global calls
    calls += sock.family == socket.AF_INET
    if sock.family == socket.AF_INET and calls == {at}:
        raise {kind}("made for a test")
    return usual(sock, *arguments)
socket.socket.recv = recv
"""


@pytest.mark.parametrize("name", IN_CHILDREN)
def test_no_exception_in_a_child_ends_a_crawl(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The sockets are those of ``callbacks``, in another process or interpreter."""
    backend = load(name)
    module = import_module(f"crawlers.variants.{name}")
    usual = module.START
    for number, kind in enumerate(SOCKET):
        at = 1 + number % 3
        failing = FAILING_RECV.format(at=at, kind=f"{kind.__module__}.{kind.__qualname__}")
        monkeypatch.setattr(module, "START", failing + usual)
        with ScriptedServer() as server:
            link(server, "/a", "/b")
            report = backend.crawl(job(server, name), NullRecorder())
        failed = failures(report)
        assert failed == 1 if at == 1 else failed <= 1, kind


WITH_GEVENT = """
import json, socket, sys
from crawlers import registry
from crawlers.job import Job
from crawlers.recorder import NullRecorder
backend = registry.load("gevent_patched")  # from here on, sockets are gevent's
from tests.crawlers.raised import SOCKET, exceptions_in, made
assert socket.socket.__module__.startswith("gevent."), socket.socket
usual = socket.socket.recv
own = [kind for kind in exceptions_in("gevent.socket") if issubclass(kind, OSError)]
for kind in {*SOCKET, *own}:
    for at in (1, 2, 3):
        calls = 0
        def recv(sock, *arguments):
            global calls
            calls += 1
            if calls == at:
                raise made(kind)
            return usual(sock, *arguments)
        socket.socket.recv = recv
        job = Job((sys.argv[1],), slots=1, timeout_s=5.0, max_tries=1)
        report = backend.crawl(job, NullRecorder())
        failed = sum(row.error is not None for row in report.rows.values())
        print(json.dumps([kind.__name__, at, report.stopped, failed, calls]))
"""


def test_no_exception_of_gevent_ends_a_crawl() -> None:
    """It patches its process, so it has one of its own."""
    pytest.importorskip("gevent", exc_type=ImportError)
    with ScriptedServer() as server:
        link(server, "/a", "/b")
        done = python("-c", WITH_GEVENT, server.url)
    assert (done.returncode, done.stderr) == (0, "")
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(lines) >= 3 * len(SOCKET)
    for kind, at, stopped, failed, calls in lines:
        assert stopped is None, kind
        assert failed <= 1, kind
        assert calls >= at, kind


def test_a_connection_of_aiohttp_that_ends_before_its_request_is_reset() -> None:
    """On uvloop this was "network", so a stale connection was not tried again at once."""
    library, variant = pytest.importorskip("aiohttp"), import_module("crawlers.variants.aiohttp")
    assert variant.kind_of(library.ClientConnectionResetError("closing transport")) == "reset"
