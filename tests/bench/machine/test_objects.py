"""Kernel memory by the own control group: made-up files, made-up counts, and the real one."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from bench.machine import memory, objects
from bench.machine.memory import Snapshot
from bench.machine.objects import PORT, WATCH, Ends, GroupMemory
from tests.bench.fake_root import put
from tests.bench.machine.test_memory_parts import OF_KERNEL, parts

ENDS = Ends(socket=3600.0, port=250.0, accepted=3700.0, watch=240.0)
GROUP = "/sys/fs/cgroup/user.slice/session-2.scope"


def grouped(root: Path, **members: str) -> None:
    put(root, "proc/self/mounts", "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n")
    for pid, group in members.items():
        put(root, f"proc/{pid.strip('_')}/cgroup", f"0::{group}\n")


def test_processes_of_one_group_have_a_common_one(empty: Path) -> None:
    assert objects.common_group(7) is None
    here = "/user.slice/session-2.scope"
    grouped(empty, self=here, _7=here, _8="/system.slice")
    assert objects.common_group(7) is None, "nothing counts memory there"
    put(empty, f"{GROUP[1:]}/memory.current", "12345\n")
    assert objects.common_group(7) == GROUP
    assert objects.common_group(7, 8) is None
    assert objects.slab_bytes(GROUP) is None
    put(empty, f"{GROUP[1:]}/memory.stat", "anon 5\nslab_reclaimable 7\nslab 700\n")
    assert objects.slab_bytes(GROUP) == 700


def test_a_group_that_counts_nothing_for_sockets_tells_no_ends_apart(empty: Path) -> None:
    """As before Linux 6.12, where it is not charged for all that is accepted."""
    put(empty, f"{GROUP[1:]}/memory.stat", "slab 700\n")
    assert objects.ends.__wrapped__(GROUP) is None


@pytest.mark.parametrize(
    ("theirs", "other", "own"),
    [(WATCH, 3700 + 240, 3600), (PORT, 3600 + 250, 3700)],
    ids=["the client is measured", "the server is measured"],
)
def test_the_other_end_is_not_counted(theirs: tuple[str, ...], other: int, own: int) -> None:
    grew = 10 * (other + own + 500)
    before, held = (
        Snapshot(parts(), kernel=GroupMemory(slab, ENDS)) for slab in (9999, 9999 + grew)
    )
    found = memory.memory(before, held, 10, theirs)
    assert found.held.kernel_socket_bytes == 10 * own
    assert found.held.kernel_other_bytes == 10 * 500
    assert found.held.server_socket_bytes == 10 * other
    assert found.before.kernel_other_bytes == 0
    assert all("control group" in found.sources[part] for part in OF_KERNEL)
    assert not set(OF_KERNEL) & set(found.reasons)


def test_here() -> None:
    """A socket has a size that no kernel of today leaves, wherever both ends are counted."""
    found = objects.counted(os.getpid())
    if found is None:
        pytest.skip("no control group here that counts both ends of a connection")
    assert 1000 < found.ends.socket < 10_000
    assert 0 <= found.ends.port < 2000
    assert 50 < found.ends.watch < 1000
