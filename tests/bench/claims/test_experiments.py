"""The claims' experiments: what they count, not how fast they are."""

from __future__ import annotations

import asyncio
import shutil
import socket
import threading
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest
from rich.console import Console

from bench.claims import measure
from bench.claims.experiments import EXPERIMENTS, Served, coroutines, echo, today, waiting
from bench.claims.experiments.echo import Turn, lacking, serve_echo


def test_awaiting_a_coroutine_gives_the_loop_no_turn_and_a_task_does(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(coroutines, "AWAITS", 50)
    values = coroutines.awaiting().values
    assert values["coroutine_turns"] == 0
    assert (values["task_turns"] or 0) >= 1


def test_coroutines_lose_no_update_unless_an_await_lies_between() -> None:
    assert asyncio.run(coroutines.in_coroutines(await_between=False)) == 0
    assert asyncio.run(coroutines.in_coroutines(await_between=True)) > 0


def test_every_url_is_taken_once_by_one_worker_and_with_a_lock(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    urls = [str(number) for number in range(1000)]
    for make in (coroutines.calls, coroutines.statements, coroutines.locked):
        assert make()([*urls, *urls]) == len(urls)
    monkeypatch.setattr(coroutines, "THREADS_S", 0.05)
    assert coroutines.in_threads(coroutines.locked) == 0


def test_the_ceiling_says_what_stopped_it(monkeypatch: pytest.MonkeyPatch) -> None:
    class NoMore:
        def __init__(self, **_: object) -> None: ...

        def start(self) -> None:
            raise RuntimeError("can't start new thread")

    monkeypatch.setattr(waiting, "Thread", NoMore)
    result = waiting.thread_ceiling()
    assert result.values["started"] == 0
    assert result.values["failed"] == 100
    assert "can't start new thread after 0 threads; no limit known" in str(result.facts["note"])


def test_a_missing_way_of_waiting_is_null_with_its_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "SELECT_MOST", 20)
    monkeypatch.setattr(waiting, "MANY", 30)
    monkeypatch.setattr(waiting, "BATCH_S", 0.001)
    monkeypatch.setitem(waiting.KINDS, "epoll", "NoSuchSelector")
    result = waiting.readiness()
    assert result.values["poll_growth"] is not None
    assert result.values["poll_over_epoll"] is None
    assert "no epoll" in result.reasons["poll_over_epoll"]


def test_spinning_asks_more_than_once_and_select_sleeps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "WAIT_S", 0.1)
    result = waiting.spinning_connect()
    spin, slept = result.values["spin_share"], result.values["select_share"]
    if spin is None or slept is None:
        assert set(result.reasons) == {"spin_share", "select_share"}
    else:
        assert spin > 2 * slept


def test_measurements_are_appended_with_their_environment(tmp_path: Path) -> None:
    assert measure.choose(None) == list(EXPERIMENTS)
    chosen = measure.choose(["bytecode", "awaiting"])
    for _ in range(2):
        measure.run(tmp_path, chosen, 2, Console(quiet=True))
    lines = measure.load(tmp_path)
    assert [line.kind for line in lines] == ["run", *["measurement"] * 3] * 2
    assert len(measure.latest(lines, "bytecode")) == 1, "it cannot vary"
    assert len({line.run for line in lines}) == 2
    last, _ = measure.latest(lines, "awaiting")
    assert last.values["coroutine_turns"] == 0
    assert measure.runs(lines)[0].environment.python


def test_a_failed_experiment_is_recorded_as_such(monkeypatch: pytest.MonkeyPatch) -> None:
    found = measure.measure("nonesuch", [], "run", 0)
    assert found.values == {}
    assert "name one experiment" in found.reasons["experiment"]


def test_an_echo_server_is_measured_by_its_own_processor_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kinds = ("asyncio_streams", "asyncio_protocol", "asyncio_sockets", "pytask_streams")
    ratios = {"streams": kinds[:2], "future": ("asyncio_streams", "rloop_nonesuch")}
    monkeypatch.setattr(echo, "KINDS", kinds)
    monkeypatch.setattr(echo, "RATIOS", ratios)
    monkeypatch.setattr(echo, "ROUNDS", 20)
    monkeypatch.setattr(echo, "TURNS", 1)
    missing = "rloop is not installed"
    monkeypatch.setattr(echo, "lacking", lambda kind: missing if kind.startswith("rloop") else None)
    result = echo.echo()
    for kind in kinds:
        assert (result.values[f"{kind}_us"] or 0) > 0
    assert (result.values["streams"] or 0) > 0
    assert result.values["future"] is None
    assert result.reasons["future"] == missing


@pytest.fixture(scope="module")
def send(tmp_path_factory: pytest.TempPathFactory) -> Turn:
    found = echo.built(tmp_path_factory.mktemp("echo"))
    if found is None:
        pytest.skip("no C compiler here")
    return found


@pytest.mark.parametrize("kind", [kind for kind in echo.KINDS if lacking(kind) is None])
def test_every_echo_server_sends_back_what_it_gets(kind: str, send: Turn) -> None:
    with ExitStack() as stack:
        server = stack.enter_context(Served(serve_echo, kind))
        client = echo.Client(server, send, stack)
        client.turn(50)
        spent = client.turn(200)
        assert spent.cpu_s > 0
        assert echo.busy_share([spent]) <= 1


class Peer(threading.Thread):
    """Answers what it gets with what ``change`` makes of it, and hangs up when that is empty."""

    def __init__(self, sock: socket.socket, change: Callable[[bytes], bytes]) -> None:
        super().__init__(daemon=True)
        self.sock, self.change = sock, change
        self.start()

    def run(self) -> None:
        with self.sock:
            while data := self.sock.recv(65536):
                if not (answer := self.change(data)):
                    return
                self.sock.sendall(answer)


CHANGES: dict[str, tuple[Callable[[bytes], bytes], type[OSError], str]] = {
    "wrong": (lambda data: data.upper(), ConnectionError, "no echo"),
    "silent": (lambda data: data[:1], TimeoutError, "does not answer"),
    "gone": (lambda data: b"", ConnectionError, "hung up"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_no_echo_is_an_error(change: str, send: Turn) -> None:
    answer, error, words = CHANGES[change]
    ours, theirs = socket.socketpair()
    patience_s = 0.3 if change == "silent" else 60.0
    with ours:
        ours.settimeout(patience_s)
        Peer(theirs, answer)
        with pytest.raises(error, match=words):
            send([ours], 2, b"x" * 999 + b"\n", patience_s)


@pytest.mark.parametrize("compiler", [None, "/bin/false"])
def test_without_a_compiler_no_echo_is_measured_and_the_reason_is_said(
    monkeypatch: pytest.MonkeyPatch, compiler: str | None
) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: compiler)
    result = echo.echo()
    assert set(result.values) == set(echo.RATIOS)
    assert "no C compiler" in result.reasons["uvloop_streams"]


def test_await_and_yield_from_differ_in_the_getter_alone() -> None:
    values = coroutines.bytecode().values
    assert values["differing_otherwise"] == 0
    assert (values["differing_getters"] or 0) >= 9


def test_a_suspended_coroutine_holds_memory_and_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coroutines, "COUNT", 5_000)
    monkeypatch.setattr(coroutines, "MANY", 6_000)
    values = coroutines.coroutines().values
    assert values["suspended_at_once"] == 6_000
    assert len(coroutines.chapter()) == 5_000
    # In this process the allocator may have had the memory before, so only the far end is sure.
    for name in ("chapter_kib", "task_kib"):
        assert (values[name] or 0) < 10


def test_httpx_and_aiohttp_fetch_what_the_issue_fetches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(today, "ROUNDS", 1)
    # Few at a time: httpx gives up after 5 s by default, and a busy machine is slow.
    monkeypatch.setattr(today, "REQUESTS", 4)
    monkeypatch.setattr(today, "CONCURRENCY", 2)
    result = today.http_clients()
    assert result.reasons or (result.values["httpx_over_aiohttp"] or 0) > 0


def test_what_a_newer_cpython_promises_is_measured_there(monkeypatch: pytest.MonkeyPatch) -> None:
    interpreter = today.newest()
    if interpreter is None:
        pytest.skip("no CPython from 3.12 on")
    result = today.releases()
    assert (result.values["eager_tasks"] or 0) > 0
    assert (result.values["current_task"] or 0) > 0
    assert interpreter.name in str(result.facts["note"])


@pytest.mark.parametrize(
    ("in_use", "words"),
    [
        ({"max_map_count": 65532, "pid_max": 22000}, "vm.max_map_count: 65,532 of 65,530 in use"),
        ({"max_map_count": 40000, "pid_max": 32700}, "kernel.pid_max: 32,700 of 32,768 in use"),
        ({"max_map_count": 100}, "no limit known here"),
    ],
)
def test_the_limit_that_was_hit_has_a_name(in_use: dict[str, int], words: str) -> None:
    limits = {"threads_max": 192730, "pid_max": 32768, "max_map_count": 65530}
    assert words in waiting.hit(limits, in_use)
