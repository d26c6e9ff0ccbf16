"""Memory by owner: readings made up for the test, and real memory."""

from __future__ import annotations

import os
from pathlib import Path

import psutil
import pytest

from bench.machine import memory
from bench.machine.memory import Slabs, machine_free, others_anonymous
from bench.machine.procfs import Slab
from bench.schema import MemoryParts
from bench.text import KIB
from tests.bench.children import CLIENT, PARENT, SERVER, SLEEPER, child, wait_for
from tests.bench.fake_root import SLABINFO, put


def parts(**values: int | None) -> MemoryParts:
    blank: dict[str, int | None] = dict.fromkeys(MemoryParts.model_fields, 0)
    for name in memory.KERNEL_PARTS:
        blank[name] = None
    return MemoryParts.model_validate(blank | values)


def reading(
    own: MemoryParts,
    counted: Slabs | None = None,
    free: int | None = None,
    server: memory.OwnMemory | None = None,
) -> memory.Reading:
    return memory.Reading(own, {}, {}, free, counted, server)


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
    listed = {name: name for name in sizes}
    listed |= dict.fromkeys(("tcp_bind_bucket", "tcp_bind2_bucket"), "eventpoll_epi")
    return Slabs(caches, listed)


class TestSlabs:
    def test_merged_caches_are_found_under_their_listed_name(self) -> None:
        links = {
            "TCP": "TCP",
            "eventpoll_epi": ":A-0000128",
            "tcp_bind_bucket": ":A-0000128",
            "gone": "gone",
        }
        assert memory.resolve(["TCP", "eventpoll_epi"], links) == {
            "TCP": "TCP",
            "eventpoll_epi": "eventpoll_epi",
            "tcp_bind_bucket": "eventpoll_epi",
        }

    def test_a_merged_cache_is_counted_once(self) -> None:
        before, held = counted(), counted(eventpoll_epi=30)
        assert held.growth(before, ("eventpoll_epi", "tcp_bind_bucket", "absent")) == 30 * 128
        assert held.size(("eventpoll_epi", "tcp_bind_bucket", "absent")) == 256
        assert held.grown(before, "tcp_bind2_bucket") == 30
        assert held.grown(before, "absent") == 0

    def test_read_follows_the_links(self, empty: Path) -> None:
        put(empty, "proc/slabinfo", SLABINFO)
        folder = empty / "sys/kernel/slab"
        folder.mkdir(parents=True)
        for name in ("eventpoll_epi", "tcp_bind_bucket"):
            (folder / name).symlink_to(":A-0000128")
        found = memory.read_slabs()
        assert found is not None
        assert found.listed["tcp_bind_bucket"] == "eventpoll_epi"
        assert found.caches["TCP"].active == 26
        assert "TCPv6" not in found.listed

    def test_without_slabinfo(self, empty: Path) -> None:
        assert memory.read_slabs() is None


class TestMemory:
    def test_both_ends_are_told_apart(self) -> None:
        """Ten pairs: two of everything, one server epoll item, two bindings, client epoll too."""
        before = reading(parts(), counted())
        held = reading(
            parts(user_bytes=500),
            counted(TCP=20, sock_inode_cache=20, eventpoll_epi=40, dentry=999),
        )
        found = memory.memory(before, held, 10)
        assert found.held.kernel_socket_bytes == 10 * 2000
        assert found.held.server_socket_bytes == 10 * 2000
        # Half of the files (by the inodes: dentries move for other reasons), 30 of 40 items.
        assert found.held.kernel_other_bytes == 10 * (800 + 200 + 200) + 30 * 128
        assert found.before.kernel_socket_bytes == 0
        assert set(memory.KERNEL_PARTS) <= set(found.sources)

    def test_threads_keep_a_send_buffer_each(self) -> None:
        before = reading(parts(threads=1), counted())
        held = reading(parts(threads=11), counted(task_struct=10))
        found = memory.memory(before, held, 10)
        watched = 10 * 128  # the server's, none grown here
        assert found.held.kernel_other_bytes == 10 * 4000 - watched
        assert found.held.send_buffer_bytes == 10 * memory.send_buffer()
        assert found.before.send_buffer_bytes == 0
        assert "calculated" in found.sources["send_buffer_bytes"]

    def test_a_send_buffer_is_a_page_where_high_orders_are_disabled(self, empty: Path) -> None:
        page = os.sysconf("SC_PAGE_SIZE")
        assert memory.send_buffer() == max(page, 32 * KIB)
        put(empty, "proc/sys/net/core/high_order_alloc_disable", "1\n")
        assert memory.send_buffer() == page

    def test_no_source_at_all(self) -> None:
        found = memory.memory(reading(parts()), reading(parts()), 10)
        for name in memory.KERNEL_PARTS:
            assert getattr(found.held, name) is None
            assert "root" in found.reasons[name]
        assert found.machine_drop_bytes is None

    def test_agreement(self) -> None:
        server = memory.OwnMemory(100, 0, 1), memory.OwnMemory(1100, 0, 1)
        before = reading(parts(), counted(), free=100_000, server=server[0])
        held = reading(
            parts(user_bytes=4000),
            counted(TCP=2, eventpoll_epi=2),
            free=100_000 - 9256,
            server=server[1],
        )
        found = memory.agreement(before, held, 1)
        assert found == {"server_growth_bytes": 1000 + 128, "memory_agreement": pytest.approx(1.0)}
        for more in (held, reading(parts(), free=0)):  # nothing taken, or a part is missing
            assert memory.agreement(held, more, 1)["memory_agreement"] is None

    @pytest.mark.parametrize(
        ("meminfo", "loadavg", "machine", "size"),
        [
            ("KernelStack: 1444 kB\n", "0.07 0.20 0.18 1/89 23069", "x86_64", 16 * KIB),
            ("KernelStack: 2880 kB\n", "0.07 0.20 0.18 1/89 23069", "x86_64", 32 * KIB),
            ("KernelStack: 1 kB\n", "0.07 0.20 0.18 1/89 23069", "x86_64", 16 * KIB),
            ("", "", "x86_64", 16 * KIB),
            ("", "", "s390x", None),
        ],
    )
    def test_stack_size(self, meminfo: str, loadavg: str, machine: str, size: int | None) -> None:
        assert memory.stack_size(meminfo, loadavg, machine) == size

    def test_machine_free_counts_the_processors_own_lists(self) -> None:
        meminfo = "MemFree: 100 kB\nBuffers: 10 kB\nCached: 20 kB\nMemAvailable: 999 kB\n"
        zoneinfo = "  pagesets\n    cpu: 0\n              count:    3\n   high: 5\n"
        assert machine_free(meminfo, zoneinfo, 4096) == 130 * KIB + 3 * 4096
        assert machine_free("", zoneinfo, 4096) is None

    def test_other_programs_do_not_move_the_second_method(self) -> None:
        meminfo = "AnonPages: 100 kB\n"
        server = memory.OwnMemory(20 * KIB, None, 1)
        own = parts(user_bytes=30 * KIB)
        assert others_anonymous(meminfo, own, server) == 50 * KIB
        assert others_anonymous(meminfo, own, None) == 0
        assert others_anonymous("", own, server) == 0

    def test_threads_are_read(self) -> None:
        with child(SLEEPER, "40") as other:
            other.read()
            read = memory.Reader(other.pid).read()
        assert read.parts.threads == 41
        assert (read.parts.kernel_stack_bytes or 0) >= 41 * 4096
        assert (read.parts.user_bytes or 0) > KIB
        assert (read.parts.page_table_bytes or 0) > KIB
        assert (read.parts.rss_bytes or 0) > (read.parts.user_bytes or 0) / 2

    def test_a_workers_own_processes_count_as_the_worker(self) -> None:
        with child(PARENT) as other:
            other.read()
            read = memory.Reader(other.pid).read().parts
            worker = psutil.Process(other.pid)
            alone = [
                memory.process_parts(process, 16 * KIB, {}, {})
                for process in (worker, *worker.children())
            ]
        assert len(alone) == 2
        assert read.threads == 2
        assert (read.descriptors or 0) == sum(one.descriptors or 0 for one in alone)
        assert (read.rss_bytes or 0) > max(one.rss_bytes or 0 for one in alone)
        assert memory.total([alone[0], parts(user_bytes=None)]).user_bytes is None

    def test_an_ended_worker_is_an_error(self) -> None:
        with child("pass") as other:
            other.process.communicate()
        with pytest.raises(psutil.NoSuchProcess):
            memory.Reader(other.pid).read()

    def test_without_proc_there_are_reasons(self, empty: Path) -> None:
        with child(SLEEPER, "2") as other:
            other.read()
            reader = memory.Reader(other.pid, os.getpid())
            assert memory.wait_until_settled(5) < 1
            before = reader.read()
            found = memory.memory(before, reader.read(), 10)
            assert memory.agreement(before, reader.read(), 10)["memory_agreement"] is None
        held = found.held
        assert (held.rss_bytes or 0) > 0
        assert held.threads == 3
        own = ("user_bytes", "page_table_bytes", "kernel_stack_bytes")
        for name in (*own, *memory.KERNEL_PARTS):
            assert getattr(held, name) is None
            assert found.reasons[name]
        assert found.machine_drop_bytes is None

    def test_another_users_process(self, monkeypatch: pytest.MonkeyPatch, empty: Path) -> None:
        """smaps and fd are the owner's only; status is everyone's."""

        def denied(self: psutil.Process) -> None:
            raise psutil.AccessDenied(self.pid)

        monkeypatch.setattr(psutil.Process, "num_fds", denied)
        text = "RssAnon: 100 kB\nVmPTE: 4 kB\nThreads: 2\nVmRSS: 9 kB\n"
        # A process without children: those of this one may be the servers of other tests.
        with child(SLEEPER, "2") as other:
            other.read()
            put(empty, f"proc/{other.pid}/status", text)
            read = memory.Reader(other.pid).read()
        assert read.parts.user_bytes == 100 * KIB
        assert read.sources["user_bytes"] == "status RssAnon"
        assert read.parts.descriptors is None
        assert "descriptors" in read.reasons

    @pytest.mark.parametrize("model", ["loop", "threads"])
    def test_held_connections(self, model: str) -> None:
        """Two hundred real pairs. Wide bounds: slabs grow in steps, and others use memory."""
        count = 200
        with child(SERVER) as server, child(CLIENT, server.read()) as client:
            client.read()
            reader = memory.Reader(client.pid, server.pid)
            memory.wait_until_settled(1)
            before = reader.read()
            client.send(f"{model} {count}")
            wait_for(
                lambda: (memory.descriptors(psutil.Process(server.pid))[0] or 0) >= count,
                "server accepts all",
            )
            held = reader.read()
            found = memory.memory(before, held, count)
        threads = count if model == "threads" else 0
        assert found.held.threads - found.before.threads == threads
        assert (found.held.descriptors or 0) - (found.before.descriptors or 0) == count
        stacks = (found.held.kernel_stack_bytes or 0) - (found.before.kernel_stack_bytes or 0)
        assert stacks >= threads * 4096
        if before.slabs is None:
            pytest.skip("slabinfo needs root; the unprivileged path is tested on made-up readings")
        assert found.held.kernel_socket_bytes is not None
        assert found.held.kernel_other_bytes is not None
        assert 1000 < found.held.kernel_socket_bytes / count < 8000
        assert found.held.server_socket_bytes == found.held.kernel_socket_bytes
        if threads:
            assert found.held.send_buffer_bytes is not None
            assert found.held.send_buffer_bytes >= 4096 * count
