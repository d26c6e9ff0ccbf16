"""Polling: when the loop is awake, and which of its time counts as work."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from typing import Any, cast

import psutil
import pytest

from server.polling import EMPTY, PAUSE_AFTER_S, SAMPLE, Poller
from tests.server.clock import Timer
from tests.server.fixture_server import Running, get, receive, running

EMPTY_S = 1e-6


class Loop:
    """Turns that take as long as they are told to."""

    def __init__(self) -> None:
        self.now = 0.0
        self.scheduled: list[Timer] = []

    def call_soon(self, callback: Callable[[], None]) -> Timer:
        self.scheduled.append(Timer(callback))
        return self.scheduled[-1]

    @property
    def awake(self) -> int:
        return sum(handle.callback is not None for handle in self.scheduled)

    def turn(self, seconds: float = EMPTY_S, count: int = 1) -> None:
        for _ in range(count):
            self.now += seconds
            handles, self.scheduled = self.scheduled, []
            for handle in handles:
                if handle.callback is not None:
                    handle.callback()


class World:
    """A poller without an event loop."""

    def __init__(self) -> None:
        self.loop = Loop()
        self.connections: list[object] = []
        loop = cast(asyncio.AbstractEventLoop, self.loop)
        self.poller = Poller(loop, self.connections, lambda: self.loop.now)

    def start(self) -> None:
        """Call :meth:`Poller.start` as far as its first wait."""

        async def begin() -> None:
            starting = asyncio.ensure_future(self.poller.start())
            await asyncio.sleep(0)
            starting.cancel()

        asyncio.run(begin())

    def measured(self) -> World:
        """Start, and take the sample."""
        self.start()
        self.loop.turn(count=SAMPLE)
        return self


def test_starting_twice_or_after_a_stop_gives_one_chain_of_turns() -> None:
    world = World()
    world.start()
    world.start()
    world.poller.stop()
    world.start()
    world.poller.wake()
    world.loop.turn()
    assert world.loop.awake == 1


def test_it_pauses_without_connections_until_the_next_one() -> None:
    world = World().measured()
    world.connections.append("one")
    world.loop.turn(0.1, count=100)
    assert world.poller.polling
    world.connections.clear()
    world.loop.turn(PAUSE_AFTER_S / 2)
    assert world.poller.polling
    world.loop.turn(PAUSE_AFTER_S)
    assert (world.poller.polling, world.loop.awake) == (False, 0)
    assert world.poller.on
    world.poller.wake()
    assert (world.poller.polling, world.loop.awake) == (True, 1)


def test_empty_turns_are_not_work() -> None:
    world = World().measured()
    world.connections.append("one")
    for turn, empty in (
        (EMPTY_S, True),
        (EMPTY_S * (EMPTY - 0.1), True),
        (EMPTY_S * (EMPTY + 0.1), False),
        (1.0, False),  # the process was stopped, or had a lot to do
    ):
        before = world.poller.polled_s
        world.loop.turn(turn)
        assert world.poller.polled_s - before == pytest.approx(turn if empty else 0.0)


def test_all_is_work_until_an_empty_turn_is_known() -> None:
    world = World()
    world.connections.append("one")
    world.start()
    world.loop.turn(count=5 * SAMPLE)
    assert world.poller.polled_s == 0
    world.connections.clear()
    world.loop.turn(count=SAMPLE)
    world.connections.append("two")
    world.loop.turn(count=100)
    assert world.poller.polled_s == pytest.approx(100 * EMPTY_S)


# --- in a server ---


@pytest.fixture(scope="module")
def polling() -> Iterator[Running]:
    with running("--site", "list:9:100") as server:
        assert server.call("/poll", {"on": True})["on"] is True
        yield server


def ask(server: Running, requests: int, *, asleep: bool = False) -> int:
    """How often the server sleeps during some requests, each sent while it is ``asleep``."""
    with server.connect() as sock:
        server.wait_for("/ledger?summary=1", lambda ledger: ledger["connections_open"] == 1)
        process = psutil.Process(server.process.pid)
        before = process.num_ctx_switches().voluntary
        for _ in range(requests):
            # On a busy machine the next request may come before the server gets to sleep.
            while asleep and process.status() != psutil.STATUS_SLEEPING:
                time.sleep(0.001)
            sock.sendall(get("/p/1"))
            assert receive(sock)[0] == 200
        return int(process.num_ctx_switches().voluntary - before)


def test_a_polling_server_does_not_sleep_and_another_does(polling: Running) -> None:
    try:
        assert ask(polling, 100) < 10
        assert polling.control("/poll", {"on": False}) == (200, {"on": False, "polling": False})
        assert ask(polling, 100, asleep=True) > 66
    finally:
        assert polling.control("/poll", {"on": True})[1]["on"] is True
    assert ask(polling, 100) < 10


def test_a_server_polls_with_a_connection_and_reports_little_work(polling: Running) -> None:
    def used(cpu: dict[str, Any]) -> float:
        return float(cpu["user_s"] + cpu["system_s"])

    polling.wait_for("/cpu", lambda cpu: not cpu["polling"])
    assert polling.control("/poll") == (200, {"on": True, "polling": False})
    with polling.connect():
        first = polling.wait_for("/cpu", lambda cpu: cpu["polling"])
        last = polling.wait_for("/cpu", lambda cpu: used(cpu) - used(first) > 0.2, 0.1)
    polling.wait_for("/cpu", lambda cpu: not cpu["polling"])
    assert last["work_s"] - first["work_s"] < 0.5 * (used(last) - used(first))
    assert 0 < last["work_s"] < used(last)


def test_a_server_works_whenever_it_does_not_poll(server: Running) -> None:
    before = server.control("/cpu")[1]  # an earlier test may have let this server poll
    with server.connect() as sock:
        sock.sendall(get("/"))
        receive(sock)
        cpu = server.control("/cpu")[1]
    used_s = sum(cpu[key] - before[key] for key in ("user_s", "system_s"))
    assert cpu["work_s"] - before["work_s"] == pytest.approx(used_s)
    assert cpu["polling"] is False
    assert server.control("/poll") == (200, {"on": False, "polling": False})
