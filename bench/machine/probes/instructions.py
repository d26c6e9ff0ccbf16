"""Instructions in user space, counted by the processor, through Linux's ``perf_event_open``.

Few virtual machines have such a counter. :func:`missing` probes for it by counting a loop of
this process.
"""

from __future__ import annotations

import ctypes
import os
import platform
import struct
import sys
from typing import Self

from bench.machine.probes import procfs

HARDWARE, SOFTWARE = 0, 1
"""``type`` of an event (linux/perf_event.h)."""
INSTRUCTIONS, TASK_CLOCK = 1, 1
"""``config`` of an event of each type."""

FLAGS = 1 << 1 | 1 << 5 | 1 << 6
"""inherit, exclude_kernel, exclude_hv."""

SIZE = 64
"""Bytes of ``struct perf_event_attr`` in its first version."""

NUMBERS = {"x86_64": 298, "aarch64": 241, "riscv64": 241, "ppc64le": 319, "s390x": 331}
"""The number of the system call, by machine."""


class Counter:
    """Counts in one process and the threads and children that it starts from now on."""

    def __init__(self, pid: int, kind: int = HARDWARE, event: int = INSTRUCTIONS) -> None:
        """Start to count. Raises :class:`OSError` where that is impossible."""
        number = NUMBERS.get(platform.machine())
        if not sys.platform.startswith("linux") or number is None:
            raise OSError("perf_event_open is not known on this platform")
        attributes = struct.pack("=IIQQQQQ", kind, SIZE, event, 0, 0, 0, FLAGS).ljust(SIZE, b"\0")
        libc = ctypes.CDLL(None, use_errno=True)
        found = libc.syscall(number, attributes, pid, -1, -1, 0)
        if found < 0:
            error = ctypes.get_errno()
            raise OSError(error, os.strerror(error))
        self._descriptor = found

    def read(self) -> int:
        """The count so far."""
        return int.from_bytes(os.read(self._descriptor, 8), sys.byteorder)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._descriptor)


def attach(pid: int) -> Counter:
    """Count the instructions of a process from now on."""
    return Counter(pid)


def missing() -> str | None:
    """Why instructions cannot be counted here; None if they can."""
    try:
        with Counter(0) as counter:
            sum(range(10_000))
            counted = counter.read()
    except OSError as error:
        level = procfs.read_int("proc/sys/kernel/perf_event_paranoid")
        hint = " (kernel.perf_event_paranoid is above 2)" if level is not None and level > 2 else ""
        return f"this machine has no counter of instructions: {error.strerror or error}{hint}"
    return None if counted else "the processor's counter of instructions stands still"
