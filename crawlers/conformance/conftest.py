"""Chooses the backends, and checks what each test leaves behind."""

from __future__ import annotations

import gc
import os
import socket
import threading
import time
from collections import Counter
from collections.abc import Collection, Generator, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from crawlers import registry
from crawlers.conformance.scripted import Greeting, ScriptedServer
from crawlers.job import Job
from crawlers.recorder import NullRecorder
from crawlers.registry import Backend, BackendError

if TYPE_CHECKING:
    from crawlers.conformance.authority import Authority


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add ``--backend``."""
    parser.addoption(
        "--backend",
        action="append",
        default=[],
        metavar="NAME",
        help="conformance: test this backend (can be repeated; default: all)",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Register the marks: that of pytest-timeout, which is useful but optional, and ours."""
    config.addinivalue_line("markers", "timeout(seconds): end the test after so long")
    config.addinivalue_line("markers", "slow: left out of short runs")
    try:
        names, _ = _names(config)
        alone = len(names) == 1 and registry.about(names[0]).alone
    except registry.UnknownError as error:
        raise pytest.UsageError(f"--backend: {error}") from None
    if any("aiofastnet" in name for name in names):
        # Its transports refuse to be looked at from another thread, and the garbage collector
        # finishes a StreamWriter in whichever thread it runs.
        wrong = "ignore:(?s).*called from a wrong thread:pytest.PytestUnraisableExceptionWarning"
        config.addinivalue_line("filterwarnings", wrong)
    if alone:
        with suppress(BackendError):  # the fixture says why
            registry.load(names[0])  # before any test module takes what it replaces


def _names(config: pytest.Config) -> tuple[list[str], list[str]]:
    """The backends to test here, and those that need a process of their own."""
    names = config.getoption("--backend") or registry.names()
    alone = [name for name in names if len(names) > 1 and registry.about(name).alone]
    return [name for name in names if name not in alone], alone


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Skip test_alone when no backend needs a process of its own."""
    return True if collection_path.name == "test_alone.py" and not _names(config)[1] else None


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One test per backend."""
    here, alone = _names(metafunc.config)
    if "backend" in metafunc.fixturenames:
        metafunc.parametrize("backend", here, indirect=True)
    if "server" in metafunc.fixturenames:
        slow = () if metafunc.function.__name__ in QUICK_OVER_TLS else pytest.mark.slow
        metafunc.parametrize("server", ["plain", pytest.param("tls", marks=slow)], indirect=True)
    if "alone" in metafunc.fixturenames:
        metafunc.parametrize("alone", alone)


@pytest.fixture
def backend(request: pytest.FixtureRequest) -> Backend:
    """The backend under test; skipped, with the reason, if it cannot run here.

    A test in the backend's ``differs`` is expected to fail; passing it is an error, unless the
    reason begins with "at times": then a race decides.
    """
    chosen = request.config.getoption("--backend")
    try:
        found = registry.load(request.param)
    except BackendError as error:
        if chosen:
            pytest.fail(str(error), pytrace=False)
        pytest.skip(str(error))
    test = request.function.__name__
    case = request.node.name.replace(f"[{found.name}-", "[")  # one case of a test
    if reason := found.differs.get(test) or found.differs.get(case):
        request.applymarker(
            pytest.mark.xfail(reason=reason, strict=not reason.startswith("at times "))
        )
    _use_once(found)
    return found


_used: set[str] = set()


def _use_once(backend: Backend) -> None:
    """Let a library open what it keeps as long as the process lives (uvloop: a pipe).

    The collector then leaves alone what there is, most of it pytest's: it runs after most tests.
    """
    if backend.name not in _used:
        _used.add(backend.name)
        with ScriptedServer() as server:
            backend.crawl(Job((server.url,), slots=1), NullRecorder())
        gc.collect()
        gc.freeze()


QUICK_OVER_TLS = (
    "test_a_site_is_crawled_once",
    "test_bodies_of_every_framing",
    "test_keep_alive_reuses_and_close_does_not",
    "test_bytes_that_no_request_asked_for_are_no_answer",
)
"""Tests that short runs repeat over TLS; long runs repeat all that have a server."""


@pytest.fixture(scope="session")
def trusted(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    """Signs the certificates of the servers."""
    pytest.importorskip("trustme", reason="TLS needs certificates: pip install trustme")
    from crawlers.conformance.authority import Authority

    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture
def server(request: pytest.FixtureRequest, backend: Backend) -> Iterator[ScriptedServer]:
    """A server that follows the test's script, over plain HTTP or TLS."""
    greeting: Greeting | None = None
    cafile = None
    if request.param == "tls":
        if backend.no_https is not None:
            pytest.skip(f"no https: {backend.no_https}")
        trusted: Authority = request.getfixturevalue("trusted")
        greeting, cafile = trusted.greeting, trusted.cafile
    with ScriptedServer(greeting, cafile) as running:
        yield running


ENDING_S, CLOSING_S, FAILED_S = 60.0, 5.0, 1.0
"""How long a test waits for leftovers: threads and children on a busy machine, descriptors alone,
and anything of a backend that has failed. Waiting long after each test would look like a hang."""

SILENT_S = 3.0
"""After so long it says what it waits for."""

_failed: set[str] = set()
"""The backends of which a test has failed."""

_tried: dict[str, tuple[str, bool]] = {}
"""Test -> its kind, and whether it or what it left behind has failed."""

GIVE_UP = 10
"""After so many failures, if most of what was tried has failed, the suite stops."""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Function,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Note what failed, in the test itself or by what it left behind; stop where most does.

    It does not stop where several backends are tested, or with pytest's --maxfail.
    """
    report = yield
    if report.failed and hasattr(item, "callspec"):
        _failed.add(str(item.callspec.params.get("backend")))
    if report.failed or (report.passed and report.when == "call"):
        _tried[item.nodeid] = item.module.__name__.rpartition("_")[2], report.failed
    failures = sum(failed for _, failed in _tried.values())
    several = len(item.config.getoption("--backend")) != 1 or item.config.getoption("maxfail")
    if failures >= max(GIVE_UP, len(_tried) / 2) and not several:
        item.session.shouldfail = "most of it fails; --maxfail 999 runs the rest"
    return report


def pytest_sessionfinish() -> None:
    """Let other plugins see all objects again: Hypothesis asks who refers to one of trio's."""
    gc.unfreeze()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say in one line which kinds of tests fail."""
    tried = Counter(kind for kind, _ in _tried.values())
    failures = Counter(kind for kind, failed in _tried.values() if failed)
    if failures:
        said = ", ".join(f"{kind} {failed} of {tried[kind]}" for kind, failed in failures.items())
        passed = ", ".join(kind for kind in tried if kind not in failures) or "none"
        terminalreporter.write_line(f"fails: {said}; passes: {passed}. First look at one: -x")


@pytest.fixture
def nothing_left(request: pytest.FixtureRequest, backend: Backend) -> Iterator[None]:
    """Descriptors, threads and children must be the same after the test as before."""
    before = Resources.now()
    yield
    gc.collect()
    began, silent = time.monotonic(), True
    while left := Resources.now().beyond(before):
        patience_s = ENDING_S if left.ending else CLOSING_S
        if backend.name in _failed:
            patience_s = FAILED_S
        waited_s = time.monotonic() - began
        if waited_s > patience_s:
            break
        reporter = request.config.pluginmanager.get_plugin("terminalreporter")
        if silent and waited_s > SILENT_S and reporter is not None:
            silent = False
            reporter.write_line(f"{request.node.name}: waiting {patience_s:g} s for {left}")
        time.sleep(0.01)  # a thread that has ended may still be listed
    assert not left, f"left behind: {left}"


@dataclass(frozen=True)
class Resources:
    """What a process holds: descriptors by number, threads by name, children by id."""

    descriptors: Mapping[int, str]
    threads: Counter[str]
    children: Collection[str]

    @classmethod
    def now(cls) -> Resources:
        """What this process holds; without /proc, its threads only."""
        descriptors = {}
        for link in Path("/proc/self/fd").glob("*"):
            with suppress(OSError):  # the one that lists the others is closed by now
                descriptors[int(link.name)] = os.readlink(link)
        children = Path(f"/proc/self/task/{os.getpid()}/children")
        return cls(
            descriptors,
            Counter(thread.name for thread in threading.enumerate()),
            children.read_text().split() if children.exists() else (),
        )

    def beyond(self, before: Resources) -> Resources:
        """What is here and was not before, if there are more: one may replace another."""
        more = len(self.descriptors) > len(before.descriptors)
        opened = self.descriptors.items() - before.descriptors.items() if more else ()
        born = len(self.children) > len(before.children)
        children = set(self.children) - set(before.children) if born else ()
        return Resources(dict(opened), self.threads - before.threads, children)

    def __bool__(self) -> bool:
        return bool(self.descriptors or self.threads or self.children)

    @property
    def ending(self) -> bool:
        """Whether something is left that may still end, and close descriptors when it does."""
        return bool(self.threads or self.children)

    def __str__(self) -> str:
        return ", ".join(
            [
                *(f"descriptor {n} ({_kind(n, leads)})" for n, leads in self.descriptors.items()),
                *(f"{count} × thread {name}" for name, count in self.threads.items()),
                *(f"child process {pid}" for pid in self.children),
            ]
        )


def _kind(number: int, leads: str) -> str:
    """Where a descriptor leads: a file, a pipe, or a socket with its two addresses."""
    if not leads.startswith("socket:"):
        return leads
    with suppress(OSError), socket.socket(fileno=os.dup(number)) as sock:
        found = f"{socket.AddressFamily(sock.family).name} socket {sock.getsockname()!r}"
        with suppress(OSError):  # not connected
            found += f" to {sock.getpeername()!r}"
        return found
    return leads
