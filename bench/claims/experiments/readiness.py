"""What one call of select, poll and epoll costs while thousands of connections lie idle."""

from __future__ import annotations

import resource
import selectors
import socket
from contextlib import ExitStack
from time import perf_counter

from bench.claims.experiments.outcome import Outcome

FEW, SELECT_MOST, MANY = 10, 900, 5000
"""Idle sockets; ``select`` cannot hold descriptors from 1,024 up."""
BATCH_S = 0.02
BATCHES = 5
SPARE_DESCRIPTORS = 64
KINDS = {"select": "SelectSelector", "poll": "PollSelector", "epoll": "EpollSelector"}


def measure() -> Outcome:
    """Microseconds for each call, and each way's cost over epoll's with as many idle."""
    outcome = Outcome()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = MANY + SPARE_DESCRIPTORS
    if soft != resource.RLIM_INFINITY and soft < needed:
        wanted = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    for name, most in (("select", SELECT_MOST), ("poll", MANY), ("epoll", MANY)):
        for idle in (FEW, SELECT_MOST, MANY):
            if idle <= most:
                key = f"{name}_us_{idle}"
                try:
                    outcome.values[key] = _call_us(KINDS[name], idle)
                except AttributeError:
                    outcome.lacks(key, f"this system has no {name}")
                except OSError as error:
                    outcome.lacks(key, f"{idle} sockets cannot be opened: {error.strerror}")
    _ratio(outcome, "select_over_epoll", f"select_us_{SELECT_MOST}", f"epoll_us_{SELECT_MOST}")
    _ratio(outcome, "poll_over_epoll", f"poll_us_{MANY}", f"epoll_us_{MANY}")
    for name in ("poll", "epoll"):
        _ratio(outcome, f"{name}_growth", f"{name}_us_{MANY}", f"{name}_us_{FEW}")
    return outcome


def _call_us(kind: str, idle: int) -> float:
    """One call with so many idle sockets and one that is ready; the fastest batch counts."""
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


def _ratio(outcome: Outcome, name: str, above: str, below: str) -> None:
    one, other = outcome.values[above], outcome.values[below]
    if one is None or other is None:
        outcome.lacks(name, outcome.reasons.get(above) or outcome.reasons[below])
    else:
        outcome.values[name] = one / other
