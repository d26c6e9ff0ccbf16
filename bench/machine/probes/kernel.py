"""The kernel's network counters, and waiting until the last trial's sockets are gone.

The counters belong to the network namespace of this process (/proc/net), are
cumulative since boot, and include every program in it: compare a difference with
the trial's own figures before attributing it to the trial.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from bench.machine.probes import procfs

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


def parse_counters(netstat: str, snmp: str) -> dict[str, int | None]:
    """The counters of :data:`NETSTAT`, None for those this kernel does not have."""
    groups = procfs.paired_lines(netstat) | procfs.paired_lines(snmp)
    return {name: groups.get(group, {}).get(name) for name, group in NETSTAT.items()}


def counters() -> dict[str, int | None]:
    """The counters now, cumulative; all None where there is no /proc/net (macOS)."""
    return parse_counters(procfs.read("proc/net/netstat") or "", procfs.read("proc/net/snmp") or "")


def delta(
    before: Mapping[str, int | None], after: Mapping[str, int | None]
) -> dict[str, int | None]:
    """The growth of each counter; None if either reading lacks it."""
    gained: dict[str, int | None] = {}
    for name, value in after.items():
        earlier = before.get(name)
        gained[name] = None if value is None or earlier is None else value - earlier
    return gained


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


def files() -> tuple[int | None, int | None]:
    """Open files on this machine, and how many there may be (fs.file-max)."""
    used = procfs.to_int((procfs.read("proc/sys/fs/file-nr") or "").partition("\t")[0])
    return used, procfs.read_int("proc/sys/fs/file-max")


def time_wait() -> int | None:
    """Sockets in TIME_WAIT now; each keeps an ephemeral port for 60 s."""
    return tcp_sockets().get("tw")


def sockets_in_use() -> int | None:
    """TCP sockets in use (IPv4), TIME_WAIT not counted; both ends of a loopback pair count."""
    return tcp_sockets().get("inuse")


@dataclass(frozen=True, slots=True)
class Leftover:
    """What was left when :func:`drain` stopped waiting; None where unknown."""

    time_wait: int | None
    orphans: int | None
    waited_s: float
    drained: bool  # True if at or below the bound; also if nothing is known

    @property
    def sockets(self) -> int:
        """TIME_WAIT and orphaned sockets together; 0 if unknown."""
        return (self.time_wait or 0) + (self.orphans or 0)


def drain(
    deadline_s: float,
    below: int = 0,
    progress: Callable[[int, float], None] | None = None,
) -> Leftover:
    """Wait until at most ``below`` TIME_WAIT and orphaned sockets are left, or ``deadline_s``.

    Calls ``progress(left, waited_s)`` whenever there are still too many. If the
    kernel does not report them, returns at once: ``drained``, with unknowns.
    """
    started = time.monotonic()
    while True:
        sockets = tcp_sockets()
        waited = time.monotonic() - started
        waiting, orphans = sockets.get("tw"), sockets.get("orphan")
        left = (waiting or 0) + (orphans or 0)
        if left <= below or waited >= deadline_s:
            return Leftover(waiting, orphans, waited, left <= below)
        if progress is not None:
            progress(left, waited)
        time.sleep(min(POLL_S, max(0.0, deadline_s - waited)))
