"""Processor time of waiting for a connection: trying again and again, against ``select``."""

from __future__ import annotations

import select
import socket
from contextlib import ExitStack
from time import monotonic, thread_time

from bench.claims.experiments.outcome import Outcome

WAIT_S = 0.3
SETTLE_S = 0.05
MAX_FILLERS = 64


def measure() -> Outcome:
    """Share of one processor that each way of waiting burns while nothing comes."""
    outcome = Outcome()
    with ExitStack() as stack:
        pending = _pending_connect(stack)
        if pending is None:
            reason = "this system completes every connect to a full accept queue"
            outcome.lacks("spin_share", reason)
            outcome.lacks("select_share", reason)
            return outcome
        wall, cpu = monotonic(), thread_time()
        tries = 0
        while monotonic() - wall < WAIT_S:
            tries += 1
            try:  # as the chapter does it
                pending.send(b"GET / HTTP/1.0\r\n\r\n")
                break
            except OSError:
                pass
        outcome.values["spin_share"] = _share(wall, cpu)
        outcome.facts["tries_per_s"] = round(tries / (monotonic() - wall))
        wall, cpu = monotonic(), thread_time()
        select.select([], [pending], [], WAIT_S)
        outcome.values["select_share"] = _share(wall, cpu)
        if monotonic() - wall < WAIT_S / 2:
            outcome.lacks("spin_share", "the connection stood before the time was over")
            outcome.lacks("select_share", "the connection stood before the time was over")
    return outcome


def _share(wall: float, cpu: float) -> float:
    """Per cent of one processor since then."""
    return 100 * (thread_time() - cpu) / (monotonic() - wall)


def _pending_connect(stack: ExitStack) -> socket.socket | None:
    """A non-blocking connect that stays undecided: its server's accept queue is full."""
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
