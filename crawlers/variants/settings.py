"""The same crawls with one setting changed, and not a line of them.

Everything that waits and switches is the same as in the backend that each is compared with.

- ``threads_long_switch``: a thread that waits for the interpreter's lock asks for it after one
  second instead of 5 ms. Threads that wait for sockets pass the lock on by themselves, so with a
  thousand of them the asking is work without a result. This is a setting for a whole process:
  another thread that computes without a pause would keep the lock for that second.
- ``threads_short_switch``: the same after half a millisecond. A thread that computes keeps the lock
  until another asks for it, so this is how long each of the others waits behind it. It helps where
  some pages need work. Every request for the lock also ends a turn, and many threads ask.
- ``threads_small_stack``: less address space for each thread, because a stack is nothing more until
  it is touched. This answers the claim that threads cost 8 MB each: the reserved size is not the
  used size.
- ``threads_one_processor``: all threads have the processor where the crawl begins. On several, a
  thread that gives up the lock wakes one on another processor, which then finds it taken again,
  and has to wait for it. On one, the next thread runs when this one sleeps, and then it is free.
- ``threads_pool``: never more than 32 threads, however many slots the job has, as in most programs
  with a pool. The server sees at most 32 requests in flight. If answers are delayed, the pool is
  the limit and not the machine.
- ``threads_timeouts``: ``settimeout`` on each connection, as most programs have it. Python puts a
  socket with a timeout into non-blocking mode, and waits in ``poll`` before it receives. The sweep
  over all slots remains, because a timeout is for one wait and not for the whole exchange, and
  because the sweep also ends a crawl that must stop.
- ``async_await_mapped``, ``asyncio_protocol_mapped``: the state of malloc, see ``_mapped.py``.
- ``callbacks_select``, ``callbacks_poll``: the system call. At every turn both pass all descriptors
  to the kernel and look through all of them afterwards. ``poll`` takes any number of them;
  ``select`` cannot express a descriptor of 1024 or more, so ``callbacks_select`` refuses a job with
  more slots.
- ``asyncio_small_tls``: ``asyncio.sslproto.SSLProtocol`` receives into 256 KiB of its own for each
  connection, and makes and clears them with the connection. Here they are 16 KiB, the largest
  record of TLS, by a class attribute that asyncio does not document. So this is an experiment and
  no advice; over plain HTTP nothing changes. docs/upstream/asyncio-receive.md has the counts.
"""

from __future__ import annotations

import os
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from functools import partial
from importlib import import_module
from pathlib import Path
from selectors import PollSelector, SelectSelector
from typing import Any

from crawlers.backend import CrawlFunction
from crawlers.job import Address, CrawlReport, Job, JobError
from crawlers.limits import SPARE
from crawlers.recorder import Recorder
from crawlers.sockets import new_socket
from crawlers.variants._mapped import mapped

Facts = dict[str, str | int]
"""What a setting adds to the mechanism of the report."""

STACK = 256 * 1024
"""Bytes of stack of each thread.

CPython takes less, but 3.14 keeps a reserve at the end of each stack. A thread that lives in it
puts off the deallocation of every container, for good:
https://github.com/python/cpython/issues/141044
"""

POOL = 32
"""Largest number of threads: the upper bound of ThreadPoolExecutor's default."""

FD_SETSIZE = 1024
"""Number of descriptors that select can express, a constant of the C library on Linux."""

SELECTABLE = FD_SETSIZE - SPARE
"""Connections that it can wait for."""

Selector = type[SelectSelector] | type[PollSelector]
SELECTORS: dict[str, Selector] = {
    "callbacks_select": SelectSelector,
    "callbacks_poll": PollSelector,
}

TLS_BUFFER = 16 * 1024
"""Bytes of the buffer, and the most that a read from TLS returns."""


@contextmanager
def changed(
    get: Callable[[], Any], put: Callable[[Any], object], value: object, facts: Facts
) -> Iterator[Facts]:
    """A setting of the process has this value meanwhile; ``facts`` tell the report."""
    before = get()
    put(value)
    try:
        yield facts
    finally:
        put(before)


def replaced(
    where: object, name: str, value: object, facts: Facts | None = None
) -> AbstractContextManager[Facts]:
    """A name of a module or class means this meanwhile."""
    return changed(partial(getattr, where, name), partial(setattr, where, name), value, facts or {})


def switch_interval(seconds: float, facts: Facts) -> AbstractContextManager[Facts]:
    """A waiting thread asks for the interpreter's lock after ``seconds``, instead of 0.005."""
    return changed(sys.getswitchinterval, sys.setswitchinterval, seconds, facts)


def small_stacks() -> AbstractContextManager[Facts]:
    """Threads that start meanwhile have small stacks."""
    return changed(threading.stack_size, threading.stack_size, STACK, {"stack_bytes": STACK})


def one_processor() -> AbstractContextManager[Facts]:
    """Keep this thread on the processor that runs it, and every thread that it starts meanwhile."""
    # Field 39 of proc_pid_stat(5).
    _, _, fields = Path("/proc/thread-self/stat").read_text().rpartition(")")
    processor = int(fields.split()[36])
    get, put = partial(os.sched_getaffinity, 0), partial(os.sched_setaffinity, 0)
    return changed(get, put, {processor}, {"processor": processor})


def small_buffers() -> AbstractContextManager[Facts]:
    """Connections over TLS that are made meanwhile have small buffers."""
    from asyncio import sslproto

    return replaced(sslproto.SSLProtocol, "max_size", TLS_BUFFER, {"tls_buffer": TLS_BUFFER})


SETTINGS: dict[str, tuple[str, Callable[[], AbstractContextManager[Facts]]]] = {
    "threads_long_switch": ("threads", partial(switch_interval, 1.0, {"switch_interval_ms": 1000})),
    "threads_short_switch": (
        "threads",
        partial(switch_interval, 0.0005, {"switch_interval_us": 500}),
    ),
    "threads_small_stack": ("threads", small_stacks),
    "threads_one_processor": ("threads", one_processor),
    "async_await_mapped": ("async_await", partial(mapped, "async_await_mapped")),
    "asyncio_protocol_mapped": (
        "variants.asyncio_protocol",
        partial(mapped, "asyncio_protocol_mapped"),
    ),
    "asyncio_small_tls": ("async_await", small_buffers),
}
"""Backend -> the module whose crawl it is, and what is set meanwhile."""


def crawl_as(name: str) -> CrawlFunction:
    """The crawl of this name; raises :class:`BackendError` where its setting cannot be had."""
    if name == "threads_pool":
        return crawl_in_a_pool
    if name == "threads_timeouts":
        return crawl_with_timeouts
    if name in SELECTORS:
        return partial(crawl_with, SELECTORS[name], name)
    module, setting = SETTINGS[name]
    with setting():
        pass
    crawl_unset: CrawlFunction = import_module(f"crawlers.{module}").crawl

    def crawl(job: Job, recorder: Recorder) -> CrawlReport:
        with setting() as facts:
            report = crawl_unset(job, recorder)
        report.backend = name
        report.mechanism.update(facts)
        return report

    return crawl


def crawl_in_a_pool(job: Job, recorder: Recorder) -> CrawlReport:
    """Crawl with one thread for each slot, up to :data:`POOL`."""
    from crawlers import threads

    size = min(job.slots, POOL)
    report = threads.crawl(replace(job, slots=size), recorder)
    report.backend = "threads_pool"
    report.concurrency = job.slots
    report.mechanism["pool"] = size
    return report


def crawl_with_timeouts(job: Job, recorder: Recorder) -> CrawlReport:
    """Crawl with one thread for each slot; no wait on a socket takes longer than the timeout."""
    from crawlers import threads

    def with_timeout(address: Address) -> socket.socket:
        sock = new_socket(address)
        sock.settimeout(job.timeout_s)
        return sock

    with replaced(threads, "new_socket", with_timeout):
        report = threads.crawl(job, recorder)
    report.backend = "threads_timeouts"
    return report


def crawl_with(selector: Selector, name: str, job: Job, recorder: Recorder) -> CrawlReport:
    """Crawl with ``callbacks`` on this selector."""
    from crawlers import callbacks

    if selector is SelectSelector and job.slots > SELECTABLE:
        raise JobError(
            f"select cannot wait for descriptors of {FD_SETSIZE} and above, and {job.slots} "
            f"slots need some: use at most {SELECTABLE}, or callbacks_poll or callbacks"
        )
    report = callbacks.crawl(job, recorder, selector_class=selector)
    report.backend = name
    return report
