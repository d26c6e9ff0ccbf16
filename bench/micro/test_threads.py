"""Threads: locks, and the cost of switching to another thread."""

from __future__ import annotations

import threading
import time

from bench.micro.conftest import MANY, Measure

FEW = 200
"""Operations per batch where threads wait for one another: each takes microseconds."""


def test_hand_off(measure: Measure) -> None:
    """Wake a thread, and wait until it has woken this one."""
    ping, pong = threading.Lock(), threading.Lock()
    over = False

    def answer() -> None:
        while not over:
            ping.acquire()
            pong.release()

    def batch() -> None:
        for _ in range(FEW // 2):
            ping.release()
            pong.acquire()

    ping.acquire()
    pong.acquire()
    other = threading.Thread(target=answer)
    other.start()
    measure(batch, FEW)
    over = True
    ping.release()
    other.join()


def test_start_and_join(measure: Measure) -> None:
    """Start a thread that does nothing, and join it."""

    def batch() -> None:
        for _ in range(20):
            thread = threading.Thread(target=int)
            thread.start()
            thread.join()

    measure(batch, 20)


def test_lock_uncontended(measure: Measure) -> None:
    """Acquire a free condition, and release it."""
    changed = threading.Condition()

    def batch() -> None:
        for _ in range(MANY):
            with changed:
                pass

    measure(batch, MANY)


def test_lock_contended(measure: Measure) -> None:
    """Acquire a lock that another thread holds; the holder yields the processor each time."""
    lock = threading.Lock()

    def take() -> None:
        for _ in range(FEW // 2):
            with lock:
                time.sleep(0)  # releases the interpreter lock while holding the other lock

    def batch() -> None:
        other = threading.Thread(target=take)
        other.start()
        take()
        other.join()

    measure(batch, FEW)
