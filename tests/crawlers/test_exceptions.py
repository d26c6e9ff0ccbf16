"""No exception of a library ends a crawl: it costs the one page it belongs to."""

from __future__ import annotations

import asyncio
import inspect
import json
import subprocess
import sys
import threading
from importlib import import_module
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.launch import ROOT
from crawlers import registry
from crawlers.catalogue import OURS
from crawlers.conformance.scripted import ScriptedServer, page
from crawlers.job import CrawlReport, Job
from crawlers.recorder import NullRecorder
from tests.crawlers.backends import each, load
from tests.crawlers.raised import ANY, SOCKET, exceptions_in, made

RECV = ("socket:socket.recv", SOCKET)
STREAM = ("asyncio:StreamReader.read", [*SOCKET, RuntimeError])
TRANSPORT = ("asyncio.selector_events:_SelectorSocketTransport.write", ANY)
PLACES: dict[str, tuple[str, list[type[Exception]]]] = {
    # backend: where it calls its library, and what that may raise there
    **dict.fromkeys(("threads", "threads_small_stack", "threads_pool"), RECV),
    "threads_one_processor": RECV,
    **dict.fromkeys(("threads_timeouts", "threads_long_switch", "threads_short_switch"), RECV),
    **dict.fromkeys(("gevent", "gevent_timeouts"), ("gevent.socket:socket.recv", SOCKET)),
    **dict.fromkeys(("callbacks", "callbacks_select", "callbacks_poll", "callbacks_epoll"), RECV),
    **dict.fromkeys(("generators", "native_coroutines"), RECV),
    **dict.fromkeys(("callbacks_asyncio", "generators_asyncio"), RECV),
    **dict.fromkeys(("async_await", "asyncio_pure", "asyncio_eager", "uvloop"), STREAM),
    **dict.fromkeys(("async_await_timeouts", "uvloop_timeouts"), STREAM),
    **dict.fromkeys(("asyncio_small_tls", "loop_per_thread"), STREAM),
    **dict.fromkeys(("async_await_to_thread", "async_await_pool"), STREAM),
    **dict.fromkeys(("async_await_mapped", "master_worker", "redis_queue"), STREAM),
    "asyncio_sockets": ("socket:socket.recv", SOCKET),
    **dict.fromkeys(("asyncio_protocol", "asyncio_buffered"), TRANSPORT),
    "asyncio_protocol_mapped": TRANSPORT,
    "uvloop_sockets": ("uvloop:Loop.sock_recv", ANY),
    # A transport of uvloop cannot be patched. Each of these crawls connects for each page.
    "uvloop_protocol": ("uvloop:Loop.create_connection", ANY),
}
AIOHTTP = (
    "aiohttp:ClientSession._request",
    *("aiohttp.client_exceptions", "aiohttp.http_exceptions"),
)
LIBRARIES = {
    # backend: where it calls its library, and the modules of the library's exceptions
    "tornado": ("tornado.iostream:IOStream.read_bytes", "tornado.iostream", "tornado.util"),
    **dict.fromkeys(
        ("trio", "trio_timeouts", "trio_sockets"), ("trio._socket:_SocketType.recv", "trio")
    ),
    "curio": ("curio.io:Socket.recv", "curio.errors"),
    "anyio": ("anyio._backends._asyncio:SocketStream.receive", "anyio"),
    "anyio_trio": ("anyio._backends._trio:SocketStream.receive", "anyio", "trio"),
    "twisted": ("twisted.internet.tcp:Connection.write", "twisted.internet.error"),
    "aiohttp": AIOHTTP,
    "aiohttp_timeouts": AIOHTTP,
    "aiohttp_uvloop": AIOHTTP,
    **dict.fromkeys(
        ("httpx", "httpx_tuned"),
        ("httpx:AsyncClient.send", "httpx", "httpcore", "h11", "anyio"),
    ),
    "httpx2": ("httpx2:AsyncClient.send", "httpx2", "httpcore2", "h11", "anyio"),
    **dict.fromkeys(
        ("requests", "requests_tuned"),
        (
            "requests.adapters:HTTPAdapter.send",
            *("requests.exceptions", "urllib3.exceptions", "http.client"),
        ),
    ),
    **dict.fromkeys(
        ("urllib3", "urllib3_tuned"),
        ("urllib3:PoolManager.urlopen", "urllib3.exceptions", "http.client"),
    ),
}
ELSEWHERE = ("gevent_patched", "processes", "subinterpreters", "partition")
"""Backends that call their library in another process or interpreter."""


def test_every_backend_is_covered() -> None:
    assert {*PLACES, *LIBRARIES, *ELSEWHERE} == {*registry.MODELS, *OURS}


def site(server: ScriptedServer) -> None:
    """Three pages."""
    server.script["/"] = page("/a", "/b")
    server.script.update({"/a": page(), "/b": page()})


def job(server: ScriptedServer, name: str) -> Job:
    """A crawl that fetches one page after the other, each once."""
    keep_alive = name != "uvloop_protocol"
    return Job((server.url,), slots=1, timeout_s=5.0, max_tries=1, keep_alive=keep_alive)


def failures(report: CrawlReport) -> int:
    """How many pages failed in a crawl that ran to its end."""
    assert report.stopped is None
    return sum(row.error is not None for row in report.rows.values())


def is_elsewhere(server: ScriptedServer, stream: object) -> bool:
    """Whether this is a stream to another server: to Redis."""
    if not isinstance(stream, asyncio.StreamReader):
        return False
    transport: asyncio.Transport = stream._transport  # type: ignore[attr-defined]
    host, port = transport.get_extra_info("peername")
    return server.url != f"http://{host}:{port}/"


@each([*PLACES, *LIBRARIES])
def test_no_exception_of_a_library_ends_a_crawl(name: str) -> None:
    backend = load(name)
    if name in PLACES:
        target, kinds = PLACES[name]
    else:
        target, *modules = LIBRARIES[name]
        kinds = [*ANY, *exceptions_in(*modules)]
    place, _, path = target.partition(":")
    owner: Any = import_module(place)
    *classes, attribute = path.split(".")
    for name_of_class in classes:
        owner = getattr(owner, name_of_class)
    usual = getattr(owner, attribute)

    @settings(deadline=None, max_examples=settings().max_examples // 3)
    @given(st.sampled_from(kinds), st.integers(1, 3))
    def every_exception(kind: type[Exception], at: int) -> None:
        calls = 0

        def fails(first: object) -> bool:
            nonlocal calls
            if threading.current_thread().name == "scripted-server":
                return False
            if is_elsewhere(server, first):
                return False
            calls += 1
            return calls == at

        async def awaited(*arguments: Any, **more: Any) -> object:
            if fails(arguments[0]):
                raise made(kind)
            return await usual(*arguments, **more)

        def called(*arguments: Any, **more: Any) -> object:
            if fails(arguments[0]):
                raise made(kind)
            return usual(*arguments, **more)

        replacement = awaited if inspect.iscoroutinefunction(usual) else called
        with ScriptedServer() as server, pytest.MonkeyPatch.context() as patch:
            site(server)
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


@pytest.mark.parametrize("name", ["processes", "subinterpreters", "partition"])
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
            site(server)
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
        site(server)
        done = subprocess.run(
            [sys.executable, "-c", WITH_GEVENT, server.url],
            cwd=ROOT,
            capture_output=True,
            text=True,
        )
    assert (done.returncode, done.stderr) == (0, "")
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(lines) >= 3 * len(SOCKET)
    for kind, at, stopped, failed, calls in lines:
        assert stopped is None, kind
        assert failed <= 1, kind
        assert calls >= at, kind
