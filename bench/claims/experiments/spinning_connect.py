"""The processor time of waiting for a connection: retrying in a loop, or ``select``."""

from __future__ import annotations

import select
import socket
from contextlib import ExitStack
from time import monotonic, thread_time

from bench.claims.experiments.result import ExperimentResult

WAIT_S = 0.3
SETTLE_S = 0.05
MAX_FILLERS = 64


def measure() -> ExperimentResult:
    """The share of one processor that each way of waiting uses while nothing happens."""
    result = ExperimentResult()
    with ExitStack() as stack:
        pending = _pending_connect(stack)
        if pending is None:
            reason = "this system completes every connect to a full accept queue"
            result.lacks("spin_share", reason)
            result.lacks("select_share", reason)
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
        result.values["spin_share"] = _share(wall, cpu)
        result.facts["tries_per_s"] = round(tries / (monotonic() - wall))
        wall, cpu = monotonic(), thread_time()
        select.select([], [pending], [], WAIT_S)
        result.values["select_share"] = _share(wall, cpu)
        if monotonic() - wall < WAIT_S / 2:
            result.lacks("spin_share", "the connection was established early")
            result.lacks("select_share", "the connection was established early")
    return result


def _share(wall: float, cpu: float) -> float:
    """Percent of one processor since then."""
    return 100 * (thread_time() - cpu) / (monotonic() - wall)


def _pending_connect(stack: ExitStack) -> socket.socket | None:
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
