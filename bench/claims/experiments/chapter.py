"""What the chapter and the texts around it say, tried: its steps, sleeps, deep stacks, CPython."""

from __future__ import annotations

import asyncio
import json
import socket
import sys
import threading
from collections.abc import Generator
from importlib.util import find_spec
from time import monotonic, perf_counter, sleep, thread_time
from types import GeneratorType
from typing import cast

from bench.claims.experiments import ExperimentResult
from bench.launch import OWN_PYTHON, run_module

# --- the steps of crawlers/chapter ----------------------------------------------------------------

ANSWER_S = 0.3


def steps() -> ExperimentResult:
    """Every step, as ``python -m crawlers chapter --all`` judges it."""
    result = ExperimentResult()
    done = run_module(OWN_PYTHON, "crawlers", "chapter", "--all", "--json", timeout_s=60)
    for step, found in json.loads(done.stdout).items():
        for name, value in found.items():
            if value is not None:
                result.values[f"{step}_{name}"] = value
    return result


def answer_late(listener: socket.socket, times: int) -> None:
    for _ in range(times):
        connection, _ = listener.accept()
        with connection:
            connection.recv(65536)
            sleep(ANSWER_S)
            connection.sendall(b"HTTP/1.0 200 OK\r\n\r\n")


def spinning() -> ExperimentResult:
    """Processor time of the step that spins and of one that selects, in % of their waiting."""
    from crawlers.chapter import callbacks, spin

    result = ExperimentResult()
    steps = (("spin", spin.fetch), ("select", callbacks.crawl))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        # One answer for each step: a thread that accepts once more fails when the listener closes.
        server = threading.Thread(target=answer_late, args=(listener, len(steps)), daemon=True)
        server.start()
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/"
        for name, fetch in steps:
            wall, used = monotonic(), thread_time()
            fetch(url)
            result.values[f"{name}_share"] = 100 * (thread_time() - used) / (monotonic() - wall)
        server.join()
    return result


# --- a sleep takes at least as long ---------------------------------------------------------------

SLEEPS = 400


async def early(sleeps: int) -> list[float]:
    """By how many milliseconds sleeps of 1.3 to 1.9 ms end too early: those that do."""
    lacking = []
    for number in range(sleeps):
        delay, began = 0.0013 + 0.0006 * number / sleeps, monotonic()
        await asyncio.sleep(delay)
        lacking.append(1e3 * (delay - (monotonic() - began)))
    return [ms for ms in lacking if ms > 0]


def sleeping() -> ExperimentResult:
    result, notes = ExperimentResult(), []
    for name in ("asyncio", "uvloop"):
        if find_spec(name) is None:
            result.lacks(f"{name} is not installed", f"{name}_early")
            continue
        with asyncio.Runner(loop_factory=__import__(name).new_event_loop) as runner:
            found = runner.run(early(SLEEPS))
        result.values[f"{name}_early"] = 100 * len(found) / SLEEPS
        notes += [f"{name} by up to {max(found):.1f} ms"] if found else []
    result.facts["note"] = ", ".join(notes) or "none"
    return result


# --- an await deep down ---------------------------------------------------------------------------

DEPTH, RESUMES = 100, 20_000


class Suspend:
    def __await__(self) -> Generator[None, None, None]:
        while True:
            yield


async def call_down(depth: int) -> None:
    await (call_down(depth - 1) if depth else Suspend())


def resume_ns(depth: int) -> float:
    """To resume a coroutine that is suspended so many calls deep; the fastest batch."""
    coroutine = call_down(depth)
    coroutine.send(None)
    batches = []
    for _ in range(5):
        began = perf_counter()
        for _ in range(RESUMES):
            coroutine.send(None)
        batches.append((perf_counter() - began) / RESUMES)
    coroutine.close()
    return 1e9 * min(batches)


def deep_stack() -> ExperimentResult:
    top, deep = resume_ns(0), resume_ns(DEPTH)
    note = f"{top:,.0f} ns at the top, {deep:,.0f} at depth {DEPTH}"
    return ExperimentResult({"level_ns": (deep - top) / DEPTH}, {"note": note})


# --- the interpreter that the chapter describes ---------------------------------------------------

CALLS, STACK_BYTES = 100_000, 256 << 10


def inner() -> Generator[int, None, None]:
    yield 1
    yield 2


def outer() -> Generator[int, None, None]:
    yield from inner()


def place(generator: GeneratorType[int, None, None]) -> int:
    assert generator.gi_frame is not None, "it has not ended"
    return generator.gi_frame.f_lasti


def count_calls(depth: list[int]) -> None:
    depth[0] += 1
    if depth[0] < CALLS:
        count_calls(depth)


def nested_calls() -> float:
    """How deep Python functions call each other on a C stack of 256 KiB; up to 100,000."""
    sys.setrecursionlimit(CALLS + 100)
    threading.stack_size(STACK_BYTES)
    depth = [0]
    thread = threading.Thread(target=count_calls, args=(depth,))
    thread.start()
    thread.join()
    return float(depth[0])


def interpreter() -> ExperimentResult:
    generator = cast("GeneratorType[int, None, None]", outer())
    places = [place(generator)]
    for _ in generator:
        places.append(place(generator))
    return ExperimentResult(
        {
            "lasti_at_start": float(places[0]),
            "lasti_in_yield_from": float(len(set(places[1:]))),
            "nested_calls": nested_calls(),
            "coroutine_decorator": float(hasattr(asyncio, "coroutine")),
        }
    )
