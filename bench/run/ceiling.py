"""The server's ceiling: the most requests per second that it can answer.

Measured in the same campaign with wrk, a C client that parses no links. Without it there is no
ceiling: a client in Python is slower than the server, and would call trials limited by the server
that are not.
"""

from __future__ import annotations

import re
import resource
import subprocess
import time

from bench.machine import cpu, host, instruments
from bench.schema import CeilingRecord
from bench.sides.process import interruptible, spawn, without_folders
from bench.sides.servers import Server
from bench.text import in_percent, now

CONNECTIONS = 64
SECONDS = 1
GRACE_S = 20.0

MOST_STOLEN = 0.05
"""Of the time: a ceiling that was measured while the host ran other guests is too low."""

FULL = 0.8
"""Of a processor, with which one side is at its limit: of the published 0.85 at least."""


def parse_wrk(text: str) -> tuple[float, int]:
    """The rate and the errors of wrk's report. Raises :class:`ValueError` without a rate."""
    rate = re.search(r"Requests/sec:\s*([1-9]\d{0,8}(\.\d+)?)$", text, re.MULTILINE)
    if rate is None:
        raise ValueError(f"it gave no rate: {tail(text)}")
    counts = re.findall(
        r"(?:(?:connect|read|write|timeout)|Non-2xx or 3xx responses:) ([0-9]+)", text
    )
    return float(rate[1]), sum(map(int, counts))


def tail(text: str) -> str:
    return repr(without_folders(text).strip()[-200:])


def measure(
    server: Server, block: int, cores: list[int], connections: int = CONNECTIONS
) -> CeilingRecord:
    """Send requests for a second as fast as possible, and record how many were answered.

    Whatever the client does wrong, its record has no ceiling but the reason.
    """
    tool, started = instruments.version("wrk"), now()
    said: dict[str, float | int] = {}
    why = "it is not installed; install it with: apt-get install wrk"
    try:
        said = ask(server, cores, connections) if tool else {}
    except (ValueError, OSError) as error:
        why = str(error)
    return CeilingRecord(
        block=block,
        tool=tool or "wrk",
        site=server.site if not server.site.startswith("dir:") else "dir",
        connections=connections,
        started=started,
        reason=None if said else f"no ceiling by {tool or 'wrk'}, because {why}",
        **said,
    )


def ask(server: Server, cores: list[int], connections: int) -> dict[str, float | int]:
    """Run wrk; returns what it and the processors say, by the record's names.

    Raises :class:`ValueError` or :class:`OSError` when the client fails.
    """
    server_before, children_before = sum(server.cpu()), children_s()
    stolen_before_s = host.steal(server.cores or None) or 0.0
    began = time.monotonic()
    path = "/p/0" if server.site.startswith("list:") else "/"
    client = spawn(
        ["wrk", "-t1", f"-c{connections}", f"-d{SECONDS}s", f"{server.prefix}{path}"],
        stdin=subprocess.DEVNULL,
        stderr=subprocess.STDOUT,
    )
    if cores:
        cpu.pin(client.pid, cores)
    try:
        with interruptible():
            raw, _ = client.communicate(timeout=SECONDS + GRACE_S)
    except BaseException as error:
        client.kill()
        client.communicate()
        if isinstance(error, subprocess.TimeoutExpired):
            raise ValueError("it did not end in time") from None
        raise
    wall = time.monotonic() - began
    output = raw.decode(errors="replace")
    if client.returncode:
        raise ValueError(f"it failed: {tail(output)}")
    client_s = children_s() - children_before
    rate, errors = parse_wrk(output)
    stolen = ((host.steal(server.cores or None) or 0.0) - stolen_before_s) / wall
    if stolen > MOST_STOLEN:
        raise ValueError(f"the host ran other guests for {in_percent(stolen)} of the time")
    shares = [min(1.0, (sum(server.cpu()) - server_before) / wall), min(1.0, client_s / wall)]
    if (max(shares) if cores else sum(shares)) < FULL:
        had = " and ".join(map(in_percent, shares))
        raise ValueError(f"other programs or a limit left server and client {had} of a processor")
    return {
        "requests_per_s": rate,
        "server_cpu_share": shares[0],
        "client_cpu_share": shares[1],
        "errors": errors,
    }


def children_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
