"""The variants: what the registry says of them, and that they crawl like the models."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import threading
import time
from asyncio import sslproto
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import pytest

from crawlers import async_await, registry
from crawlers.catalogue import OURS
from crawlers.conformance.scripted import Connection, ScriptedServer, page
from crawlers.job import Job, JobError
from crawlers.recorder import NullRecorder
from crawlers.registry import BackendError
from crawlers.summary import as_json
from crawlers.variants import loop_per_thread
from crawlers.variants.settings import SETTINGS
from tests.crawlers.backends import LIBRARIES, USUAL, crawl, each, link, load, outcomes
from tests.programs import python
from tests.server.fixture_server import Running

NAMES = [name for name in OURS if name not in registry.MODELS]


def test_every_variant_has_its_file_and_every_file_its_variant() -> None:
    folder = Path(registry.__file__).parent / "variants"
    files = {f"crawlers.variants.{path.stem}" for path in folder.glob("[!_]*.py")}
    assert files == {OURS[name].module for name in NAMES}


def test_a_loop_of_anybody_is_a_backend(tree: Running) -> None:
    """Without a distribution: async_await on what a function makes."""
    name = "asyncio:SelectorEventLoop"
    report = crawl(name, tree.url)
    assert (report.backend, report.mechanism["loop"]) == (
        name,
        "asyncio.unix_events._UnixSelectorEventLoop",
    )
    assert report.rows.keys() == crawl("async_await", tree.url).rows.keys()
    assert registry.about(name).against == "async_await"


def test_a_thread_with_a_small_stack_frees_its_containers() -> None:
    """With 64 KiB on CPython 3.14 it freed none before it ended: python/cpython#141044."""
    script = """
import gc, threading
from crawlers.variants.settings import STACK

freed = []

class Page:
    def __del__(self):
        freed.append(self)

def deep(level):
    if level:
        return deep(level - 1)
    for _ in range(100):
        page = [Page()]
        del page
    print(len(freed))

gc.disable()
threading.stack_size(STACK)
thread = threading.Thread(target=deep, args=(60,))
thread.start()
thread.join()
"""
    done = python("-c", script)
    assert (done.stdout.strip(), done.returncode) == ("100", 0), done.stderr


ON_ASYNCIO = ("async_await", "aiofastnet", "anyio", "aiohttp", "httpx", "tornado")


@each(ON_ASYNCIO)
def test_no_backend_changes_the_private_parts_of_asyncio(name: str) -> None:
    """Stock means stock: the size of a receive was patched, and the models gained from it."""
    load(name)
    look = "print(transport.max_size, sorted(vars(transport)))"
    found = []
    for first in ("", f"from crawlers import registry; registry.load({name!r})\n"):
        script = (
            f"{first}from asyncio.selector_events import _SelectorTransport as transport; {look}"
        )
        shown = python("-c", script)
        assert shown.returncode == 0, shown.stderr
        found.append(shown.stdout)
    assert found[0] == found[1]


def test_names_and_descriptions_import_no_library() -> None:
    """Listing the backends must stay cheap, and must not patch the process."""
    script = (
        "import sys; from crawlers import registry\n"
        "for name in registry.names(): registry.about(name)\n"
        "print([m for m in sys.modules if m.startswith('crawlers.variants')"
        " or m in ('asyncio', 'uvloop', 'trio', 'gevent', 'aiohttp', 'twisted')])"
    )
    done = python("-c", script)
    assert (done.stdout.strip(), done.stderr) == ("[]", "")


def test_known_differences_name_real_tests() -> None:
    folder = Path(registry.__file__).parent / "conformance"
    suite = "".join(file.read_text() for file in folder.glob("test_*.py"))
    for entry in OURS.values():
        for test in entry.differs:
            name, _, case = test.partition("[")  # a whole test, or one case of it
            assert f"def {name}(" in suite
            for part in case.removesuffix("]").split("-"):
                assert (
                    part in ("", "plain", "tls") or f'"{part}"' in suite or f"def {part}(" in suite
                )


def test_a_missing_library_is_named_with_what_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "uvloop", None)
    with pytest.raises(BackendError, match=r"uvloop.*pip install '\.\[variants\]'"):
        registry.load("uvloop")


def process() -> tuple[object, ...]:
    """What the settings of :mod:`crawlers.variants.settings` change."""
    protocol: Any = sslproto.SSLProtocol
    return (
        sys.getswitchinterval(),
        threading.stack_size(),
        os.sched_getaffinity(0),
        protocol.max_size,
    )


@each(SETTINGS)
def test_a_setting_ends_with_its_crawl(name: str) -> None:
    """It is there while the crawl runs, and another backend in the process has none of it."""
    before, seen = process(), []

    def look(connection: Connection) -> None:
        seen.append(process())
        connection.send(page())

    backend = load(name)
    assert process() == before
    with ScriptedServer() as server:
        server.script["/"] = look
        report = backend.crawl(Job((server.url,), slots=1), NullRecorder())
    assert (report.backend, report.pages) == (name, 1)
    assert process() == before
    unseen = name.endswith(("_mapped", "one_processor"))  # malloc's, and that of another thread
    assert unseen or seen[0] != before


USUAL_JOB = (10, True)
CRAWLS = [
    *product(registry.MODELS, [(1, True), (2, False), (100, True)]),
    *((name, USUAL_JOB) for name in NAMES if name in USUAL),
    *(pytest.param(name, USUAL_JOB, marks=pytest.mark.slow) for name in NAMES if name not in USUAL),
]
"""Backends, and the slots and keep-alive of their crawls."""


@pytest.mark.parametrize(("name", "job"), CRAWLS)
def test_a_full_crawl_equals_the_digest_and_the_ledger(
    name: str, job: tuple[int, bool], tree: Running
) -> None:
    """Every variant fetches what the models fetch, over no more connections than slots."""
    slots, keep_alive = job
    tree.call("/reset", {})
    if registry.about(name).alone:
        done = python("-m", "crawlers", name, tree.url, "--json", "-c", str(slots))
        if "pip install" in done.stderr:
            pytest.skip(done.stderr.strip())
        found: dict[str, Any] = json.loads(done.stdout)
    else:
        found = as_json(crawl(name, tree.url, slots=slots, keep_alive=keep_alive))
    ledger = tree.call("/ledger")
    assert (found["backend"], found["concurrency"]) == (name, slots)
    assert found["mechanism"]
    assert found["digest"] == tree.ready["digest"]
    assert found["errors"] == {}
    assert found["pages"] == tree.ready["pages"] == 500
    assert found["redirects"] > 0
    assert found["statuses"]["404"] > 0
    assert ledger["repeated"] == 0
    assert ledger["total"] == tree.ready["urls"]
    assert ledger["peak_in_flight"] <= slots
    opened = ledger["connections_opened"]
    if keep_alive:
        assert opened <= slots
    else:
        assert opened == ledger["total"]


@each(LIBRARIES)
def test_a_pool_keeps_a_connection_that_was_idle_for_long(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process is stopped while others have their turn; httpx then gave connections up.

    The library's clock goes on by a minute at each page. Ours does not: it has another name.
    """

    class Pause(NullRecorder):
        stopped_s = 0.0

        def record(self, slot: int, due: float, started: float, ended: float) -> None:
            Pause.stopped_s += 60.0

    clock = time.monotonic
    monkeypatch.setattr(time, "monotonic", lambda: clock() + Pause.stopped_s)
    with ScriptedServer() as server:
        link(server, *(f"/{number}" for number in range(4)))
        report = load(name).crawl(Job((server.url,), slots=1), Pause())
    assert (report.errors, report.pages, Pause.stopped_s) == ({}, 5, 300.0)
    assert server.connections == 1


@pytest.mark.parametrize("name", ["threads", "async_await", "trio", "twisted", "tornado"])
def test_a_kept_connection_ends_without_a_reset(name: str) -> None:
    """As Twisted's abortConnection sends; a server then sees an error and not an end."""
    ends = SimpleQueue[bytes]()

    def watches(connection: Connection) -> None:
        connection.send(page())
        try:
            ends.put(connection.sock.recv(1))
        except ConnectionResetError:
            ends.put(b"reset")
        connection.close()

    with ScriptedServer() as server:
        server.script["/"] = watches
        crawl(name, server.url, slots=1)
        assert ends.get(timeout=10.0) == b""


@pytest.mark.parametrize("name", ["async_await_timeouts", "uvloop_timeouts", "aiohttp_timeouts"])
def test_the_timer_of_an_exchange_needs_no_sweep(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It ends a late exchange by itself, without the sweep over all slots."""
    monkeypatch.setattr(async_await, "watch", lambda shared, stop: None)

    def stalls(connection: Connection) -> None:
        connection.send(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf")
        connection.hang()

    with ScriptedServer() as server:
        server.script["/"] = page("/silent", "/stalls")
        server.script |= {"/silent": Connection.hang, "/stalls": stalls}
        report = crawl(name, server.url, slots=2, timeout_s=1.0, max_tries=1)
        found = outcomes(report, server.url)
    # On a busy machine even the first page may be late.
    late = {"silent": "timeout", "stalls": "timeout"}
    assert found in ({"": 200} | late, {"": "timeout"})


def test_select_refuses_more_than_it_can_express() -> None:
    with pytest.raises(JobError, match=r"use at most 960, or"):
        crawl("callbacks_select", "http://127.0.0.1:1/", slots=1024)


def test_a_repeated_request_of_urllib3_gets_a_new_connection() -> None:
    """Which connection the pool gives out next depends on what other threads did meanwhile."""
    stack = pytest.importorskip("crawlers.variants.urllib3")
    with ScriptedServer() as server:
        server.script["/"] = page()
        shared = stack.Shared(Job((server.url,), slots=1), NullRecorder())
        shared.frontier.start(time.monotonic())
        item = shared.frontier.take()
        for stale, connections in ((False, 1), (False, 1), (True, 2)):
            item.stale = stale
            assert stack.fetch(shared, shared.slots[0], item).error is None
            assert server.connections == connections
        shared.pools.clear()


def children() -> set[str]:
    """The processes that this thread has started."""
    listing = Path(f"/proc/self/task/{threading.main_thread().native_id}/children")
    return set(listing.read_text().split())


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs /proc to find children")
def test_a_process_that_dies_ends_the_crawl_with_an_error() -> None:
    def kill(connection: Connection) -> None:
        os.kill(int(min(children() - before)), signal.SIGKILL)
        connection.hang()

    before = children()
    with ScriptedServer() as server:
        server.script["/"] = kill
        with pytest.raises(ChildProcessError, match="ended too early"):
            crawl("processes", server.url, slots=2)
    assert children() == before


def test_a_process_that_cannot_start_is_named_with_what_to_do(
    monkeypatch: pytest.MonkeyPatch, tree: Running
) -> None:
    def refused(*_: object, **settings: object) -> None:
        raise BlockingIOError(errno.EAGAIN, f"no process with {settings}")

    monkeypatch.setattr(subprocess, "Popen", refused)
    with pytest.raises(JobError, match=r"starts no . processes: .*; raise ulimit -u"):
        crawl("processes", tree.url, slots=2)


@pytest.mark.skipif(sys.version_info < (3, 14), reason="has no subinterpreters")
def test_an_interpreter_without_memory_is_no_traceback(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tree: Running
) -> None:
    """Before it has its end of the socket, or before it exists."""
    from crawlers.variants import subinterpreters

    for error, words in (("MemoryError", ""), ("LookupError", r" \(LookupError: none\)")):
        with monkeypatch.context() as patched:  # 3.14 says nothing of a MemoryError
            patched.setattr(subinterpreters, "START", f"raise {error}('none')")
            with pytest.raises(ChildProcessError, match=rf"^interpreter \d+{words}.* has ended"):
                crawl("subinterpreters", tree.url, slots=2)

    def refused() -> None:
        raise subinterpreters.interpreters.InterpreterError("creation failed")

    monkeypatch.setattr(subinterpreters.interpreters, "create", refused)
    with pytest.raises(JobError, match=r"starts no \d+ subinterpreters: creation failed; raise"):
        crawl("subinterpreters", tree.url, slots=2)
    assert capfd.readouterr().err == ""


# --- loop_per_thread, with more threads than this machine may have processors ---

THREADS = 5
loops = pytest.mark.usefixtures("many")


@pytest.fixture
def many(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """So many threads, and none of them is left; another test's thread may still be ending."""
    monkeypatch.setattr(loop_per_thread, "processors", lambda: THREADS)
    before = set(threading.enumerate())
    yield
    assert set(threading.enumerate()) <= before


@loops
def test_many_loops_fetch_each_page_once(tree: Running) -> None:
    """With no more threads than slots."""
    for slots in (2, THREADS, 12, 50):
        report = crawl("loop_per_thread", tree.url, slots=slots)
        assert report.digest == tree.ready["digest"]
        assert report.mechanism["loops"] == min(slots, THREADS)
        assert report.mechanism["threads"] == min(slots, THREADS) + 1


@loops
def test_a_slot_wakes_those_of_other_loops() -> None:
    """The first page links to as many as there are slots, and no answer comes before all asked."""
    met = threading.Barrier(10, timeout=60)

    def answer(connection: Connection) -> None:
        met.wait()
        connection.send(page())

    with ScriptedServer() as server:
        link(server, *(paths := [f"/{number}" for number in range(10)]))
        server.script |= dict.fromkeys(paths, answer)
        report = crawl("loop_per_thread", server.url, slots=10, timeout_s=90.0)
    assert (report.errors, report.pages) == ({}, 11)


class Broken(NullRecorder):
    """Fails at the first answer."""

    def record(self, slot: int, due: float, started: float, ended: float) -> None:
        raise LookupError("no room")


@loops
def test_an_error_in_one_thread_ends_all_of_them(tree: Running) -> None:
    with pytest.raises(LookupError, match="no room"):
        loop_per_thread.crawl(Job((tree.url,), slots=20), Broken())


@loops
def test_a_thread_that_cannot_start_ends_the_crawl(
    monkeypatch: pytest.MonkeyPatch, tree: Running
) -> None:
    start, started = threading.Thread.start, list[threading.Thread]()

    def fail_at_third(thread: threading.Thread) -> None:
        if len(started) == 2:
            raise RuntimeError("can't start new thread")
        started.append(thread)
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", fail_at_third)
    with pytest.raises(JobError, match="no 5 threads"):
        crawl("loop_per_thread", tree.url, slots=20)
