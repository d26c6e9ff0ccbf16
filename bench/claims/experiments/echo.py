"""The experiment of uvloop's and of curio's author: an echo server, by its processor time.

Ten connections send 1 KB each, and each sends again when it has its answer. The authors
gave requests per second of a server that is the bottleneck, so a ratio of theirs is one of
processor time per message. All servers are alive at once and take turns.
"""

from __future__ import annotations

import selectors
import socket
from contextlib import ExitStack

from bench.claims.experiments.echo_servers import lacking
from bench.claims.experiments.result import ExperimentResult
from bench.claims.experiments.served import Served

KINDS = (
    *(
        f"{loop}_{way}"
        for way in ("streams", "protocol", "sockets")
        for loop in ("asyncio", "uvloop")
    ),
    "rloop_protocol",
    "pytask_streams",
    "pure_streams",
    "curio",
    "gevent",
    "twisted",
)
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
ROUNDS = 60
TURNS = 6
TIMEOUT_S = 30.0
MESSAGE = b"x" * (SIZE - 1) + b"\n"


class Client:
    """Ten connections to one server."""

    def __init__(self, server: Served, stack: ExitStack) -> None:
        self.server = server
        self.sockets = []
        for _ in range(CONNECTIONS):
            sock = socket.create_connection(("127.0.0.1", server.port), timeout=TIMEOUT_S)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.sockets.append(stack.enter_context(sock))

        self.poll = stack.enter_context(selectors.DefaultSelector())
        for sock in self.sockets:
            self.poll.register(sock, selectors.EVENT_READ, sock)

    def turn(self, rounds: int) -> float:
        """So many messages on each connection; returns the server's processor time for them."""
        before = self.server.cpu_s()
        left = dict.fromkeys(self.sockets, rounds)
        for sock in self.sockets:
            sock.sendall(MESSAGE)
        while any(left.values()):
            ready = self.poll.select(TIMEOUT_S)
            if not ready:
                raise TimeoutError("the echo server does not answer")
            for key, _ in ready:
                answered: socket.socket = key.data
                self.receive(answered)
                left[answered] -= 1
                if left[answered]:
                    answered.sendall(MESSAGE)
        return self.server.cpu_s() - before

    @staticmethod
    def receive(sock: socket.socket) -> None:
        """One whole answer, checked."""
        answer = b""
        while len(answer) < SIZE:
            part = sock.recv(SIZE - len(answer))
            if not part:
                raise ConnectionError("the echo server hung up")
            answer += part
        if answer != MESSAGE:
            raise ConnectionError("this is no echo")


def measure() -> ExperimentResult:
    """Microseconds of the server's processor time per message, and their ratios."""
    result = ExperimentResult()
    with ExitStack() as stack:
        kinds = [kind for kind in KINDS if lacking(kind) is None]
        servers = {kind: stack.enter_context(Served("echo_servers", kind)) for kind in kinds}
        clients = {kind: Client(server, stack) for kind, server in servers.items()}
        for client in clients.values():
            client.turn(max(1, ROUNDS // 2))  # warm
        spent = dict.fromkeys(kinds, 0.0)
        for turn in range(TURNS):
            for kind in kinds if turn % 2 else reversed(kinds):
                spent[kind] += clients[kind].turn(ROUNDS)
    messages = TURNS * ROUNDS * CONNECTIONS
    for kind in kinds:
        result.values[f"{kind}_us"] = 1e6 * spent[kind] / messages
    for name, (one, other) in RATIOS.items():
        reason = lacking(one) or lacking(other)
        if reason or not spent[other]:
            result.lacks(name, reason or "the processor time is too short to read")
        else:
            result.values[name] = spent[one] / spent[other]
    return result
