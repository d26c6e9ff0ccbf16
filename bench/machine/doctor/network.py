"""Ports, queues and connection tracking: what limits connections within the kernel."""

from __future__ import annotations

from collections.abc import Iterator

from bench.machine.doctor.result import CheckResult, Needs
from bench.machine.probes import kernel, procfs

MANY_TIME_WAIT = 1000


def check_ports(needs: Needs) -> Iterator[CheckResult]:
    """A connection holds an ephemeral port for its server address.

    TIME_WAIT keeps the port for another 60 s, but only towards that one server
    port, and on loopback tcp_tw_reuse returns it after a second. Sockets left by
    other servers are therefore a nuisance, not a limit; there can be more of them
    than ports.
    """
    ports = kernel.ephemeral_ports()
    if ports is None:
        yield CheckResult(
            "ports",
            "note",
            "the ephemeral port range is not readable",
            "with too many connections, connecting fails with EADDRNOTAVAIL without warning",
        )
        return
    waiting = kernel.time_wait() or 0
    found = f"{ports:,} ephemeral ports, {waiting:,} in TIME_WAIT"
    if needs.connections > ports * needs.addresses:
        yield CheckResult(
            "ports",
            "refusal",
            f"{found}; {needs.connections:,} needed",
            "connecting fails with EADDRNOTAVAIL",
            'sysctl net.ipv4.ip_local_port_range="1024 65535", or use several server addresses',
        )
    elif waiting > MANY_TIME_WAIT:
        yield CheckResult(
            "ports",
            "note",
            found,
            "finding a free port takes longer, and a server that reuses its port may run out",
            "wait 60 s; the campaign also waits for them between trials",
        )
    else:
        yield CheckResult("ports", "ok", found)


def check_backlog(needs: Needs) -> Iterator[CheckResult]:
    """Connections that arrive faster than they are accepted wait in two queues."""
    somaxconn = procfs.read_int("proc/sys/net/core/somaxconn")
    if somaxconn is None:
        return
    if needs.connections > somaxconn:
        yield CheckResult(
            "backlog",
            "warning",
            f"somaxconn {somaxconn:,} for {needs.connections:,} connections",
            "connecting all at once overflows the accept queue; the kernel drops a SYN and "
            "resends it after 1 s, which looks like a slow backend",
            f"sysctl net.core.somaxconn={needs.connections}, or open connections at a paced rate",
        )
    else:
        yield CheckResult("backlog", "ok", f"somaxconn {somaxconn:,}")
    conntrack = procfs.read_int("proc/sys/net/netfilter/nf_conntrack_max")
    tracked = procfs.read_int("proc/sys/net/netfilter/nf_conntrack_count") or 0
    if conntrack is not None and needs.connections > conntrack - tracked:
        yield CheckResult(
            "conntrack",
            "warning",
            f"room for {conntrack - tracked:,} tracked connections; {needs.connections:,} needed",
            "a firewall that tracks loopback drops connections it has no room for",
            f"sysctl net.netfilter.nf_conntrack_max={2 * needs.connections + tracked}",
        )
