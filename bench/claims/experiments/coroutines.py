"""What ``await`` does: turns of the loop, bytecode, memory, lost updates."""

from __future__ import annotations

import asyncio
import gc
import os
from collections import Counter
from collections.abc import Awaitable, Callable, Generator
from contextlib import AbstractContextManager, nullcontext
from dis import get_instructions
from inspect import getsource, isgeneratorfunction
from threading import Barrier, Lock, Thread
from time import monotonic
from types import CodeType

import psutil

from bench.claims.experiments import ExperimentResult
from bench.machine.memory import user_memory
from bench.text import KIB, listing
from crawlers import generators

# --- whether ``await coroutine`` and ``await task`` yield to the loop ----------------------------

AWAITS = 20_000


async def nothing() -> None:
    pass


def a_task() -> Awaitable[None]:
    return asyncio.create_task(nothing())


async def turns(make: Callable[[], Awaitable[None]]) -> float:
    """The loop's iterations per await."""
    loop = asyncio.get_running_loop()
    taken = 0
    over = False

    def turn() -> None:
        nonlocal taken
        if not over:
            taken += 1
            loop.call_soon(turn)

    loop.call_soon(turn)
    for _ in range(AWAITS):
        await make()
    over = True
    return taken / AWAITS


def awaiting() -> ExperimentResult:
    return ExperimentResult(
        {
            "coroutine_turns": asyncio.run(turns(nothing)),
            "task_turns": asyncio.run(turns(a_task)),
        }
    )


# --- are coroutines generators? ------------------------------------------------------------------
#
# The functions of crawlers.generators that can be suspended are compiled twice: as they are, and
# with ``async def`` and ``await`` in place of ``def`` and ``yield from``.

AWAIT = "GET_AWAITABLE"
GETTERS = frozenset({AWAIT, "GET_YIELD_FROM_ITER", "GET_ITER", "PUSH_NULL"})
"""The instructions that fetch what to wait for: the one difference that the syntax makes.

CPython 3.15 has ``GET_ITER`` for ``yield from``, which pushes two values, and for ``await`` a
``PUSH_NULL`` after the getter.
"""


def suspending() -> dict[str, str]:
    """Name -> source."""
    functions = filter(isgeneratorfunction, vars(generators).values())
    sources = {function.__name__: getsource(function) for function in functions}
    return {name: source for name, source in sources.items() if "yield from" in source}


def native(source: str) -> str:
    return source.replace("yield from", "await").replace("def ", "async def ", 1)


def opcodes(name: str, source: str) -> Counter[str]:
    module = compile(f"from __future__ import annotations\n{source}", "<experiment>", "exec")
    # From 3.14 on, the annotations are code of their own.
    codes = (const for const in module.co_consts if isinstance(const, CodeType))
    (code,) = (code for code in codes if code.co_name == name)
    # From 3.14 on, a load may borrow its reference; the getter after it decides whether it may.
    return Counter(each.opname.replace("_BORROW", "") for each in get_instructions(code))


def bytecode() -> ExperimentResult:
    result = ExperimentResult()
    functions = suspending()
    total, differing = 0, Counter[str]()
    for name, source in functions.items():
        one, other = opcodes(name, source), opcodes(name, native(source))
        total += one.total()
        differing += (one - other) + (other - one)
    waits, getters = differing[AWAIT], GETTERS & differing.keys()
    result.values |= {
        "differing_otherwise": float(sum(differing[each] for each in differing.keys() - GETTERS)),
        "differing_getters": float(waits),
        "instructions": float(total),
    }
    result.facts["note"] = (
        f"{total} instructions in {len(functions)} functions; in {waits} places one has "
        f"{listing(sorted(getters - {AWAIT, 'PUSH_NULL'}))} and the other {AWAIT}"
    )
    return result


# --- what the chapter's coroutine costs, without a socket, and how many can be started -----------

COUNT = 20_000
MANY = 200_000
"""The least that "hundreds of thousands" can mean."""
KEEP_FREE_BYTES = 2 << 30


# As in the chapter.
class Future:
    def __init__(self) -> None:
        self.result: object = None
        self.callbacks: list[Callable[[Future], None]] = []

    def set_result(self, result: object) -> None:
        self.result = result
        for callback in self.callbacks:
            callback(self)


class Task:
    def __init__(self, generator: Generator[Future, object, None]) -> None:
        self.generator = generator
        self.step(Future())

    def step(self, future: Future) -> None:
        try:
            following = self.generator.send(future.result)
        except StopIteration:
            return
        following.callbacks.append(self.step)


def fetch(selector: dict[int, Callable[[], None]], number: int) -> Generator[Future, object, None]:
    """Waits for its connection as the chapter's ``fetch`` does, without the socket."""
    future = Future()

    def on_connected() -> None:
        future.set_result(None)

    selector[number] = on_connected
    yield future
    del selector[number]


def chapter() -> dict[int, Callable[[], None]]:
    selector: dict[int, Callable[[], None]] = {}
    for number in range(COUNT):
        Task(fetch(selector, number))
    return selector


def chapter_kib() -> float | None:
    """KiB of user memory for one of them; None off Linux."""
    gc.collect()
    before = user_memory(os.getpid())
    made = chapter()
    gc.collect()
    after = user_memory(os.getpid())
    return None if before is None or after is None else (after - before) / len(made) / KIB


async def wait_for(future: asyncio.Future[None], started: list[int]) -> None:
    started[0] += 1
    await future


async def suspended_at_once(most: int) -> int:
    """How many tasks wait at the same time; all of them end."""
    started, future = [0], asyncio.get_running_loop().create_future()
    tasks = []
    for number in range(most):
        if number % COUNT == 0 and psutil.virtual_memory().available < KEEP_FREE_BYTES:
            break
        tasks.append(asyncio.create_task(wait_for(future, started)))
    await asyncio.sleep(0)
    suspended = started[0]
    future.set_result(None)
    await asyncio.gather(*tasks)
    return suspended


def coroutines() -> ExperimentResult:
    result = ExperimentResult({"chapter_kib": chapter_kib()})
    if result.values["chapter_kib"] is None:
        result.lacks("user memory cannot be read on this system", "chapter_kib")
    result.values["suspended_at_once"] = float(asyncio.run(suspended_at_once(MANY)))
    return result


# --- the lost update: duplicate fetches if testing and updating the seen set are two steps -------
#
# Several workers get the same URLs in the same order, as if every page linked to the front page.
# Each URL should be fetched once.

WORKERS = 8
URLS = 100_000
THREADS_S = 1.5
"""The interpreter switches threads every 5 ms, so hitting the gap takes a while."""
URLS_OF_COROUTINES = 5_000
PER = 1_000_000
"""Results are duplicates per million URLs."""


class Seen:
    """A frontier in two steps."""

    def __init__(self) -> None:
        self.urls: set[str] = set()

    def has(self, url: str) -> bool:
        return url in self.urls

    def add(self, url: str) -> None:
        self.urls.add(url)


def in_threads(lock: AbstractContextManager[object]) -> float:
    """Duplicates per million URLs with threads, in as many rounds as there is time for."""
    urls = [f"http://site.test/{number}" for number in range(URLS)]
    began, rounds, surplus = monotonic(), 0, 0
    while monotonic() - began < THREADS_S:
        surplus += taken_by_threads(urls, lock) - URLS
        rounds += 1
    return PER * surplus / (rounds * URLS)


def taken_by_threads(urls: list[str], lock: AbstractContextManager[object]) -> int:
    """How many URLs the threads took in total; each gets all of them."""
    seen = Seen()
    taken: list[int] = []
    start = Barrier(WORKERS)

    def work() -> None:
        start.wait()
        mine = 0
        for url in urls:
            with lock:
                if not seen.has(url):
                    seen.add(url)
                    mine += 1
        taken.append(mine)

    threads = [Thread(target=work) for _ in range(WORKERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(taken)


async def in_coroutines(*, await_between: bool) -> float:
    """Duplicates per million URLs with tasks, which await after each URL in any case."""
    seen = Seen()
    taken = 0

    async def work() -> None:
        nonlocal taken
        for number in range(URLS_OF_COROUTINES):
            if not seen.has(url := f"http://site.test/{number}"):
                if await_between:
                    await asyncio.sleep(0)
                seen.add(url)
                taken += 1
            await asyncio.sleep(0)

    await asyncio.gather(*(work() for _ in range(WORKERS)))
    return PER * (taken - URLS_OF_COROUTINES) / URLS_OF_COROUTINES


def seen_set() -> ExperimentResult:
    return ExperimentResult(
        {
            "threads_calls": in_threads(nullcontext()),
            "threads_locked": in_threads(Lock()),
            "coroutines_no_await": asyncio.run(in_coroutines(await_between=False)),
            "coroutines_await": asyncio.run(in_coroutines(await_between=True)),
        }
    )
