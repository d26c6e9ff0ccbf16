"""The experiment of uvloop's author: an echo server, by its processor time.

Ten connections send 1 KB each, and each sends again when it has its answer. The author
gave requests per second of a server that is the bottleneck, so a ratio of his is one of
processor time per message. All servers are alive at once and take turns. They follow
``examples/bench/echoserver.py`` of uvloop (streams, protocol, sockets).

A server that waits for its client is woken for each message and never finds two at once, which
flatters the slower one. So the client is in C, built with the machine's compiler, ``cc``.
"""

from __future__ import annotations

import asyncio
import ctypes
import os
import shutil
import socket
import subprocess
import time
from asyncio import AbstractEventLoop as Loop
from asyncio import StreamReader, StreamWriter
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import cast

from bench.claims.experiments import ExperimentResult, running
from bench.filesystem import scratch
from bench.sides.process import Child

# --- the servers ------------------------------------------------------------------------------

RECEIVE = 1_000_000
BACKLOG = 100


async def streams(listener: socket.socket) -> None:
    """Read and write, as in uvloop's benchmark, which does not drain."""

    async def client(reader: StreamReader, writer: StreamWriter) -> None:
        while data := await reader.read(RECEIVE):
            writer.write(data)
        writer.close()

    await asyncio.start_server(client, sock=listener)
    await asyncio.Event().wait()


class EchoProtocol(asyncio.Protocol):
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport; uvloop's is no subclass of asyncio's."""
        self.transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        self.transport.write(data)


async def protocol(listener: socket.socket) -> None:
    await asyncio.get_running_loop().create_server(EchoProtocol, sock=listener)
    await asyncio.Event().wait()


async def sockets(listener: socket.socket) -> None:
    """``sock_recv`` and ``sock_sendall`` of the loop, one task per connection."""
    loop, tasks = asyncio.get_running_loop(), set()

    async def client(sock: socket.socket) -> None:
        with sock:
            while data := await loop.sock_recv(sock, RECEIVE):
                await loop.sock_sendall(sock, data)

    listener.setblocking(False)
    while True:
        sock, _ = await loop.sock_accept(listener)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        tasks.add(loop.create_task(client(sock)))


WAYS = {"streams": streams, "protocol": protocol, "sockets": sockets}
KINDS = tuple(f"{library}_{way}" for way in WAYS for library in ("asyncio", "uvloop"))


def serve_echo(kind: str) -> None:
    library, _, way = kind.partition("_")
    factory: Callable[[], Loop] = asyncio.SelectorEventLoop
    if library == "uvloop":
        factory = import_module(library).new_event_loop
    listener = socket.create_server(("127.0.0.1", 0), backlog=BACKLOG)
    print(listener.getsockname()[1], flush=True)
    with asyncio.Runner(loop_factory=factory) as runner:
        runner.run(WAYS[way](listener))


# --- the client -------------------------------------------------------------------------------

SOURCE = Path(__file__).with_name("echo_client.c")
COMPILE_S = 60.0
ERRORS = {
    1: "the echo server does not answer",
    2: "the echo server hung up",
    3: "this is no echo",
    4: "too many connections, or too large a message",
}

EchoTurn = Callable[[Sequence[socket.socket], int, bytes, float], None]
"""Send so many messages on each connection; raises :class:`ConnectionError`, or on a timeout
:class:`TimeoutError`."""


def built(folder: Path) -> EchoTurn | None:
    """The client in C, built into this folder; None without a compiler that can build it."""
    compiler = shutil.which("cc")
    if compiler is None:
        return None
    library = folder / "echo_client.so"
    arguments = [compiler, "-O2", "-shared", "-fPIC", "-o", str(library), str(SOURCE)]
    try:
        subprocess.run(arguments, check=True, capture_output=True, timeout=COMPILE_S)
        turn = ctypes.CDLL(str(library)).echo_turn
    except (OSError, subprocess.SubprocessError):
        return None
    turn.argtypes = [ctypes.POINTER(ctypes.c_int), *[ctypes.c_int] * 2]
    turn.argtypes += [ctypes.c_char_p, *[ctypes.c_int] * 2]
    turn.restype = ctypes.c_int

    def send(sockets: Sequence[socket.socket], rounds: int, message: bytes, wait_s: float) -> None:
        numbers = (ctypes.c_int * len(sockets))(*(sock.fileno() for sock in sockets))
        code = turn(numbers, len(sockets), rounds, message, len(message), round(1000 * wait_s))
        if code:
            raise (TimeoutError if code == 1 else ConnectionError)(ERRORS[code])

    return send


# --- the experiment ---------------------------------------------------------------------------

SIZE = 1000
"""The default of uvloop's ``examples/bench/echoclient.py``."""
CONNECTIONS = 10
ROUNDS = 150
TURNS = 6
START_S = TIMEOUT_S = 30.0
MESSAGE = b"x" * (SIZE - 1) + b"\n"


class Echo:
    """A server in a process of its own, and the connections to it.

    It runs on the processors that the experiment does not use, if there are any, and dies with
    the experiment.
    """

    def __init__(self, kind: str, send: EchoTurn, stack: ExitStack) -> None:
        self.send = send
        self.cpu_s = self.wall_s = 0.0
        self.child = Child(f"the server {kind}", running(serve_echo, kind))
        stack.callback(self.child.close, 0.0)  # it serves until it is killed
        if hasattr(os, "sched_setaffinity"):
            mine = os.sched_getaffinity(0)
            others = set(range(os.cpu_count() or 1)) - mine
            os.sched_setaffinity(self.child.pid, others or mine)
        place = "127.0.0.1", int(self.child.receive(time.monotonic() + START_S))
        self.sockets = []
        for _ in range(CONNECTIONS):
            sock = socket.create_connection(place, timeout=TIMEOUT_S)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.sockets.append(stack.enter_context(sock))

    def warm(self) -> None:
        self.send(self.sockets, max(1, ROUNDS // 2), MESSAGE, TIMEOUT_S)

    def turn(self) -> None:
        """Send, and add what the server spent."""
        cpu_s, began = self.child.cpu_s(), time.monotonic()
        self.send(self.sockets, ROUNDS, MESSAGE, TIMEOUT_S)
        self.wall_s += time.monotonic() - began
        self.cpu_s += self.child.cpu_s() - cpu_s


def echo() -> ExperimentResult:
    """Microseconds of a server's processor per message, and asyncio's divided by uvloop's."""
    result = ExperimentResult()
    ratios = [f"uvloop_{way}" for way in WAYS]
    with ExitStack() as stack:
        send = built(stack.enter_context(scratch()))
        if send is None:
            result.lacks("there is no C compiler, which builds the client", *ratios)
            return result
        if find_spec("uvloop") is None:
            result.lacks("uvloop is not installed", *ratios)
            return result
        echoes = {kind: Echo(kind, send, stack) for kind in KINDS}
        for each in echoes.values():
            each.warm()
        for turn in range(TURNS):
            for kind in KINDS if turn % 2 else reversed(KINDS):
                echoes[kind].turn()
    busy = sorted(each.cpu_s / each.wall_s for each in echoes.values())
    result.facts["note"] = (
        "client in C; in the last repeat the servers worked "
        f"{100 * busy[0]:.0f} to {100 * busy[-1]:.0f} % of the time"
    )
    for kind, each in echoes.items():
        result.values[f"{kind}_us"] = 1e6 * each.cpu_s / (TURNS * ROUNDS * CONNECTIONS)
    for way in WAYS:
        result.ratio(f"uvloop_{way}", f"asyncio_{way}_us", f"uvloop_{way}_us")
    return result
