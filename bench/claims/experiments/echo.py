"""The experiment of uvloop's and of curio's author: an echo server, by its processor time.

Ten connections send 1 KB each, and each sends again when it has its answer. The authors
gave requests per second of a server that is the bottleneck, so a ratio of theirs is one of
processor time per message. All servers are alive at once and take turns.
"""

from __future__ import annotations

import socket
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from typing import NamedTuple

from bench.claims.experiments import echo_client
from bench.claims.experiments.echo_client import Turn
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
    """Ten connections to one server."""

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
    """The share of the time in which a server had work: it ran, or waited for its processor."""
    wall_s = sum(each.wall_s for each in turns)
    return min(1.0, sum(each.cpu_s + each.waited_s for each in turns) / wall_s)


def noted(in_c: bool, busy: Sequence[float]) -> str:
    """The client and how busy its servers were, for the page."""
    language = "C" if in_c else "Python, because there is no C compiler"
    return (
        f"client in {language}; in the last repeat the servers had work {100 * min(busy):.0f} to "
        f"{100 * max(busy):.0f} % of the time"
    )


def measure() -> ExperimentResult:
    """Microseconds of the server's processor time per message, and their ratios."""
    result = ExperimentResult()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="c10k-echo-")))
        in_c = echo_client.build(folder)
        send = in_c or echo_client.in_python
        kinds = [kind for kind in KINDS if lacking(kind) is None]
        servers = {kind: stack.enter_context(Served("echo_servers", kind)) for kind in kinds}
        clients = {kind: Client(server, send, stack) for kind, server in servers.items()}
        for client in clients.values():
            client.turn(max(1, ROUNDS // 2))  # warm
        turns: dict[str, list[Spent]] = {kind: [] for kind in kinds}
        for turn in range(TURNS):
            for kind in kinds if turn % 2 else reversed(kinds):
                turns[kind].append(clients[kind].turn(ROUNDS))
    spent = {kind: sum(each.cpu_s for each in turns[kind]) for kind in kinds}
    busy = [busy_share(turns[kind]) for kind in kinds]
    result.facts |= {
        "client": "C" if in_c else "Python",
        "least_busy_server": round(min(busy), 3),
        "median_busy_server": round(median(busy), 3),
        "note": noted(in_c is not None, busy),
    }
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
