"""Merging is exact: whatever the shares, the sum is that of one big worker."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.analysis import stats
from bench.fleet import hold
from bench.fleet.records import Growth
from bench.machine.memory import KernelGrowth
from bench.schema import Handshakes, Ledger

TIMES = st.lists(st.floats(0, 1000), max_size=60)


@given(st.lists(TIMES, max_size=5))
def test_histograms_add_up_to_that_of_all_samples(parts: list[list[float]]) -> None:
    merged = hold.latencies(stats.encode_latency(part) for part in parts)
    whole = stats.encode_latency([time for part in parts for time in part])
    if whole is None:
        assert merged is None
        return
    assert merged is not None
    assert merged.mean_ms == pytest.approx(whole.mean_ms)
    same = {"mean_ms": 0.0, "hdr": ""}
    assert merged.model_copy(update=same) == whole.model_copy(update=same)
    assert stats.merge_histograms([merged.hdr]).count == whole.count


def ledger(number: int, most: int) -> Ledger:
    return Ledger(
        requests=number,
        distinct=number,
        repeated=0,
        connections_opened=number,
        peak_connections=number,
        peak_in_flight=number,
        requests_per_connection_max=most,
    )


def test_ledgers_are_united_with_handshakes_where_every_server_counted_them() -> None:
    assert hold.ledgers([ledger(3, 1), ledger(4, 2)]) == ledger(7, 2)
    one, two = (
        ledger(3, 1).model_copy(update={"handshakes": Handshakes(full=n, resumed=1, failed=0)})
        for n in (3, 4)
    )
    assert hold.ledgers([one, two]).handshakes == Handshakes(full=7, resumed=2, failed=0)
    assert hold.ledgers([one, ledger(3, 1)]).handshakes is None
    assert hold.ledgers([]).handshakes is None


def test_the_digest_of_all_depends_on_each_and_not_on_their_order() -> None:
    parts = [(0, "aa"), (1, "bb")]
    assert hold.digests(parts) == hold.digests(parts[::-1])
    assert hold.digests(parts) != hold.digests([(0, "bb"), (1, "aa")])
    assert hold.digests([(0, "aa"), (1, None)]) is None


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
