"""Counting: every call in every thread."""

from __future__ import annotations

import threading
from collections.abc import Generator
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from bench.micro.count import counted

HERE = f"{__name__}:"


def called() -> None:
    """What is counted."""


def numbers(count: int) -> Generator[int, None, None]:
    yield from range(count)


@given(st.integers(0, 50))
def test_every_call_and_every_resume_is_counted(times: int) -> None:
    def work() -> None:
        for _ in numbers(times):
            called()

    found = counted(work)
    assert found[f"{HERE}called"] == times
    assert found[f"{HERE}numbers"] == times + 1


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
