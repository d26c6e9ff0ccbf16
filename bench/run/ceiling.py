"""The server's ceiling: the most requests per second that it can answer.

Measured in the same campaign, with wrk (a C client that parses no links) if it
is installed, otherwise with the client below. That one is written in Python and
may be slower than the server. Then its processor is full, the record shows a
client share near 1, and the figure is a lower bound of the ceiling.
"""

from __future__ import annotations

import re
import resource
import selectors
import shutil
import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from functools import cache

from bench.machine.probes import cpu
from bench.run.interrupts import interruptible
from bench.run.process import spawn
from bench.run.servers import Server
from bench.schema import CeilingRecord
from bench.text import now

CONNECTIONS = 64
SECONDS = 1.0
GRACE_S = 20.0
BUILT_IN = "built-in"


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
        usage = subprocess.run(["wrk", "-v"], capture_output=True, encoding="utf-8", timeout=10)
    except subprocess.TimeoutExpired:
        return "wrk"
    match = re.search(r"wrk (?:debian/)?(\d[\w.]*)", usage.stdout + usage.stderr)
    return f"wrk {match.group(1)}" if match else "wrk"


def parse_wrk(text: str) -> Saturation:
    """Read wrk's report.

    Raises :class:`CeilingError` if there is no rate in it.
    """
    rate = re.search(r"Requests/sec:\s*([\d.]+)", text)
    if rate is None:
        raise CeilingError(f"wrk gave no rate: {text.strip()[-200:]!r}")
    errors = sum(map(int, re.findall(r"(?:connect|read|write|timeout) (\d+)", text)))
    refused = re.search(r"Non-2xx or 3xx responses: (\d+)", text)
    return Saturation(float(rate.group(1)), errors + (int(refused.group(1)) if refused else 0))


def command(tool: str, server: Server, connections: int, seconds: float) -> list[str]:
    """The command line of the saturating client."""
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

    Raises :class:`CeilingError` when the client fails.
    """
    tool = tool or wrk_version() or BUILT_IN
    started = now()
    server_before = sum(server.cpu())
    children_before = resource.getrusage(resource.RUSAGE_CHILDREN)
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
    except subprocess.TimeoutExpired:
        client.kill()
        client.communicate()
        raise CeilingError(f"{tool} did not end in time") from None
    except BaseException:
        client.kill()
        client.communicate()
        raise
    wall = time.monotonic() - began
    output = raw.decode(errors="replace")
    if client.returncode:
        raise CeilingError(f"{tool} failed: {output.strip()[-200:]}")
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    client_s = (children.ru_utime - children_before.ru_utime) + (
        children.ru_stime - children_before.ru_stime
    )
    outcome = parse_wrk(output)
    return CeilingRecord(
        block=block,
        tool=tool,
        site=server.site if not server.site.startswith("dir:") else "dir",
        connections=connections,
        requests_per_s=outcome.requests_per_s,
        server_cpu_share=min(1.0, (sum(server.cpu()) - server_before) / wall),
        client_cpu_share=min(1.0, client_s / wall),
        errors=outcome.errors,
        started=started,
    )


def saturate(host: str, port: int, path: str, connections: int, seconds: float) -> Saturation:
    """Request one page again and again on many connections, as fast as Python can.

    All answers have the length of the first one. Parsing them would make this
    client even slower.
    """
    request = f"GET {path} HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode()
    with socket.create_connection((host, port), 5.0) as probe:
        probe.sendall(request)
        length = answer_length(probe)
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
                data = sock.recv(65536)
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


def answer_length(sock: socket.socket) -> int:
    """The length of the next answer in bytes, head and body."""
    data = b""
    while b"\r\n\r\n" not in data:
        received = sock.recv(65536)
        if not received:
            raise CeilingError("the server closed the connection")
        data += received
    head, _, _ = data.partition(b"\r\n\r\n")
    length = re.search(rb"(?i)content-length:\s*(\d+)", head)
    if length is None:
        raise CeilingError("the server's answer has no Content-Length")
    return len(head) + 4 + int(length.group(1))


def main(arguments: list[str]) -> int:
    """Run the client and report in the format of wrk, so that one parser reads both."""
    host, port, path, connections, seconds = arguments
    outcome = saturate(host, int(port), path, int(connections), float(seconds))
    print(f"Requests/sec: {outcome.requests_per_s:.2f}")
    print(f"Socket errors: connect 0, read {outcome.errors}, write 0, timeout 0")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
