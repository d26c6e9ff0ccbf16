"""The kernel's network counters, and waiting until the last trial's sockets are gone.

The counters belong to the network namespace of this process (/proc/net), are
cumulative since boot, and include every program in it: compare a difference with
the trial's own figures before attributing it to the trial.
"""

from __future__ import annotations

import time
from collections.abc import Mapping

from bench.machine import procfs
from bench.machine.memory import gain

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
    """The counters now, cumulative; all None where there is no /proc/net (macOS)."""
    files = ("proc/net/netstat", "proc/net/snmp")
    groups = procfs.paired_lines("".join(procfs.read(file) or "" for file in files))
    return {name: groups.get(group, {}).get(name) for name, group in NETSTAT.items()}


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


def drain(deadline_s: float, below: int = 0) -> int | None:
    """Wait until at most ``below`` TIME_WAIT and orphaned sockets are left, or ``deadline_s``.

    Returns how many are in TIME_WAIT then. Where the kernel does not report them, returns None
    at once.
    """
    until = time.monotonic() + deadline_s
    while True:
        sockets = tcp_sockets()
        left = sockets.get("tw", 0) + sockets.get("orphan", 0)
        waits_s = until - time.monotonic()
        if left <= below or waits_s <= 0:
            return sockets.get("tw")
        time.sleep(min(POLL_S, waits_s))
