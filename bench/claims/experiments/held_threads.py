"""Ten thousand threads with a connection each, at Python's own switch interval.

The campaign's trials of this size set the interval to 10 s (``HOLD_SWITCH_S``), for every
backend. Here it is the 5 ms that Python starts with.
"""

from __future__ import annotations

import resource
import selectors
import socket
import sys
from contextlib import suppress
from threading import Thread
from time import monotonic, sleep

from bench.claims.experiments.result import ExperimentResult
from bench.claims.experiments.served import Served

CONNECTIONS = 10_000
PER_SECOND = 4_000
"""Like the ramp of the campaign: ten thousand at once overflow the accept queue."""
STEP = 100
DEADLINE_S = 15.0
SPARE_DESCRIPTORS = 64


def raise_limit() -> None:
    """Allow as many descriptors as are needed, if the system lets us."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = CONNECTIONS + SPARE_DESCRIPTORS
    if soft != resource.RLIM_INFINITY and soft < needed:
        wanted = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def hold(port: int) -> None:
    """Connect, ask, and wait for an answer that does not come; failures are not held."""
    with (
        suppress(OSError),
        socket.create_connection(("127.0.0.1", port), timeout=2 * DEADLINE_S) as sock,
    ):
        sock.sendall(b"GET / HTTP/1.1\r\n\r\n")
        sock.recv(1)


def measure() -> ExperimentResult:
    """How many requests the server holds, and when it had them all.

    The server is left to die with this process: its end would wake all threads at once.
    """
    raise_limit()
    return hold_all(Served("held_threads").port)


def hold_all(port: int) -> ExperimentResult:
    """Start the threads, and ask the server until it has them all or time is up."""
    result = ExperimentResult()
    began = monotonic()
    stopped_by = ""
    for number in range(CONNECTIONS):
        try:
            Thread(target=hold, args=(port,), daemon=True).start()
        except RuntimeError as error:
            stopped_by = f"; {type(error).__name__}: {error}, after {number:,} threads"
            break
        if number % STEP == STEP - 1:
            sleep(max(0.0, began + number / PER_SECOND - monotonic()))
        if monotonic() - began > DEADLINE_S:
            break
    held = 0
    with socket.create_connection(("127.0.0.1", port), timeout=2 * DEADLINE_S) as asking:
        while held < CONNECTIONS and monotonic() - began < DEADLINE_S:
            asking.sendall(b"?")
            held = int(asking.recv(64))
            sleep(0.05)
    seconds = monotonic() - began
    result.values["held"] = float(held)
    result.values["seconds"] = seconds
    interval = 1000 * sys.getswitchinterval()
    result.facts["note"] = f"{seconds:.1f} s, switch interval {interval:g} ms{stopped_by}"
    return result


def main() -> None:
    """Count the requests that arrive, and tell the count to a connection that sends ``?``."""
    raise_limit()
    listener = socket.create_server(("127.0.0.1", 0), backlog=CONNECTIONS)
    print(listener.getsockname()[1], flush=True)
    selector = selectors.DefaultSelector()
    selector.register(listener, selectors.EVENT_READ)
    held = 0
    while True:
        for key, _ in selector.select():
            sock = key.fileobj
            assert isinstance(sock, socket.socket)
            if sock is listener:
                accepted, _ = listener.accept()
                selector.register(accepted, selectors.EVENT_READ)
                continue
            data = sock.recv(64)
            if data.startswith(b"?"):
                sock.sendall(b"%d" % held)
            elif data:
                held += 1
            else:
                selector.unregister(sock)
                sock.close()


if __name__ == "__main__":
    main()
