"""The limits of a host: read on that host, sent to the coordinator."""

from __future__ import annotations

from dataclasses import dataclass

import psutil

from bench.machine.doctor.limits import ThreadLimit, raise_descriptor_limit, thread_limits
from bench.machine.doctor.memory import available_bytes
from bench.machine.probes import kernel, procfs

UNKNOWN = 2**62
"""Stands for a limit that is not set, or that this platform does not show."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What one host allows.

    Hosts with the same ``machine`` (the kernel's boot id) share a kernel, and with
    it memory, the file table and the process table. Limits per process or per
    network namespace belong to each host.
    """

    host: str
    machine: str
    cores: int
    memory_bytes: int
    descriptors: int  # per process, hard limit
    files_left: int
    files_max: int
    ports: int  # per pair of addresses
    backlog: int
    watches: int  # epoll registrations of one user
    tasks: tuple[ThreadLimit, ...]


def read(host: str) -> Limits:
    """Read this machine's limits; changes only this process's soft descriptor limit."""
    _, descriptors = raise_descriptor_limit()
    files_used, files_max = kernel.files()
    return Limits(
        host=host,
        machine=(procfs.read("proc/sys/kernel/random/boot_id") or host).strip(),
        cores=psutil.cpu_count() or 1,
        memory_bytes=available_bytes(),
        descriptors=descriptors,
        files_left=UNKNOWN if files_max is None else files_max - (files_used or 0),
        files_max=files_max or UNKNOWN,
        ports=kernel.ephemeral_ports() or UNKNOWN,
        backlog=procfs.read_int("proc/sys/net/core/somaxconn") or UNKNOWN,
        watches=procfs.read_int("proc/sys/fs/epoll/max_user_watches") or UNKNOWN,
        tasks=tuple(thread_limits()),
    )
