"""The claims' experiments: what they count, not how fast they are."""

from __future__ import annotations

import asyncio
import json
import shutil
import socket
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
from rich.console import Console

from bench.claims.experiments import EXPERIMENTS, chapter, coroutines, echo, stack_ripping, waiting
from bench.claims.experiments.echo import EchoTurn
from bench.claims.verdict import STUDY, latest
from bench.cli.studies import claims
from bench.study import runner
from crawlers.registry import MODELS

SMALL: dict[ModuleType, dict[str, float]] = {
    coroutines: {"AWAITS": 50, "THREADS_S": 0.05, "COUNT": 5_000, "MANY": 6_000},
    waiting: {"SELECT_MOST": 20, "MANY": 30, "BATCH_S": 0.001},
    echo: {"ROUNDS": 20, "TURNS": 1},
    chapter: {"SLEEPS": 20, "RESUMES": 500},
}


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is counted does not depend on how often it is tried."""
    for module, sizes in SMALL.items():
        for name, size in sizes.items():
            monkeypatch.setattr(module, name, size)


def test_awaiting_a_coroutine_gives_the_loop_no_turn_and_a_task_does() -> None:
    values = coroutines.awaiting().values
    assert values["coroutine_turns"] == 0
    assert (values["task_turns"] or 0) >= 1


def test_coroutines_lose_no_update_unless_an_await_lies_between() -> None:
    assert asyncio.run(coroutines.in_coroutines(await_between=False)) == 0
    assert asyncio.run(coroutines.in_coroutines(await_between=True)) > 0


def test_with_a_lock_threads_take_every_url_once() -> None:
    assert coroutines.in_threads(threading.Lock()) == 0


def test_the_ceiling_says_what_stopped_it(monkeypatch: pytest.MonkeyPatch) -> None:
    class NoMore:
        def __init__(self, **_: object) -> None: ...

        def start(self) -> None:
            raise RuntimeError("can't start new thread")

    monkeypatch.setattr(waiting, "Thread", NoMore)
    result = waiting.thread_ceiling()
    assert result.values["started"] == 0
    assert result.values["failed"] == 100
    assert "can't start new thread after 0 threads" in str(result.facts["note"])


def test_a_missing_way_of_waiting_is_null_with_its_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(waiting.KINDS, "epoll", "NoSuchSelector")
    result = waiting.readiness()
    assert result.values["poll_growth"] is not None
    assert result.values["poll_over_epoll"] is None
    assert "no epoll" in result.reasons["poll_over_epoll"]


def test_experiments_are_appended_and_the_last_run_of_each_counts(tmp_path: Path) -> None:
    assert [each.name for each in claims.programs(None)] == list(EXPERIMENTS)
    for names in (["bytecode", "awaiting"], ["awaiting"]):
        asked = claims.programs(names)
        assert runner.run(STUDY, tmp_path, asked, 2, Console(quiet=True))
    found = STUDY.runs(tmp_path)
    assert [len(run.samples) for run in found] == [3, 2], "bytecode cannot vary"
    assert latest(found, "bytecode") is found[0]
    assert latest(found, "awaiting") is found[1]
    assert latest(found, "echo") is None
    assert found[1].by_program()["awaiting"][1].values["coroutine_turns"] == 0


def test_a_failed_experiment_is_lost_with_its_reason() -> None:
    with pytest.raises(runner.Lost, match="name one experiment"):
        claims.measure("nonesuch", 0)


@pytest.fixture(scope="module")
def send(tmp_path_factory: pytest.TempPathFactory) -> EchoTurn:
    found = echo.built(tmp_path_factory.mktemp("echo"))
    if found is None:
        pytest.skip("no C compiler here")
    return found


@pytest.mark.usefixtures("send")
def test_each_echo_server_is_measured_by_its_own_processor_time() -> None:
    result = echo.echo()
    assert set(result.reasons.values()) <= {"uvloop is not installed"}
    assert all((value or 0) > 0 for value in result.values.values() if not result.reasons)


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
def test_no_echo_is_an_error(change: str, send: EchoTurn) -> None:
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
    assert set(result.values) == {"uvloop_streams", "uvloop_protocol", "uvloop_sockets"}
    assert "no C compiler" in result.reasons["uvloop_streams"]


def test_await_and_yield_from_differ_in_the_getter_alone() -> None:
    values = coroutines.bytecode().values
    assert values["differing_otherwise"] == 0
    assert (values["differing_getters"] or 0) >= 9


def test_a_suspended_coroutine_holds_memory_and_ends() -> None:
    values = coroutines.coroutines().values
    assert values["suspended_at_once"] == 6_000
    assert len(coroutines.chapter()) == 5_000
    # In this process the allocator may have had the memory before, so only the far end is sure.
    assert (values["chapter_kib"] or 0) < 10


def test_spinning_takes_far_more_of_a_processor_than_select() -> None:
    values = chapter.spinning().values
    assert (values["spin_share"] or 0) > 5 * (values["select_share"] or 0)
    left = [thread.name for thread in threading.enumerate() if "answer_late" in thread.name]
    assert not left, "it accepted once more, and failed within the next test"


def test_a_sleep_of_asyncio_is_not_early() -> None:
    result = chapter.sleeping()
    assert result.values["asyncio_early"] == 0
    assert "asyncio" not in str(result.facts["note"])


def test_each_await_up_a_stack_costs() -> None:
    assert chapter.resume_ns(200) > 3 * chapter.resume_ns(0)


def test_this_interpreter_is_not_the_chapters() -> None:
    """In a fresh process: it changes the limit of recursion and the size of stacks."""
    values = claims.measure("interpreter", 0).values
    assert values["nested_calls"] == chapter.CALLS
    assert values["coroutine_decorator"] == 0
    assert values["lasti_at_start"] != -1
    assert values["lasti_in_yield_from"] == 1


def test_the_steps_are_measured_as_the_command_judges_them(monkeypatch: pytest.MonkeyPatch) -> None:
    printed = json.dumps({"spin": {"ms": 7.0, "kib": None}, "countdown": {}})
    done = subprocess.CompletedProcess([], 0, printed, "")
    monkeypatch.setattr(chapter, "run_module", lambda *_, **__: done)
    assert chapter.steps().values == {"spin_ms": 7.0}


def test_callbacks_lose_the_callers_and_the_others_keep_them() -> None:
    ripped = stack_ripping.rip_all()
    assert [run.model for run in ripped] == list(MODELS)
    left = {run.model: [frame.function for frame in run.frames if frame.knows] for run in ripped}
    assert left.pop("callbacks") == ["receive"]
    assert all(functions == ["work", "fetch"] for functions in left.values())
    assert [run.callers for run in ripped] == [1, 0, 1, 1]


def test_only_callbacks_need_a_handler_in_every_step() -> None:
    ends = {model: stack_ripping.handlers(model) for model in MODELS}
    assert {"connected", "fetch", "send", "receive"} < set(ends.pop("callbacks"))
    assert all(names == ["fetch"] for names in ends.values())
