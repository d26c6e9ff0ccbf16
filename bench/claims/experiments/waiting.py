"""How far threads go, and what it costs to wait for many sockets."""

from __future__ import annotations

import platform
import selectors
import socket
from contextlib import ExitStack
from threading import Lock, Thread
from time import perf_counter

import psutil

from bench.claims.experiments import ExperimentResult
from bench.machine import procfs
from bench.machine.doctor import raise_descriptor_limit

# --- how many sleeping threads one process can start ----------------------------------------------

TARGET = 30_000
"""Certainly "tens of thousands", and below the default ``pid_max`` of 32,768 for the whole
machine: more would keep every other program from starting a process."""
LOOK_EVERY = 500
KEEP_FREE_BYTES = 1 << 30


def thread_ceiling() -> ExperimentResult:
    """Start threads that wait for a lock, until the target, an error, or little free memory."""
    gate = Lock()
    gate.acquire()
    started, failed = 0, False
    stopped_by = f"no error; the target of {TARGET:,} was reached"
    while started < TARGET:
        if started % LOOK_EVERY == 0 and psutil.virtual_memory().available < KEEP_FREE_BYTES:
            stopped_by = f"less than 1 GiB of memory was free after {started:,} threads"
            break
        try:
            Thread(target=gate.acquire, daemon=True).start()
        except RuntimeError as error:
            stopped_by, failed = f"{type(error).__name__}: {error} after {started:,} threads", True
            break
        started += 1
    maps = len((procfs.read("proc/self/maps") or "").splitlines())
    most = procfs.read_int("proc/sys/vm/max_map_count")
    if started and maps and most:
        stopped_by += (
            f", with {maps:,} of {most:,} mappings (vm.max_map_count), {maps / started:.1f} for "
            f"each, {' '.join(platform.libc_ver()) or 'unknown C library'}"
        )
    return ExperimentResult(
        {"started": float(started), "failed": 100.0 * failed}, {"note": stopped_by}
    )


# --- the cost of one call of select, poll and epoll with thousands of idle connections ------------

FEW, SELECT_MOST, MANY = 10, 900, 5000
"""Numbers of idle sockets; ``select`` cannot use descriptors from 1,024 up."""
BATCH_S = 0.02
BATCHES = 5
KINDS = {"select": "SelectSelector", "poll": "PollSelector", "epoll": "EpollSelector"}


def readiness() -> ExperimentResult:
    result = ExperimentResult()
    raise_descriptor_limit()
    for name, kind in KINDS.items():
        for idle in (FEW, SELECT_MOST) if name == "select" else (FEW, SELECT_MOST, MANY):
            key = f"{name}_us_{idle}"
            try:
                result.values[key] = call_us(kind, idle)
            except AttributeError:
                result.lacks(f"this system has no {name}", key)
            except OSError as error:
                result.lacks(f"{idle} sockets cannot be opened: {error.strerror}", key)
    result.ratio("select_over_epoll", f"select_us_{SELECT_MOST}", f"epoll_us_{SELECT_MOST}")
    result.ratio("poll_over_epoll", f"poll_us_{MANY}", f"epoll_us_{MANY}")
    for name in ("poll", "epoll"):
        result.ratio(f"{name}_growth", f"{name}_us_{MANY}", f"{name}_us_{FEW}")
    return result


def call_us(kind: str, idle: int) -> float:
    """One call with ``idle`` sockets and one that is ready; the fastest batch counts."""
    with ExitStack() as stack:
        selector = stack.enter_context(getattr(selectors, kind)())
        one, other = (stack.enter_context(end) for end in socket.socketpair())
        selector.register(one, selectors.EVENT_READ)
        other.send(b"x")
        for _ in range(idle):
            sock = stack.enter_context(socket.socket(type=socket.SOCK_DGRAM))
            sock.bind(("127.0.0.1", 0))
            selector.register(sock, selectors.EVENT_READ)
        batches = []
        for _ in range(BATCHES):
            calls, began = 0, perf_counter()
            while (spent := perf_counter() - began) < BATCH_S or not calls:
                selector.select(0)
                calls += 1
            batches.append(spent / calls)
    return 1e6 * min(batches)
