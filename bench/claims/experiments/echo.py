"""The experiment of uvloop's and of curio's author: an echo server, by its processor time.

Ten connections send 1 KB each, and each sends again when it has its answer. The authors
gave requests per second of a server that is the bottleneck, so a ratio of theirs is one of
processor time per message. All servers are alive at once and take turns. They follow
``examples/bench/echoserver.py`` of uvloop (streams, protocol, sockets) and the server in curio's
README, as their authors wrote them.

A server that waits for its client is woken for each message and never finds two at once, which
flatters the slower one. So the client is in C, built with the machine's compiler, ``cc``.
"""

from __future__ import annotations

import asyncio
import ctypes
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from asyncio import AbstractEventLoop as Loop
from asyncio import StreamReader, StreamWriter
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple, TypeAlias, cast

from bench.claims.experiments import ExperimentResult, Served

# --- the servers ------------------------------------------------------------------------------

RECEIVE = 1_000_000
BACKLOG = 100
Connection: TypeAlias = Any
"""A socket of a library without types."""


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


def loop_of(library: str) -> Callable[[], Loop]:
    """What makes a loop of asyncio, of another library, or with parts of asyncio's in Python."""
    if library == "asyncio":
        return asyncio.SelectorEventLoop
    if library not in ("pytask", "pure"):
        factory: Callable[[], Loop] = import_module(library).new_event_loop
        return factory
    from crawlers.variants.asyncio_pure import PureLoop, make_task

    def python_task_loop() -> Loop:
        """Task in Python and Future in C: as the claim of 2016 compared."""
        loop = asyncio.SelectorEventLoop()
        loop.set_task_factory(make_task)
        return loop

    return PureLoop if library == "pure" else python_task_loop


def curio(listener: socket.socket) -> None:
    """The server of curio's README."""
    library: Any = import_module("curio")
    wrap: Any = import_module("curio.io").Socket

    async def client(sock: Connection) -> None:
        async with sock:
            while data := await sock.recv(RECEIVE):
                await sock.sendall(data)

    async def main() -> None:
        async with wrap(listener) as accepting:
            while True:
                sock, _ = await accepting.accept()
                await library.spawn(client, sock, daemon=True)

    library.run(main)


def gevent(listener: socket.socket) -> None:
    server: Any = import_module("gevent.server").StreamServer
    gevent_socket: Any = import_module("gevent.socket").socket

    def client(sock: Connection, _: object) -> None:
        while data := sock.recv(RECEIVE):
            sock.sendall(data)

    accepting = gevent_socket(fileno=listener.detach())
    server(accepting, client).serve_forever()


def twisted(listener: socket.socket) -> None:
    base: Any = import_module("twisted.internet.protocol")
    reactor: Any = import_module("twisted.internet.reactor")

    class Echo(base.Protocol):  # type: ignore[misc]
        def dataReceived(self, data: bytes) -> None:
            self.transport.write(data)

    listener.setblocking(False)
    reactor.adoptStreamPort(listener.fileno(), socket.AF_INET, base.Factory.forProtocol(Echo))
    reactor.run()


WAYS = {"streams": streams, "protocol": protocol, "sockets": sockets}
OTHERS = {"curio": curio, "gevent": gevent, "twisted": twisted}
KINDS = (
    *(f"{loop}_{way}" for way in WAYS for loop in ("asyncio", "uvloop")),
    *("rloop_protocol", "pytask_streams", "pure_streams"),
    *OTHERS,
)


def serve_echo(kind: str) -> None:
    listener = socket.create_server(("127.0.0.1", 0), backlog=BACKLOG)
    print(listener.getsockname()[1], flush=True)
    if kind in OTHERS:
        OTHERS[kind](listener)
        return
    library, _, way = kind.partition("_")
    with asyncio.Runner(loop_factory=loop_of(library)) as runner:
        runner.run(WAYS[way](listener))


def lacking(kind: str) -> str | None:
    library = kind.partition("_")[0]
    if library in ("asyncio", "pytask", "pure"):
        return None
    if find_spec(library) is None:
        return f"{library} is not installed"
    if library == "curio" and sys.version_info >= (3, 12):
        return "curio 1.6 does not import on CPython 3.12 and later"
    return None


# --- the client -------------------------------------------------------------------------------

SOURCE = Path(__file__).with_name("echo_client.c")
COMPILE_S = 60.0
ERRORS = {
    1: "the echo server does not answer",
    2: "the echo server hung up",
    3: "this is no echo",
    4: "too many connections, or too large a message",
}

Turn = Callable[[Sequence[socket.socket], int, bytes, float], None]
"""Send so many messages on each connection; raises :class:`ConnectionError`, or on a timeout
:class:`TimeoutError`."""


def built(folder: Path) -> Turn | None:
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

#: Value: (the kind whose time is divided, the kind that divides), so more is faster.
RATIOS = {
    "uvloop_streams": ("asyncio_streams", "uvloop_streams"),
    "uvloop_protocol": ("asyncio_protocol", "uvloop_protocol"),
    "uvloop_sockets": ("asyncio_sockets", "uvloop_sockets"),
    "rloop_protocol": ("uvloop_protocol", "rloop_protocol"),
    "future_in_c": ("pure_streams", "pytask_streams"),
    "curio_over_gevent": ("gevent", "curio"),
    "curio_over_twisted": ("twisted", "curio"),
}
SIZE = 1000
"""The default of uvloop's ``examples/bench/echoclient.py``."""
CONNECTIONS = 10
ROUNDS = 150
TURNS = 6
TIMEOUT_S = 30.0
MESSAGE = b"x" * (SIZE - 1) + b"\n"


class Spent(NamedTuple):
    """Seconds of a server's processor, of waiting for it, and of the clock."""

    cpu_s: float
    waited_s: float
    wall_s: float


class Client:
    def __init__(self, server: Served, send: Turn, stack: ExitStack) -> None:
        self.server = server
        self.send = send
        self.sockets = []
        for _ in range(CONNECTIONS):
            sock = socket.create_connection(("127.0.0.1", server.port), timeout=TIMEOUT_S)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.sockets.append(stack.enter_context(sock))

    def turn(self, rounds: int) -> Spent:
        """So many messages on each connection; what the server spent on them."""
        cpu_s, waited_s, began = self.server.cpu_s(), self.server.waited_s(), time.monotonic()
        self.send(self.sockets, rounds, MESSAGE, TIMEOUT_S)
        wall_s = time.monotonic() - began
        return Spent(self.server.cpu_s() - cpu_s, self.server.waited_s() - waited_s, wall_s)


def busy_share(turns: Sequence[Spent]) -> float:
    wall_s = sum(each.wall_s for each in turns)
    return min(1.0, sum(each.cpu_s + each.waited_s for each in turns) / wall_s)


def echo() -> ExperimentResult:
    """Microseconds of the server's processor time per message, and their ratios."""
    result = ExperimentResult()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="c10k-echo-")))
        send = built(folder)
        if send is None:
            result.lacks("there is no C compiler, which builds the client", *RATIOS)
            return result
        kinds = [kind for kind in KINDS if lacking(kind) is None]
        servers = {kind: stack.enter_context(Served(serve_echo, kind)) for kind in kinds}
        clients = {k: Client(server, send, stack) for k, server in servers.items()}
        for client in clients.values():
            client.turn(max(1, ROUNDS // 2))  # warm
        turns: dict[str, list[Spent]] = {kind: [] for kind in kinds}
        for turn in range(TURNS):
            for kind in kinds if turn % 2 else reversed(kinds):
                turns[kind].append(clients[kind].turn(ROUNDS))
    spent = {kind: sum(each.cpu_s for each in turns[kind]) for kind in kinds}
    busy = [busy_share(turns[kind]) for kind in kinds]
    result.facts |= {
        "client": "C",
        "least_busy_server": round(min(busy), 3),
        "median_busy_server": round(median(busy), 3),
        "note": "client in C; in the last repeat the servers had work "
        f"{100 * min(busy):.0f} to {100 * max(busy):.0f} % of the time",
    }
    for kind in kinds:
        result.values[f"{kind}_us"] = 1e6 * spent[kind] / (TURNS * ROUNDS * CONNECTIONS)
    for name, (one, other) in RATIOS.items():
        reason = lacking(one) or lacking(other)
        if reason or not spent[other]:
            result.lacks(reason or "the processor time is too short to read", name)
        else:
            result.values[name] = spent[one] / spent[other]
    return result
