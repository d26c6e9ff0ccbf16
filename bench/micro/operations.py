"""The operations of each model for one page: their prices and how to count them.

An operation's price is a sum of micro-benchmarks, and its number a sum of counts,
both with signs: what one micro-benchmark already contains must not count twice.
Micro-benchmarks are named after the files and tests here (``hand_built.task_switch``),
counts as in :mod:`bench.micro.count`. Three counts come from trials, because the hook
would change them: :data:`SLEEPS`, :data:`WAKES` and :data:`FAULTS`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

SLEEPS: Final = "voluntary context switches of the crawler"
WAKES: Final = "voluntary context switches of the server"
FAULTS: Final = "page faults of the crawler"

SWITCH_OF_THREADS: Final = "threads.hand_off per switch"
"""A hand-off between threads, divided by the number of context switches it took."""

LINKS: Final = "links and checksum"
EXCHANGE: Final = "HTTP exchange"
FRONTIER: Final = "frontier, recorder, clock"
IN_TURN: Final = "the same in turn"
KERNEL: Final = "system calls"
MEMORY: Final = "page faults"
WAKING: Final = "waking the server"
STREAMS: Final = "streams"
SWITCHING: Final = "switching"
GROUPS: Final = (LINKS, EXCHANGE, FRONTIER, IN_TURN, KERNEL, MEMORY, WAKING, STREAMS, SWITCHING)
"""The parts of a bar, from the axis outwards: first what all models share."""

Sum = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Operation:
    """One kind of work for a page: ``price`` in micro-benchmarks, ``number`` in counts."""

    title: str
    group: str
    price: Sum
    number: Sum


def one(title: str, group: str, micro: str, *counts: str) -> Operation:
    """An operation with one micro-benchmark, performed as often as all ``counts`` together."""
    return Operation(title, group, {micro: 1}, dict.fromkeys(counts, 1))


SHARED: Final = (
    one("checksum and links of a page", LINKS, "shared.read_page", "crawlers.page:read_page"),
    one("exchange", EXCHANGE, "shared.exchange", "crawlers.http:Exchange.__init__"),
    one("take and settle", FRONTIER, "shared.frontier", "crawlers.frontier:Frontier.settle"),
    one("record", FRONTIER, "shared.recorder", "crawlers.recorder:TimesRecorder.record"),
    one("read the clock", FRONTIER, "shared.clock", "monotonic"),
    Operation(
        "the above in turn, with colder caches",
        IN_TURN,
        {
            "shared.parts_in_turn": 1,
            "shared.read_page": -1,
            "shared.exchange": -1,
            "shared.frontier": -1,
            "shared.recorder": -1,
        },
        {"crawlers.frontier:Frontier.settle": 1},
    ),
    one("send", KERNEL, "sockets.send", "socket.send", "socket.sendall"),
    one("recv", KERNEL, "sockets.recv", "socket.recv"),
    one("touch new memory and return it", MEMORY, "memory.page_fault", FAULTS),
    Operation(
        "wake the server with a send",
        WAKING,
        {"sockets.send_to_sleeper": 1, "sockets.send": -1},
        {WAKES: 1},
    ),
)

ONE_LOOP: Final = (
    one("select", KERNEL, "sockets.select", "epoll.poll"),
    Operation(
        "sleep in select and wake up",
        KERNEL,
        # The cost of a round trip minus its parts.
        {
            "sockets.round_trip": 1,
            "sockets.send_to_sleeper": -1,
            "sockets.recv": -1,
            "sockets.select": -1,
        },
        {SLEEPS: 1},
    ),
)

OPERATIONS: Final[Mapping[str, tuple[Operation, ...]]] = {
    "threads": (
        *SHARED,
        one("connect and close", KERNEL, "threads.connect_and_close", "socket.connect"),
        one(
            "acquire a free lock",
            SWITCHING,
            "threads.lock_uncontended",
            "threading:Condition.__enter__",
        ),
        one(
            "start and join a thread",
            SWITCHING,
            "threads.start_and_join",
            "threading:Thread.start",
        ),
        one("switch to another thread", SWITCHING, SWITCH_OF_THREADS, SLEEPS),
    ),
    "callbacks": (
        *SHARED,
        *ONE_LOOP,
        one("connect and close", KERNEL, "hand_built.connect_and_close", "socket.connect"),
        one(
            "ready socket",
            SWITCHING,
            "hand_built.ready_socket",
            "crawlers.callbacks:Slot.receive",
            "crawlers.callbacks:Slot.connected",
        ),
        one(
            "call_soon",
            SWITCHING,
            "hand_built.callback_dispatch",
            "crawlers.loop:Loop.call_soon",
        ),
        one("timer", SWITCHING, "hand_built.timer_set_and_fire", "crawlers.loop:Loop.call_at"),
    ),
    "generators": (
        *SHARED,
        *ONE_LOOP,
        one("connect and close", KERNEL, "hand_built.connect_and_close", "socket.connect"),
        one("ready socket", SWITCHING, "hand_built.ready_socket", "crawlers.generators:notice"),
        one("task switch", SWITCHING, "hand_built.task_switch", "crawlers.generators:Task._step"),
        one(
            "coroutine call",
            SWITCHING,
            "hand_built.await_coroutine",
            "crawlers.generators:take starts",
            "crawlers.generators:fetch starts",
            "crawlers.generators:connect starts",
            "crawlers.generators:send starts",
            "crawlers.generators:receive starts",
        ),
        Operation(
            "level of nesting to resume through",
            SWITCHING,
            {"hand_built.resume_at_depth[100]": 1 / 99, "hand_built.resume_at_depth[1]": -1 / 99},
            # The task switch contains two levels: the task's own and the Future's.
            {
                "crawlers.generators:take resumes": 1,
                "crawlers.generators:fetch resumes": 1,
                "crawlers.generators:connect resumes": 1,
                "crawlers.generators:receive resumes": 1,
            },
        ),
        one("timer", SWITCHING, "hand_built.timer_set_and_fire", "crawlers.loop:Loop.call_at"),
    ),
    "async_await": (
        *SHARED,
        *ONE_LOOP,
        one("connect and close", KERNEL, "asyncio.connect_and_close", "socket.connect"),
        Operation(
            "loop iteration",
            SWITCHING,
            {"asyncio.loop_turn": 1, "asyncio.callback_dispatch": -1, "sockets.select": -1},
            {"asyncio.base_events:BaseEventLoop._run_once": 1},
        ),
        Operation(
            "ready socket",
            SWITCHING,
            {"asyncio.ready_socket": 1},
            # A new connection makes a socket ready too; "connect and close" contains that.
            {"asyncio.base_events:BaseEventLoop._add_callback": 1, "socket.connect": -1},
        ),
        Operation(
            "task switch",
            SWITCHING,
            {"asyncio.task_switch": 1},
            {
                "crawlers.async_await:work starts": 1,
                "crawlers.async_await:work resumes": 1,
                "crawlers.async_await:connect resumes": -1,
            },
        ),
        one(
            "coroutine call",
            SWITCHING,
            "asyncio.await_coroutine",
            "crawlers.async_await:take starts",
            "crawlers.async_await:fetch starts",
            "asyncio.streams:StreamReader._wait_for_data starts",
        ),
        Operation(
            "level of nesting to resume through",
            SWITCHING,
            {"asyncio.resume_at_depth[100]": 1 / 99, "asyncio.resume_at_depth[1]": -1 / 99},
            {
                "crawlers.async_await:take resumes": 1,
                "crawlers.async_await:fetch resumes": 1,
                "asyncio.streams:StreamReader.read resumes": 1,
                "asyncio.streams:StreamReader._wait_for_data resumes": 1,
                "crawlers.async_await:connect resumes": -1,
            },
        ),
        one(
            "stream write, drain and read",
            STREAMS,
            "asyncio.stream_exchange",
            "asyncio.streams:StreamReader.read starts",
        ),
        one(
            "timer",
            SWITCHING,
            "asyncio.timer_set_and_fire",
            "asyncio.base_events:BaseEventLoop.call_later",
        ),
    ),
}
"""The operations of each model backend. Only the model's own straight code is missing."""
