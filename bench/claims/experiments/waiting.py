"""How far threads go, and what it costs to wait for many sockets."""

from __future__ import annotations

import os
import select
import selectors
import socket
from collections.abc import Mapping
from contextlib import ExitStack
from threading import Lock, Thread
from time import monotonic, perf_counter, thread_time

import psutil

from bench.claims.experiments import ExperimentResult
from bench.machine import procfs
from bench.machine.doctor import raise_descriptor_limit
from bench.machine.environment import SYSCTL

# --- how many sleeping threads one process can start, and which limit stops it --------------------

TARGET = 30_000
"""Certainly "tens of thousands", and below the default ``pid_max`` of 32,768 for the whole
machine: more would keep every other program from starting a process."""
LOOK_EVERY = 500
KEEP_FREE_BYTES = 1 << 30
LIMITS = ("threads_max", "pid_max", "max_map_count")
NEAR = 0.99
"""A limit counts as hit once this share of it is in use."""


def used() -> dict[str, int]:
    """How much of each limit is in use: threads of the machine, or mappings of this process."""
    loadavg = (procfs.read("proc/loadavg") or "").split()
    tasks = int(loadavg[3].partition("/")[2]) if len(loadavg) > 3 else 0
    maps = (procfs.read(f"proc/{os.getpid()}/maps") or "").count("\n")
    return {"threads_max": tasks, "pid_max": tasks, "max_map_count": maps}


def hit(limits: Mapping[str, int], in_use: Mapping[str, int]) -> str:
    shares = {name: in_use.get(name, 0) / limit for name, limit in limits.items() if limit}
    nearest = max(shares, key=lambda name: shares[name], default=None)
    if nearest is None or shares[nearest] < NEAR:
        return "no limit known here was hit"
    name = SYSCTL[nearest].replace("/", ".")
    return f"the limit hit is {name}: {in_use[nearest]:,} of {limits[nearest]:,} in use"


def thread_ceiling() -> ExperimentResult:
    """Start threads that wait for a lock, until the target, an error, or little free memory."""
    gate = Lock()
    gate.acquire()
    result = ExperimentResult()
    started, failed = 0, False
    stopped_by = f"no error; the target of {TARGET:,} was reached"
    began = perf_counter()
    while started < TARGET:
        if started % LOOK_EVERY == 0 and psutil.virtual_memory().available < KEEP_FREE_BYTES:
            stopped_by = "less than 1 GiB of memory was free"
            break
        try:
            Thread(target=gate.acquire, daemon=True).start()
        except RuntimeError as error:
            stopped_by, failed = f"{type(error).__name__}: {error}", True
            break
        started += 1
    spent = perf_counter() - began
    known = {name: procfs.read_int(f"proc/sys/{SYSCTL[name]}") for name in LIMITS}
    limits = {name: limit for name, limit in known.items() if limit is not None}
    if failed:
        stopped_by += f" after {started:,} threads; {hit(limits, used())}"
    result.values |= {
        "started": float(started),
        "failed": 100.0 * failed,
        "start_us": 1e6 * spent / max(started, 1),
    }
    result.facts |= {"note": stopped_by, **limits}
    return result


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


# --- the processor time of waiting for a connection: retrying in a loop, or ``select`` ------------

WAIT_S = 0.3
SETTLE_S = 0.05
MAX_FILLERS = 64


def spinning_connect() -> ExperimentResult:
    result = ExperimentResult()
    with ExitStack() as stack:
        pending = pending_connect(stack)
        if pending is None:
            reason = "this system completes every connect to a full accept queue"
            result.lacks(reason, "spin_share", "select_share")
            return result
        wall, cpu = monotonic(), thread_time()
        tries = 0
        while monotonic() - wall < WAIT_S:
            tries += 1
            try:  # like the chapter
                pending.send(b"GET / HTTP/1.0\r\n\r\n")
                break
            except OSError:
                pass
        result.values["spin_share"] = share(wall, cpu)
        result.facts["tries_per_s"] = round(tries / (monotonic() - wall))
        wall, cpu = monotonic(), thread_time()
        select.select([], [pending], [], WAIT_S)
        result.values["select_share"] = share(wall, cpu)
        if monotonic() - wall < WAIT_S / 2:
            result.lacks("the connection was established early", "spin_share", "select_share")
    return result


def share(wall: float, cpu: float) -> float:
    return 100 * (thread_time() - cpu) / (monotonic() - wall)


def pending_connect(stack: ExitStack) -> socket.socket | None:
    """A non-blocking connect that stays pending: its server's accept queue is full."""
    server = stack.enter_context(socket.socket())
    server.bind(("127.0.0.1", 0))
    server.listen(0)
    for _ in range(MAX_FILLERS):
        sock = stack.enter_context(socket.socket())
        sock.setblocking(False)
        try:
            sock.connect(server.getsockname())
        except BlockingIOError:
            if not select.select([], [sock], [], SETTLE_S)[1]:
                return sock
    return None
