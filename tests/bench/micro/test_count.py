"""Counting: every call in every thread, with starts and resumes apart."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import Callable, Generator
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from bench.micro.count import RESUMES, STARTS, Calls

HERE = f"{__name__}:"


def called() -> None:
    """What is counted."""


def numbers(count: int) -> Generator[int, None, None]:
    yield from range(count)


def delegate(count: int) -> Generator[int, None, None]:
    yield from numbers(count)


async def waits(times: int) -> None:
    for _ in range(times):
        await asyncio.sleep(0)


def counted(function: Callable[[], Any]) -> Counter[str]:
    with Calls() as calls:
        function()
    return calls.named()


@given(st.integers(0, 50))
def test_every_call_is_counted(times: int) -> None:
    def work() -> None:
        for _ in range(times):
            called()

    found = counted(work)
    assert found[f"{HERE}called"] == times


def test_methods_written_in_c_have_their_type_in_the_name() -> None:
    items: list[int] = []
    lock = threading.Lock()

    def work() -> None:
        for number in range(7):
            items.append(number)
        lock.acquire()

    found = counted(work)
    assert found["list.append"] == 7
    assert found["lock.acquire"] == 1


@given(st.integers(0, 20))
def test_a_generator_starts_once_and_goes_on_as_often_as_it_has_yielded(count: int) -> None:
    found = counted(lambda: list(delegate(count)))
    for name in ("numbers", "delegate"):
        assert found[f"{HERE}{name}{STARTS}"] == 1
        assert found[f"{HERE}{name}{RESUMES}"] == count


def test_steps_of_tasks_written_in_c_show_in_their_coroutines() -> None:
    found = counted(lambda: asyncio.run(waits(5)))
    assert found[f"{HERE}waits{STARTS}"] == 1
    assert found[f"{HERE}waits{RESUMES}"] == 5


def test_code_of_no_module_is_counted_too() -> None:
    """attrs and typing execute code whose globals have no name, and httpx uses them."""
    space: dict[str, Any] = {"__builtins__": {}}
    exec("def nameless(): pass", space)
    assert counted(space["nameless"])["?:nameless"] == 1


def test_no_call_of_any_thread_is_lost() -> None:
    def many() -> None:
        for _ in range(2000):
            called()

    def work() -> None:
        threads = [threading.Thread(target=many) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    assert counted(work)[f"{HERE}called"] == 16000


def test_nothing_is_counted_afterwards() -> None:
    with Calls() as calls:
        pass
    called()
    thread = threading.Thread(target=called)
    thread.start()
    thread.join()
    assert f"{HERE}called" not in calls.named()
