"""asyncio's loop, Tasks and Futures (in C), and its streams."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Coroutine, Generator, Iterator
from types import coroutine
from typing import Any

import pytest

from bench.micro.conftest import SLOTS, Measure, Pair
from bench.micro.test_sockets import ANSWER, REQUEST
from crawlers.http import RECV_SIZE

TURNS = 20
MANY = 1000


@pytest.fixture
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    """asyncio's own loop, as ``asyncio.run`` makes it."""
    with asyncio.Runner() as runner:
        yield runner.get_loop()


def nothing() -> None:
    """A callback that does nothing."""


def turn(loop: asyncio.AbstractEventLoop, turns: int, each: Callable[[], object] = nothing) -> None:
    """Run the loop for this many iterations, calling ``each`` in every one."""
    left = turns

    def again() -> None:
        nonlocal left
        each()
        left -= 1
        if left:
            loop.call_soon(again)
        else:
            loop.stop()

    loop.call_soon(again)
    loop.run_forever()


def test_loop_turn(measure: Measure, loop: asyncio.AbstractEventLoop) -> None:
    """One loop iteration: calls one callback, and polls the kernel once."""
    measure(lambda: turn(loop, MANY), MANY)


def test_callback_dispatch(measure: Measure, loop: asyncio.AbstractEventLoop) -> None:
    """Schedule a callback with ``call_soon``, and run it."""

    def batch() -> None:
        for _ in range(MANY):
            loop.call_soon(nothing)
        loop.call_soon(loop.stop)
        loop.run_forever()

    measure(batch, MANY)


def test_ready_socket(measure: Measure, loop: asyncio.AbstractEventLoop, pairs: list[Pair]) -> None:
    """Notice that a socket is ready, and run its callback."""
    for near, far in pairs:
        loop.add_reader(near, nothing)
        far.send(b"!")
    measure(lambda: turn(loop, TURNS), SLOTS * TURNS)
    for near, _ in pairs:
        loop.remove_reader(near)


def test_future_resolve(measure: Measure, loop: asyncio.AbstractEventLoop) -> None:
    """Create a Future, add a callback, resolve it, run the callback."""

    def called(future: asyncio.Future[None]) -> None:
        pass

    def batch() -> None:
        for _ in range(MANY):
            future: asyncio.Future[None] = loop.create_future()
            future.add_done_callback(called)
            future.set_result(None)
        loop.call_soon(loop.stop)
        loop.run_forever()

    measure(batch, MANY)


def test_task_switch(measure: Measure, loop: asyncio.AbstractEventLoop) -> None:
    """Resolve the Future that a Task waits for; the Task runs until it waits for another."""
    waiting: list[asyncio.Future[None]] = []

    async def wait() -> None:
        while True:
            future: asyncio.Future[None] = loop.create_future()
            waiting.append(future)
            await future

    def resolve() -> None:
        ready = waiting[:]
        waiting.clear()
        for future in ready:
            future.set_result(None)

    tasks = [loop.create_task(wait()) for _ in range(SLOTS)]
    turn(loop, 2)
    measure(lambda: turn(loop, TURNS, resolve), SLOTS * TURNS)
    for task in tasks:
        task.cancel()


async def returns() -> None:
    """A coroutine that never waits."""


def test_await_coroutine(measure: Measure, loop: asyncio.AbstractEventLoop) -> None:
    """Await a coroutine that does not wait."""

    async def drive() -> None:
        for _ in range(MANY):
            await returns()

    measure(lambda: loop.run_until_complete(drive()), MANY)


def test_await_task(measure: Measure, loop: asyncio.AbstractEventLoop) -> None:
    """The same coroutine, as a Task of its own."""

    async def drive() -> None:
        for _ in range(MANY):
            await loop.create_task(returns())

    measure(lambda: loop.run_until_complete(drive()), MANY)


@coroutine
def pause() -> Generator[None, None, None]:
    """Suspend again and again."""
    while True:
        yield


async def chain(depth: int) -> None:
    """Coroutines that await one another, ``depth`` levels deep."""
    if depth > 1:
        await chain(depth - 1)
    await pause()


@pytest.mark.parametrize("depth", [1, 10, 100])
def test_resume_at_depth(measure: Measure, depth: int) -> None:
    """Resume a coroutine that is suspended ``depth`` levels of ``await`` deep."""
    waiting: Coroutine[Any, Any, None] = chain(depth)
    waiting.send(None)

    def batch() -> None:
        for _ in range(MANY):
            waiting.send(None)

    measure(batch, MANY)
    waiting.close()


def test_lock_uncontended(measure: Measure, loop: asyncio.AbstractEventLoop) -> None:
    """Acquire a free lock, and release it."""
    lock = asyncio.Lock()

    async def drive() -> None:
        for _ in range(MANY):
            async with lock:
                pass

    measure(lambda: loop.run_until_complete(drive()), MANY)


def test_lock_contended(measure: Measure, loop: asyncio.AbstractEventLoop) -> None:
    """Acquire a lock that another task holds, and pass it on: one task switch each time."""
    lock = asyncio.Lock()

    async def take() -> None:
        for _ in range(MANY // 2):
            async with lock:
                await asyncio.sleep(0)

    async def both() -> None:
        await asyncio.gather(take(), take())

    measure(lambda: loop.run_until_complete(both()), MANY)


def test_queue_put_and_get(measure: Measure, loop: asyncio.AbstractEventLoop) -> None:
    """Put and get an item without waiting."""
    queue: asyncio.Queue[None] = asyncio.Queue()

    async def drive() -> None:
        for _ in range(MANY):
            await queue.put(None)
            await queue.get()

    measure(lambda: loop.run_until_complete(drive()), MANY)


def test_queue_to_a_waiting_getter(measure: Measure, loop: asyncio.AbstractEventLoop) -> None:
    """Put an item that another task is waiting for."""
    queue: asyncio.Queue[None] = asyncio.Queue()
    answers: asyncio.Queue[None] = asyncio.Queue()

    async def get() -> None:
        for _ in range(MANY // 2):
            await queue.get()
            await answers.put(None)

    async def put() -> None:
        getter = loop.create_task(get())
        for _ in range(MANY // 2):
            await queue.put(None)
            await answers.get()
        await getter

    measure(lambda: loop.run_until_complete(put()), MANY)


def test_timer_set_and_fire(measure: Measure, loop: asyncio.AbstractEventLoop) -> None:
    """Set a timer that is already due, and run it."""

    def batch() -> None:
        now = loop.time()
        for _ in range(MANY):
            loop.call_at(now, nothing)
        loop.call_at(now, loop.stop)
        loop.run_forever()

    measure(batch, MANY)


def test_timer_set_and_cancel(measure: Measure, loop: asyncio.AbstractEventLoop) -> None:
    """Set a timer and cancel it, like every timeout that does not expire."""

    def batch() -> None:
        for _ in range(MANY):
            loop.call_later(10.0, nothing).cancel()
        turn(loop, 1)  # here the loop drops them

    measure(batch, MANY)


class Wire(socket.socket):
    """A connected socket whose ``send`` leaves the kernel out."""

    def send(self, data: Any, flags: int = 0) -> int:  # noqa: ANN401
        """Report everything as sent."""
        return len(data)


def test_stream_exchange(
    measure: Measure, loop: asyncio.AbstractEventLoop, pairs: list[Pair]
) -> None:
    """The overhead of streams in an exchange: write, drain, receive, read.

    Without system calls and without waiting: the data has already arrived.
    """
    wire = Wire(fileno=pairs[0][0].detach())
    reader, writer = loop.run_until_complete(asyncio.open_connection(sock=wire, limit=RECV_SIZE))
    protocol = writer.transport.get_protocol()
    assert isinstance(protocol, asyncio.StreamReaderProtocol)

    async def drive() -> None:
        for _ in range(MANY):
            writer.write(REQUEST)
            await writer.drain()
            protocol.data_received(ANSWER)
            await reader.read(RECV_SIZE)

    measure(lambda: loop.run_until_complete(drive()), MANY)
    writer.close()
    loop.run_until_complete(writer.wait_closed())


def test_connect_and_close(
    measure: Measure,
    loop: asyncio.AbstractEventLoop,
    listener: socket.socket,
    accept_all: Callable[..., Any],
) -> None:
    """Open a connection with streams and close it."""
    host, port = listener.getsockname()

    async def drive() -> None:
        for _ in range(SLOTS):
            _, writer = await asyncio.open_connection(host, port)
            writer.close()
            await writer.wait_closed()

    measure(
        lambda _: loop.run_until_complete(drive()),
        SLOTS, setup=lambda: None, teardown=accept_all, rounds=10,
    )  # fmt: skip
