"""What else happens on the host of a trial: a fixed loop, stolen time, load, network counters.

The loop is the same Python code before and after every trial. If its time changes,
the machine changed, not the backend.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress

import psutil

from bench.machine import procfs
from bench.machine.memory import gain
from bench.schema import HostNoise

LOOP = 100_000  # steps: roughly 10 ms on a 2020s processor
REPEATS = 3


def loop(steps: int) -> int:
    """A fixed piece of integer work (a linear congruential generator)."""
    x = 1
    for _ in range(steps):
        x = (x * 1103515245 + 12345) & 0x7FFFFFFF
    return x


def spin() -> float:
    """Seconds of the fixed loop, the best of three.

    The best, because this is about the speed of the processor; ``steal_s`` and load
    show whether something else took it away for a moment.
    """
    best = float("inf")
    for _ in range(REPEATS):
        started = time.perf_counter()
        loop(LOOP)
        best = min(best, time.perf_counter() - started)
    return best


def steal(processors: Sequence[int] | None = None) -> float | None:
    """Seconds since boot that the hypervisor gave to other guests, in ticks of 10 ms.

    Summed over these processors, or over all; None where one of them is unknown.
    """
    rows = {row[0]: row for row in map(str.split, (procfs.read("proc/stat") or "").splitlines())}
    names = ["cpu"] if processors is None else [f"cpu{number}" for number in processors]
    counters = [rows.get(name, []) for name in names]
    if not counters or any(len(row) < 9 for row in counters):
        return None
    return sum(int(row[8]) for row in counters) / os.sysconf("SC_CLK_TCK")


def mhz() -> float | None:
    """Mean frequency of the processors now; None where it is unknown (many ARM kernels).

    In a virtual machine this is usually the nominal frequency and never changes.
    """
    with suppress(NotImplementedError, OSError):
        if frequency := psutil.cpu_freq():
            return float(frequency.current)
    return None


Before = tuple[float, float | None, float]
"""Seconds of the loop, stolen seconds and load before a trial, which dominates the load then."""


def start() -> Before:
    """Probe the host before a trial (about 30 ms)."""
    return spin(), steal(), os.getloadavg()[0]


def finish(before: Before) -> HostNoise:
    """Probe it again and report what happened in between."""
    (probe_s, steal_s, load), stolen = before, steal()
    return HostNoise(
        probe_before_s=probe_s,
        probe_after_s=spin(),
        steal_s=None if stolen is None or steal_s is None else stolen - steal_s,
        load1=load,
        mhz=mhz(),
    )


# --- the kernel's network counters ---------------------------------------------------------
#
# They belong to the network namespace of this process (/proc/net), are cumulative since boot, and
# include every program in it: compare a difference with the trial's own figures before attributing
# it to the trial. The same goes for the time for which a limit stopped processors of the group.

NETSTAT = {
    "ListenOverflows": "TcpExt",  # connections turned away: accept queue full
    "ListenDrops": "TcpExt",  # all SYNs dropped at a listener, overflows included
    "TCPReqQFullDoCookies": "TcpExt",  # SYN queue full, answered with a cookie
    "TCPReqQFullDrop": "TcpExt",
    "TCPTimeouts": "TcpExt",  # retransmission timers that expired: 1 s for a SYN
    "TCPSynRetrans": "TcpExt",
    "TCPLostRetransmit": "TcpExt",
    "TCPAbortOnMemory": "TcpExt",
    "TCPTimeWaitOverflow": "TcpExt",
    "RetransSegs": "Tcp",
    "AttemptFails": "Tcp",
    "EstabResets": "Tcp",
    "ActiveOpens": "Tcp",
    "PassiveOpens": "Tcp",
}
"""Counter → its group in /proc/net/netstat (TcpExt) or /proc/net/snmp (Tcp)."""

POLL_S = 0.1


def counters() -> dict[str, int | None]:
    """The counters now, cumulative; None without /proc/net (macOS), or without a limit."""
    files = ("proc/net/netstat", "proc/net/snmp")
    groups = procfs.paired_lines("".join(procfs.read(file) or "" for file in files))
    network = {name: groups.get(group, {}).get(name) for name, group in NETSTAT.items()}
    return network | {"throttled_us": procfs.throttled_us()}


def delta(
    before: Mapping[str, int | None], after: Mapping[str, int | None]
) -> dict[str, int | None]:
    return {name: gain(before.get(name), value) for name, value in after.items()}


def tcp_sockets() -> dict[str, int]:
    """The TCP line of /proc/net/sockstat: inuse, orphan, tw, alloc, mem. Empty without it."""
    return procfs.sockstat(procfs.read("proc/net/sockstat") or "").get("TCP", {})


def ephemeral_ports() -> int | None:
    """How many ports connecting sockets may use; None when the range is not readable."""
    text = procfs.read("proc/sys/net/ipv4/ip_local_port_range") or ""
    ends = [procfs.to_int(word) for word in text.split()]
    if len(ends) != 2 or ends[0] is None or ends[1] is None:
        return None
    return ends[1] - ends[0] + 1


def drain(deadline_s: float, below: int = 0) -> None:
    """Wait until at most ``below`` TIME_WAIT and orphaned sockets are left, or ``deadline_s``.

    Returns at once where the kernel does not report them.
    """
    until = time.monotonic() + deadline_s
    while (waits_s := until - time.monotonic()) > 0:
        sockets = tcp_sockets()
        if sockets.get("tw", 0) + sockets.get("orphan", 0) <= below:
            return
        time.sleep(min(POLL_S, waits_s))
