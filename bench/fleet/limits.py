"""What a host allows: read there, sent to whoever plans."""

from __future__ import annotations

from dataclasses import dataclass

import psutil

from bench import doctor
from bench.probes import cgroups, procfs

UNKNOWN = 2**62
"""Stands for a limit that is not set, or that this platform does not show."""

MAPS = "vm.max_map_count"


@dataclass(frozen=True, slots=True)
class Tasks:
    """A limit that counts threads: how many still fit, and the command that lifts it."""

    name: str
    left: int
    mend: str


@dataclass(frozen=True, slots=True)
class Limits:
    """What one host allows.

    ``machine`` tells hosts apart that share a kernel, and with it memory, file
    table and process table: it is the kernel's boot id. What is counted per
    process or per network namespace is each host's own.
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
    tasks: tuple[Tasks, ...]


def read(host: str) -> Limits:
    """Look at this machine; changes nothing but this process's soft descriptor limit."""
    _, descriptors = doctor.raise_descriptor_limit()
    memory = int(psutil.virtual_memory().available)
    group = cgroups.memory_limit()
    ports = [
        procfs.to_int(word) or 0
        for word in (procfs.read("proc/sys/net/ipv4/ip_local_port_range") or "").split()
    ]
    files_max = procfs.read_int("proc/sys/fs/file-max")
    used = procfs.to_int((procfs.read("proc/sys/fs/file-nr") or "").partition("\t")[0])
    return Limits(
        host=host,
        machine=(procfs.read("proc/sys/kernel/random/boot_id") or host).strip(),
        cores=psutil.cpu_count() or 1,
        memory_bytes=memory if group is None else min(memory, group),
        descriptors=descriptors,
        files_left=UNKNOWN if files_max is None else files_max - (used or 0),
        files_max=files_max or UNKNOWN,
        ports=ports[1] - ports[0] + 1 if len(ports) == 2 else UNKNOWN,
        backlog=procfs.read_int("proc/sys/net/core/somaxconn") or UNKNOWN,
        watches=procfs.read_int("proc/sys/fs/epoll/max_user_watches") or UNKNOWN,
        tasks=tuple(Tasks(*limit) for limit in doctor.thread_limits()),
    )
