"""The cost of one call of select, poll and epoll with thousands of idle connections."""

from __future__ import annotations

import resource
import selectors
import socket
from contextlib import ExitStack
from time import perf_counter

from bench.claims.experiments.result import ExperimentResult

FEW, SELECT_MOST, MANY = 10, 900, 5000
"""Numbers of idle sockets; ``select`` cannot use descriptors from 1,024 up."""
BATCH_S = 0.02
BATCHES = 5
SPARE_DESCRIPTORS = 64
KINDS = {"select": "SelectSelector", "poll": "PollSelector", "epoll": "EpollSelector"}


def measure() -> ExperimentResult:
    """Microseconds per call, and the cost relative to epoll with as many idle sockets."""
    result = ExperimentResult()
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
                    result.values[key] = _call_us(KINDS[name], idle)
                except AttributeError:
                    result.lacks(key, f"this system has no {name}")
                except OSError as error:
                    result.lacks(key, f"{idle} sockets cannot be opened: {error.strerror}")
    _ratio(result, "select_over_epoll", f"select_us_{SELECT_MOST}", f"epoll_us_{SELECT_MOST}")
    _ratio(result, "poll_over_epoll", f"poll_us_{MANY}", f"epoll_us_{MANY}")
    for name in ("poll", "epoll"):
        _ratio(result, f"{name}_growth", f"{name}_us_{MANY}", f"{name}_us_{FEW}")
    return result


def _call_us(kind: str, idle: int) -> float:
    """One call with ``idle`` sockets and one that is ready; the fastest batch counts."""
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


def _ratio(result: ExperimentResult, name: str, above: str, below: str) -> None:
    one, other = result.values[above], result.values[below]
    if one is None or other is None:
        result.lacks(name, result.reasons.get(above) or result.reasons[below])
    else:
        result.values[name] = one / other
