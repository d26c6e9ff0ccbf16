"""What processes and kernels gained is added by owner, and never made up."""

from __future__ import annotations

from bench.fleet import hold
from bench.fleet.records import Growth
from bench.machine.memory import KernelGrowth


def test_counters_of_several_hosts_add_up_where_all_know_them() -> None:
    parts: list[dict[str, int | None]] = [
        {"ListenOverflows": 1, "RetransSegs": 2},
        {"ListenOverflows": 3, "RetransSegs": None},
    ]
    assert hold.kernel_counters(parts) == {"ListenOverflows": 4, "RetransSegs": None}


def test_growth_is_added_by_owner() -> None:
    processes = [
        Growth(user_bytes=100, page_table_bytes=10, server_user_bytes=200),
        Growth(user_bytes=50, page_table_bytes=5, server_user_bytes=100),
    ]
    kernel = KernelGrowth(sockets=7, other=8, server_sockets=7, server_other=3)
    found = hold.growth(processes, [kernel, kernel], 40)
    assert (found.user_bytes, found.server_user_bytes) == (150, 300)
    assert (found.kernel_socket_bytes, found.server_kernel_bytes) == (14, 20)
    assert found.machine_drop_bytes == 40 + 150 + 300
    assert found.reasons == {}


def test_what_a_kernel_does_not_tell_is_not_made_up() -> None:
    blind = KernelGrowth()
    told = KernelGrowth(sockets=7, other=8, server_sockets=7, server_other=3)
    found = hold.growth([Growth(user_bytes=1, server_user_bytes=1)], [told, blind], None)
    assert found.kernel_socket_bytes is None
    assert found.server_kernel_bytes is None
    assert found.machine_drop_bytes is None
    assert {"kernel_socket_bytes", "machine_drop_bytes"} <= set(found.reasons)
