"""Single system calls on TCP connections within this machine.

On loopback, ``send`` also does the receiver's work up to its socket buffer, and
``recv`` finds everything there. The two are therefore timed separately, against
another process on another processor, as in a trial.
"""

from __future__ import annotations

import selectors
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest

from bench.machine.probes import cpu
from bench.micro.conftest import SLOTS, Measure, Pair, connected
from bench.plan.workloads import PAGE_BYTES
from crawlers.http import RECV_SIZE, request_tail

REQUEST = b"GET /s/1234/p.html" + request_tail("127.0.0.1:65535", keep_alive=True)
ANSWER = bytes(PAGE_BYTES + 120)  # a page and its head
FALL_ASLEEP_S = 300e-6

ASLEEP = f"""
import socket, sys
sock = socket.socket(fileno=0)
answer = bytes(int(sys.argv[1]))
while sock.recv({RECV_SIZE}):
    sock.send(answer)
"""
"""A process that sleeps in ``recv`` and answers with this many bytes, or not at all."""

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
    """Send a request on each socket."""
    for sock in sockets:
        sock.send(REQUEST)


def take_all(sockets: list[socket.socket]) -> None:
    """Receive what has arrived on each socket."""
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


@contextmanager
def other_process(
    listener: socket.socket, pinning: cpu.Pinning, answer: int
) -> Iterator[socket.socket]:
    """The near end of a connection to a process on the server's processor."""
    near, far = connected(listener)
    with near:
        with far:
            process = subprocess.Popen(
                [sys.executable, "-S", "-c", ASLEEP, str(answer)], stdin=far.fileno()
            )
        with process:
            cpu.pin(process.pid, pinning.server)
            yield near
            near.close()


def test_send_to_sleeper(measure: Measure, listener: socket.socket, pinning: cpu.Pinning) -> None:
    """Send a request to a process that sleeps on another processor, which wakes it.

    One send per round, because the process has to fall asleep again first.
    """
    with other_process(listener, pinning, 0) as sock:

        def asleep() -> socket.socket:
            time.sleep(FALL_ASLEEP_S)
            return sock

        measure(lambda sock: sock.send(REQUEST), 1, setup=asleep)


def test_round_trip(measure: Measure, listener: socket.socket, pinning: cpu.Pinning) -> None:
    """Wake another process with a request, sleep in ``select``, receive its answer."""
    with (
        other_process(listener, pinning, len(ANSWER)) as sock,
        selectors.DefaultSelector() as selector,
    ):
        selector.register(sock, selectors.EVENT_READ)
        sock.send(REQUEST)

        def batch() -> None:
            for _ in range(100):
                selector.select()
                sock.recv(RECV_SIZE)
                sock.send(REQUEST)

        measure(batch, 100)
        selector.select()


@pytest.fixture
def selector(pairs: list[Pair]) -> Iterator[selectors.BaseSelector]:
    """A selector with every slot's connection."""
    with selectors.DefaultSelector() as selector:
        for near, _ in pairs:
            selector.register(near, selectors.EVENT_READ)
        yield selector


def test_select(measure: Measure, selector: selectors.BaseSelector) -> None:
    """Poll for ready sockets while none is ready."""

    def batch() -> None:
        for _ in range(100):
            selector.select(0)

    measure(batch, 100)
