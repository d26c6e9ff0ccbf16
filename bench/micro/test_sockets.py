"""The kernel's part: system calls on TCP connections within this machine, and page faults.

On loopback, ``send`` also does the receiver's work up to its socket buffer, and
``recv`` finds everything there. The two are therefore timed separately, against
another process on another processor, as in a trial.
"""

from __future__ import annotations

import mmap
import selectors
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from bench.machine import cpu
from bench.micro.conftest import SLOTS, Measure, Pair
from bench.plan.workloads import PAGE_BYTES
from crawlers.http import RECV_SIZE, request_tail

REQUEST = b"GET /s/1234/p.html" + request_tail("127.0.0.1:65535", keep_alive=True)
ANSWER = bytes(PAGE_BYTES + 120)  # a page and its head

AWAKE = f"""
import socket, sys
address, answer = ("127.0.0.1", int(sys.argv[1])), bytes(int(sys.argv[2]))
socks = [socket.create_connection(address) for _ in range({SLOTS})]
for sock in socks:
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.setblocking(False)
while True:
    for sock in socks:
        try:
            if not sock.recv({RECV_SIZE}):
                sys.exit()
        except BlockingIOError:
            continue
        sock.send(answer)
"""
"""A process that never sleeps, with a connection for each slot."""


@pytest.fixture
def server_at_work(listener: socket.socket, pinning: cpu.Pinning) -> Iterator[list[socket.socket]]:
    """Connections to a process that is awake on another processor and answers with pages."""
    port = listener.getsockname()[1]
    arguments = [sys.executable, "-S", "-c", AWAKE, str(port), str(len(ANSWER))]
    with ExitStack() as stack:
        process = stack.enter_context(subprocess.Popen(arguments))
        cpu.pin(process.pid, pinning.server)
        # Closing the sockets first ends the process.
        yield [stack.enter_context(listener.accept()[0]) for _ in range(SLOTS)]


def await_all(sockets: list[socket.socket]) -> list[socket.socket]:
    """Wait until each socket has data, without reading it."""
    with selectors.DefaultSelector() as selector:
        for sock in sockets:
            selector.register(sock, selectors.EVENT_READ)
        while selector.get_map():
            for key, _ in selector.select():
                selector.unregister(key.fileobj)
    return sockets


def ask_all(sockets: list[socket.socket]) -> None:
    for sock in sockets:
        sock.send(REQUEST)


def take_all(sockets: list[socket.socket]) -> None:
    for sock in sockets:
        sock.recv(RECV_SIZE)


def test_send(measure: Measure, server_at_work: list[socket.socket]) -> None:
    """Send a request to a process that is awake on another processor."""

    def after(sockets: list[socket.socket]) -> None:
        take_all(await_all(sockets))

    measure(ask_all, SLOTS, setup=lambda: server_at_work, teardown=after)


def test_recv(measure: Measure, server_at_work: list[socket.socket]) -> None:
    """Receive a page that has arrived from another processor."""

    def arrive() -> list[socket.socket]:
        ask_all(server_at_work)
        return await_all(server_at_work)

    measure(take_all, SLOTS, setup=arrive)


def test_send_and_recv(measure: Measure, pairs: list[Pair]) -> None:
    """Send a request through a pair of sockets in this process."""

    def batch() -> None:
        for near, far in pairs:
            near.send(REQUEST)
            far.recv(RECV_SIZE)

    measure(batch, SLOTS)


def test_select(measure: Measure, pairs: list[Pair]) -> None:
    """Poll for ready sockets while none is ready."""

    def batch() -> None:
        for _ in range(100):
            selector.select(0)

    with selectors.DefaultSelector() as selector:
        for near, _ in pairs:
            selector.register(near, selectors.EVENT_READ)
        measure(batch, 100)


MEMORY_PAGES = 512


def test_page_fault(measure: Measure) -> None:
    """Touch a page of new memory, and return it.

    An allocator that returns memory and requests it again pays this each time.
    """
    size = MEMORY_PAGES * mmap.PAGESIZE
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS

    def new() -> mmap.mmap:
        memory = mmap.mmap(-1, size, flags=flags)
        if hasattr(mmap, "MADV_NOHUGEPAGE"):
            memory.madvise(mmap.MADV_NOHUGEPAGE)
        return memory

    def batch(memory: mmap.mmap) -> None:
        for offset in range(0, size, mmap.PAGESIZE):
            memory[offset] = 1
        memory.close()

    measure(batch, MEMORY_PAGES, setup=new)
