"""Threads: locks, queues, and the cost of switching to another thread."""

from __future__ import annotations

import queue
import resource
import socket
import threading
import time
from collections.abc import Callable
from typing import Any

from pytest_benchmark.fixture import BenchmarkFixture

from bench.micro.conftest import SLOTS, Measure
from crawlers.job import Address
from crawlers.sockets import new_socket

MANY = 1000
FEW = 200
"""Operations per batch where threads wait for one another: each takes microseconds."""


def test_hand_off(measure: Measure, benchmark: BenchmarkFixture) -> None:
    """Wake a thread, and wait until it has woken this one.

    Keeps the number of voluntary context switches too, because a crawl can count
    those as well.
    """
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
    before = resource.getrusage(resource.RUSAGE_SELF).ru_nvcsw
    measure(batch, FEW)
    switches = resource.getrusage(resource.RUSAGE_SELF).ru_nvcsw - before
    over = True
    ping.release()
    other.join()
    if benchmark.stats is not None:  # None with --benchmark-disable
        batches = benchmark.stats.stats.rounds + 1  # and the warm-up
        benchmark.extra_info["switches_per_operation"] = switches / (batches * FEW)


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


def test_queue_put_and_get(measure: Measure) -> None:
    """Put and get an item without waiting."""
    items: queue.Queue[None] = queue.Queue()

    def batch() -> None:
        for _ in range(MANY):
            items.put(None)
            items.get()

    measure(batch, MANY)


def test_queue_to_a_waiting_getter(measure: Measure) -> None:
    """Put an item that another thread is waiting for."""
    items: queue.Queue[bool] = queue.Queue()
    answers: queue.Queue[None] = queue.Queue()

    def get() -> None:
        while items.get():
            answers.put(None)

    def batch() -> None:
        for _ in range(FEW // 2):
            items.put(True)
            answers.get()

    other = threading.Thread(target=get)
    other.start()
    measure(batch, FEW)
    items.put(False)
    other.join()


def test_timer_set_and_cancel(measure: Measure) -> None:
    """Set a ``threading.Timer``, which is a thread, and cancel it."""

    def batch() -> None:
        timers = [threading.Timer(10.0, print) for _ in range(20)]
        for timer in timers:
            timer.start()
        for timer in timers:
            timer.cancel()
        for timer in timers:
            timer.join()

    measure(batch, 20)


def test_connect_and_close(
    measure: Measure, listener: socket.socket, accept_all: Callable[..., Any]
) -> None:
    """Open a blocking connection and close it."""
    address = Address(listener.family, listener.getsockname())

    def batch(_: object) -> None:
        for _ in range(SLOTS):
            with new_socket(address) as sock:
                sock.connect(address.sockaddr)

    measure(batch, SLOTS, setup=lambda: None, teardown=accept_all, rounds=10)
