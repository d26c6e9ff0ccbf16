"""The server's ceiling: the most requests per second that it can answer.

Measured in the same campaign, with wrk (a C client that parses no links) if it
is installed, otherwise with the client below. That one is written in Python and
may be slower than the server. Then its processor is full, the record shows a
client share near 1, and the figure is a lower bound of the ceiling.
"""

from __future__ import annotations

import os
import re
import resource
import selectors
import shutil
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from functools import cache

from bench.controls.programs import answer_size
from bench.machine import cpu
from bench.run.process import interruptible, spawn, without_folders
from bench.run.servers import Server
from bench.schema import CeilingRecord
from bench.text import now
from crawlers.http import RECV_SIZE

CONNECTIONS = 64
SECONDS = 1.0
GRACE_S = 20.0
BUILT_IN = "built-in"
LEAST, MOST = 1.0, 1e9
"""A rate outside of these is none: a client that got one answer in a second got this many."""


class CeilingError(Exception):
    """The ceiling could not be measured; the message says why."""


@dataclass(frozen=True, slots=True)
class Saturation:
    """The report of a client that asks as fast as it can."""

    requests_per_s: float
    errors: int


@cache
def wrk_version() -> str | None:
    """``wrk 4.1.0``, or None when wrk is not installed."""
    if shutil.which("wrk") is None:
        return None
    # wrk prints its version only with its usage, and exits with 1.
    try:
        usage = subprocess.run(["wrk", "-v"], capture_output=True, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return "wrk"
    text = (usage.stdout + usage.stderr).decode(errors="replace")
    match = re.search(r"wrk (?:debian/)?(\d[\w.]{0,20})", text, re.ASCII)
    return f"wrk {match.group(1)}" if match else "wrk"


def parse_wrk(text: str) -> Saturation:
    """Read wrk's report.

    Raises :class:`CeilingError` if there is no possible rate in it, or no possible number of
    errors.
    """
    rate = re.search(r"Requests/sec:\s*([0-9.]+)", text)
    if rate is None:
        raise CeilingError(f"it gave no rate: {tail(text)}")
    counts = re.findall(
        r"(?:(?:connect|read|write|timeout)|Non-2xx or 3xx responses:) ([0-9]+)", text
    )
    try:
        found = Saturation(float(rate[1]), sum(map(int, counts)))
    except ValueError:
        raise CeilingError(f"its report has impossible numbers: {tail(text)}") from None
    if not (LEAST <= found.requests_per_s < MOST and found.errors < MOST):
        raise CeilingError(f"its report has impossible numbers: {tail(text)}")
    return found


def tail(text: str) -> str:
    return repr(without_folders(text).strip()[-200:])


def command(tool: str, server: Server, connections: int, seconds: float) -> list[str]:
    path = "/p/0" if server.site.startswith("list:") else "/"
    if tool == BUILT_IN:
        host, _, port = server.listening.rpartition(":")
        return [
            *(sys.executable, "-s", "-m", "bench.run.ceiling"),
            *(host, port, path, str(connections), str(seconds)),
        ]
    whole = max(1, round(seconds))  # wrk takes whole seconds only
    return ["wrk", "-t1", f"-c{connections}", f"-d{whole}s", f"{server.prefix}{path}"]


def measure(
    server: Server,
    block: int,
    cores: list[int],
    *,
    connections: int = CONNECTIONS,
    seconds: float = SECONDS,
    tool: str | None = None,
) -> CeilingRecord:
    """Send requests for ``seconds`` as fast as possible, and record how many were answered.

    Whatever the client does wrong, its record has no ceiling but the reason.
    """
    tool = tool or wrk_version() or BUILT_IN
    record = CeilingRecord(
        block=block,
        tool=tool,
        site=server.site if not server.site.startswith("dir:") else "dir",
        connections=connections,
        requests_per_s=None,
        server_cpu_share=None,
        client_cpu_share=None,
        errors=0,
        started=now(),
    )
    try:
        found = ask(server, tool, cores, connections, seconds)
    except (CeilingError, OSError) as error:
        return record.model_copy(update={"reason": f"no ceiling by {tool}, because {error}"})
    return record.model_copy(update=found)


def ask(
    server: Server, tool: str, cores: list[int], connections: int, seconds: float
) -> dict[str, float | int]:
    """Run the client; returns what it and the processors say, by the record's names.

    Raises :class:`CeilingError` or :class:`OSError` when the client fails.
    """
    server_before, children_before = sum(server.cpu()), children_s()
    began = time.monotonic()
    client = spawn(
        command(tool, server, connections, seconds),
        stdin=subprocess.DEVNULL,
        stderr=subprocess.STDOUT,
    )
    if cores:
        cpu.pin(client.pid, cores)
    try:
        with interruptible():
            raw, _ = client.communicate(timeout=seconds + GRACE_S)
    except BaseException as error:
        with suppress(ProcessLookupError):
            # With all that it has started, which would keep its output open.
            os.killpg(client.pid, signal.SIGKILL)
        client.communicate()
        if isinstance(error, subprocess.TimeoutExpired):
            raise CeilingError("it did not end in time") from None
        raise
    wall = time.monotonic() - began
    output = raw.decode(errors="replace")
    if client.returncode:
        raise CeilingError(f"it failed: {tail(output)}")
    client_s = children_s() - children_before
    outcome = parse_wrk(output)
    return {
        "requests_per_s": outcome.requests_per_s,
        "server_cpu_share": min(1.0, (sum(server.cpu()) - server_before) / wall),
        "client_cpu_share": min(1.0, client_s / wall),
        "errors": outcome.errors,
    }


def children_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def saturate(host: str, port: int, path: str, connections: int, seconds: float) -> Saturation:
    """Request one page again and again on many connections, as fast as Python can.

    All answers have the length of the first one. Parsing them would make this
    client even slower.
    """
    request = f"GET {path} HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode()
    with socket.create_connection((host, port), 5.0) as probe:
        probe.sendall(request)
        length = answer_size(probe.recv(RECV_SIZE))
    selector = selectors.DefaultSelector()
    left: dict[socket.socket, int] = {}
    done = errors = 0
    try:
        for _ in range(connections):
            sock = socket.create_connection((host, port), 5.0)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            selector.register(sock, selectors.EVENT_READ)
            left[sock] = length
            sock.send(request)
        began = time.monotonic()
        while time.monotonic() - began < seconds and left:
            for key, _ in selector.select(1.0):
                sock = key.fileobj  # type: ignore[assignment]
                data = sock.recv(RECV_SIZE)
                if not data:
                    errors += 1
                    selector.unregister(sock)
                    del left[sock]
                    sock.close()
                    continue
                left[sock] -= len(data)
                if left[sock] <= 0:
                    done += 1
                    left[sock] = length
                    sock.send(request)
        return Saturation(done / (time.monotonic() - began), errors)
    finally:
        selector.close()
        for sock in left:
            sock.close()


def main(arguments: list[str]) -> int:
    """Run the client and report in the format of wrk, so that one parser reads both."""
    host, port, path, connections, seconds = arguments
    outcome = saturate(host, int(port), path, int(connections), float(seconds))
    print(f"Requests/sec: {outcome.requests_per_s:.2f}")
    print(f"Socket errors: connect 0, read {outcome.errors}, write 0, timeout 0")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
