"""What processes and kernels gained is added by owner, and never made up."""

from __future__ import annotations

from bench.fleet import hold, host
from bench.fleet.plan import FleetPlan
from bench.fleet.records import UNKNOWN, Growth
from bench.machine import memory
from bench.machine.memory import Slabs, Snapshot
from bench.machine.procfs import Slab
from bench.schema import MemoryParts
from tests.bench.fleet.test_plan import hosts


def snapshot(held: int) -> Snapshot:
    """What a host reads with this many connections held: of each 100 bytes at either end."""
    own = MemoryParts.model_validate(
        dict.fromkeys(MemoryParts.model_fields) | {"threads": 1, "descriptors": 3}
    ).model_copy(update={"user_bytes": 100 * held, "page_table_bytes": 0, "kernel_stack_bytes": 0})
    slabs = Slabs({"TCP": Slab(active=2 * held, size=50)}, {"TCP": "TCP"})
    return Snapshot(own, own, 10**9 - 300 * held, slabs)


def test_hosts_of_one_machine_count_its_kernel_once() -> None:
    made = FleetPlan(1000, "callbacks", hosts(2, machines=1))
    first, second = (host.growth(made, one.host, snapshot(0), snapshot(500)) for one in made.hosts)
    assert (first.kernel_socket_bytes, second.kernel_socket_bytes) == (500 * 50, 0)
    assert second.machine_drop_bytes == 500 * 200
    together = hold.total([first, second])
    assert (together.user_bytes, together.server_user_bytes) == (100_000, 100_000)
    assert together.kernel_socket_bytes == 500 * 50
    assert together.machine_drop_bytes == 500 * 300 + 2 * 500 * 200
    apart = FleetPlan(1000, "callbacks", hosts(2, machines=2))
    every = [host.growth(apart, one.host, snapshot(0), snapshot(500)) for one in apart.hosts]
    assert hold.total(every).kernel_socket_bytes == 2 * 500 * 50


def test_what_a_host_does_not_tell_is_not_made_up() -> None:
    told = Growth.model_validate(dict.fromkeys(UNKNOWN, 7))
    blind = told.model_copy(update={"kernel_socket_bytes": None})
    found = hold.total([told, blind])
    assert (found.user_bytes, found.kernel_socket_bytes) == (14, None)
    assert found.reasons == {"kernel_socket_bytes": memory.NO_SLABINFO}
