"""Memory by owner: readings made up for the test, and real memory."""

from __future__ import annotations

import math
import mmap
import os
from pathlib import Path

import psutil
import pytest

from bench.machine import memory, objects
from bench.machine.memory import Snapshot
from bench.machine.objects import PORT, WATCH, Ends, GroupMemory, Slabs
from bench.machine.procfs import Slab
from bench.schema import MemoryParts
from bench.text import KIB, MIB
from tests.bench.children import PARENT, SLEEPER, Answering
from tests.bench.fake_root import SLABINFO, put

OF_KERNEL = ("kernel_socket_bytes", "kernel_other_bytes", "server_socket_bytes")
"""The parts that only slabinfo shows."""


def parts(**values: int | None) -> MemoryParts:
    blank: dict[str, int | None] = dict.fromkeys(MemoryParts.model_fields, 0)
    return MemoryParts.model_validate(blank | dict.fromkeys(OF_KERNEL) | values)


def counted(**active: int) -> Slabs:
    """Slabs with the given numbers of objects; eventpoll_epi holds the port bindings too."""
    sizes = {
        "TCP": 2000,
        "sock_inode_cache": 800,
        "filp": 200,
        "dentry": 200,
        "eventpoll_epi": 128,
        "task_struct": 4000,
    }
    caches = {name: Slab(active.get(name, 0), size) for name, size in sizes.items()}
    behind = {name: name for name in sizes}
    behind |= dict.fromkeys(("tcp_bind_bucket", "tcp_bind2_bucket"), "eventpoll_epi")
    return Slabs(caches, behind)


class TestSlabs:
    def test_a_merged_cache_is_counted_once(self) -> None:
        before, held = counted(), counted(eventpoll_epi=30)
        assert held.growth(before, ("eventpoll_epi", "tcp_bind_bucket", "absent")) == 30 * 128
        assert held.size(("eventpoll_epi", "tcp_bind_bucket", "absent")) == 256

    def test_read_follows_the_links(self, empty: Path) -> None:
        assert objects.read_slabs() is None
        put(empty, "proc/slabinfo", SLABINFO)
        folder = empty / "sys/kernel/slab"
        folder.mkdir(parents=True)
        for name in ("eventpoll_epi", "tcp_bind_bucket"):
            (folder / name).symlink_to(":A-0000128")
        found = objects.read_slabs()
        assert found is not None
        assert found.behind["tcp_bind_bucket"] == found.behind["eventpoll_epi"] == ":A-0000128"
        assert (found.caches[":A-0000128"].size, found.caches["TCP"].active) == (128, 26)
        assert "TCPv6" not in found.behind
        assert memory.Reader([os.getpid()]).read().kernel == found


class TestMemory:
    def test_both_ends_are_told_apart(self) -> None:
        """Ten pairs: two of everything, one server epoll item, two bindings, client epoll too."""
        before = Snapshot(parts(), kernel=counted())
        held = Snapshot(
            parts(user_bytes=500),
            kernel=counted(TCP=20, sock_inode_cache=20, eventpoll_epi=40, dentry=999),
        )
        found = memory.memory(before, held, 10)
        assert found.held.kernel_socket_bytes == 10 * 2000
        assert found.held.server_socket_bytes == 10 * 2000
        # Half of the files (by the inodes: dentries move for other reasons), 30 of 40 items.
        assert found.held.kernel_other_bytes == 10 * (800 + 200 + 200) + 30 * 128
        assert found.before.kernel_socket_bytes == 0
        more = Snapshot(held.own, kernel=counted(TCP=40, sock_inode_cache=40, eventpoll_epi=40))
        found = memory.memory(before, more, 10)  # ten pairs, and twenty sockets of its own
        assert found.held.kernel_socket_bytes == 30 * 2000
        assert found.held.server_socket_bytes == 10 * 2000
        assert found.held.kernel_other_bytes == 30 * (800 + 200 + 200) + 30 * 128
        assert all("slabinfo" in found.sources[part] for part in OF_KERNEL)

    def test_threads_keep_a_send_buffer_each(self) -> None:
        before = Snapshot(parts(threads=1), kernel=counted())
        held = Snapshot(parts(threads=11), kernel=counted(task_struct=10))
        found = memory.memory(before, held, 10)
        watched = 10 * 128  # the server's, none grown here
        assert found.held.kernel_other_bytes == 10 * 4000 - watched
        assert found.held.send_buffer_bytes == 10 * memory.send_buffer()
        assert found.before.send_buffer_bytes == 0
        assert found.sources["send_buffer_bytes"].startswith("calculated")

    def test_a_send_buffer_is_a_page_where_high_orders_are_disabled(self, empty: Path) -> None:
        page = os.sysconf("SC_PAGE_SIZE")
        assert memory.send_buffer() == max(page, 32 * KIB)
        put(empty, "proc/sys/net/core/high_order_alloc_disable", "1\n")
        assert memory.send_buffer() == page

    def test_the_second_method_adds_what_both_processes_took(self) -> None:
        """Their anonymous memory counts as free, as that of other programs does."""
        before = Snapshot(parts(), parts(user_bytes=100), 100_000)
        held = Snapshot(parts(user_bytes=4000), parts(user_bytes=1100), 95_000)
        assert memory.memory(before, held, 1).machine_drop_bytes == 5000 + 4000 + 1000
        for blind in (Snapshot(parts(), parts()), Snapshot(parts(), None, 95_000)):
            found = memory.memory(before, blind, 1)
            assert found.machine_drop_bytes is None
            assert "machine_drop_bytes" in found.reasons

    @pytest.mark.parametrize(
        ("kib", "size"), [(1444, 16 * KIB), (2880, 32 * KIB), (1, 16 * KIB), (None, None)]
    )
    def test_the_size_of_a_stack(
        self, kib: int | None, size: int | None, empty: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("platform.machine", lambda: "x86_64")
        put(empty, "proc/loadavg", "0.07 0.20 0.18 1/89 23069\n")
        if kib is not None:
            put(empty, "proc/meminfo", f"KernelStack: {kib} kB\n")
        assert memory.kernel_stack_bytes() == size

    def test_the_processors_own_lists_are_free_too(self, empty: Path) -> None:
        assert memory.free_memory() is None
        text = "MemFree: 100 kB\nBuffers: 10 kB\nCached: 20 kB\nMemAvailable: 999 kB\n"
        put(empty, "proc/meminfo", text + "AnonPages: 7 kB\n")
        put(empty, "proc/zoneinfo", "  pagesets\n    cpu: 0\n        count:    3\n   high: 5\n")
        free = 130 * KIB + 3 * os.sysconf("SC_PAGE_SIZE")
        assert memory.free_memory() == free
        assert memory.free_memory(or_anonymous=True) == free + 7 * KIB

    @pytest.mark.parametrize("kind", [mmap.MAP_PRIVATE, mmap.MAP_SHARED])
    def test_what_a_program_fills_is_its_own_also_where_it_is_shared(self, kind: int) -> None:
        before = memory.user_memory(os.getpid()) or 0
        with mmap.mmap(-1, 8 * MIB, kind | mmap.MAP_ANONYMOUS) as block:
            for page in range(0, 8 * MIB, mmap.PAGESIZE):
                block[page] = 1
            after = memory.user_memory(os.getpid()) or 0
        assert after - before == pytest.approx(8 * MIB, rel=0.1)

    def test_threads_are_read(self) -> None:
        with Answering(SLEEPER, "40") as other:
            other.read()
            own = memory.Reader([other.pid]).read().own
        assert own.threads == 41
        assert (own.kernel_stack_bytes or 0) >= 41 * 4096
        assert (own.user_bytes or 0) > KIB
        assert (own.page_table_bytes or 0) > KIB
        assert (own.rss_bytes or 0) > (own.user_bytes or 0) / 2

    def test_a_workers_own_processes_count_as_the_worker(self) -> None:
        with Answering(PARENT) as other:
            other.read()
            own = memory.Reader([other.pid]).read().own
            worker = psutil.Process(other.pid)
            every = [worker, *worker.children(recursive=True)]
            alone = [memory.process_parts(process, 16 * KIB) for process in every]
        assert len(alone) == 3
        assert own.threads == 3
        assert own.descriptors == sum(one.descriptors or 0 for one in alone)
        assert (own.rss_bytes or 0) > max(one.rss_bytes or 0 for one in alone)
        assert memory.total([alone[0], parts(user_bytes=None)]).user_bytes is None
        with pytest.raises(psutil.NoSuchProcess):
            memory.Reader([other.pid]).read()

    def test_descriptors_are_counted_without_a_look_at_each(self, empty: Path) -> None:
        put(empty, f"proc/{os.getpid()}/fd/0", "")
        size = (empty / f"proc/{os.getpid()}/fd").stat().st_size
        assert memory.descriptors(psutil.Process()) == size

    def test_it_has_settled_when_it_hardly_moved_twice_in_a_row(
        self, empty: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        # What moves from one to the other has not moved; 128 KiB are too many.
        readings = [(900, 0), (0, 900), (0, 1028), (1000, 100), (0, 1200)]

        def show(_: float = 0.0) -> None:
            slabs, stacks = readings.pop(0)
            put(empty, "proc/meminfo", f"SUnreclaim: {slabs} kB\nKernelStack: {stacks} kB\n")

        monkeypatch.setattr("time.sleep", show)
        show()
        memory.wait_until_settled(math.inf)
        assert readings == []

    def test_without_proc_there_are_reasons(self, empty: Path) -> None:
        with Answering(SLEEPER, "2") as other:
            other.read()
            reader = memory.Reader([other.pid], [os.getpid()])
            memory.wait_until_settled(5)
            found = memory.memory(reader.read(), reader.read(), 10)
        assert (found.held.rss_bytes or 0) > 0
        assert found.held.threads == 3
        assert set(found.reasons) == set(memory.PARTS)
        assert found.sources == {}
        assert "root" in found.reasons["kernel_socket_bytes"]


# --- by the own control group -------------------------------------------------------------


ENDS = Ends(socket=3600.0, port=250.0, accepted=3700.0, watch=240.0)
GROUP = "/sys/fs/cgroup/user.slice/session-2.scope"


def grouped(root: Path, **members: str) -> None:
    put(root, "proc/self/mounts", "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n")
    for pid, group in members.items():
        put(root, f"proc/{pid.strip('_')}/cgroup", f"0::{group}\n")


def test_processes_of_one_group_have_a_common_one(
    empty: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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
    for ends, counted in ((ENDS, GroupMemory(700, ENDS)), (None, None)):
        monkeypatch.setattr(objects, "ends", {GROUP: ends}.get)
        assert objects.counted(7) == counted


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
