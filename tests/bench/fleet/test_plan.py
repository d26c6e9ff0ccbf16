"""The plan: everything shared out, nothing twice, and what its machines have no room for."""

from __future__ import annotations

import os
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.fleet import hold
from bench.fleet.hold import Host
from bench.fleet.plan import FleetPlan
from bench.fleet.records import HostRecord
from bench.machine import memory
from bench.machine.doctor import SPARE_DESCRIPTORS, CheckResult
from bench.machine.memory import Snapshot
from bench.machine.objects import Slabs
from bench.machine.procfs import UNLIMITED, Slab
from bench.schema import MemoryParts
from bench.study.record import StudyError
from crawlers.registry import load
from tests.bench import small

CALLBACKS = load("callbacks")
HOST = HostRecord(
    host="10.0.0.1:1", cores=2, descriptors=20_000, ports=28_232, memory_available_bytes=64 << 30
)


def hosts(count: int, share: int = 10_000) -> list[HostRecord]:
    """Hosts whose processes can hold so many connections each."""
    limits = {"descriptors": share + SPARE_DESCRIPTORS, "ports": UNLIMITED}
    return [HOST.model_copy(update={"host": f"10.0.0.{n}:1", **limits}) for n in range(count)]


@settings(deadline=None)
@given(st.integers(1, 3_000_000), st.integers(1, 7), st.integers(2_000, 20_000))
def test_every_connection_has_one_place(connections: int, count: int, share: int) -> None:
    made = FleetPlan(connections, CALLBACKS, hosts(count, share))
    sizes = [part.connections for part in made.shares]
    assert sum(sizes) == connections
    assert all(1 <= size <= share for size in sizes)
    assert max(sizes) - min(sizes) <= 1
    assert [part.number for part in made.shares] == list(range(len(made.shares)))
    per_host = [len(made.shares_of(fact.host)) for fact in made.hosts]
    assert sum(per_host) == len(made.shares)
    assert max(per_host) - min(per_host) <= 1
    assert sum(made.needs(fact.host).connections for fact in made.hosts) == connections


def test_a_share_fits_the_descriptors_and_the_ports() -> None:
    made = FleetPlan(1_000_000, CALLBACKS, [HOST])
    assert len(made.shares) == 89
    assert max(part.connections for part in made.shares) < HOST.descriptors
    few_ports = FleetPlan(1_000_000, CALLBACKS, [HOST.model_copy(update={"ports": 4000})])
    assert max(part.connections for part in few_ports.shares) < 4000 / 2
    too_low = FleetPlan(1000, CALLBACKS, [HOST.model_copy(update={"descriptors": 100})])
    with pytest.raises(StudyError, match="ulimit"):
        _ = too_low.shares


def test_tls_takes_memory_and_nothing_else() -> None:
    plain = FleetPlan(500_000, CALLBACKS, [HOST])
    encrypted = FleetPlan(500_000, CALLBACKS, [HOST], over_tls=True)
    before, after = plain.needs(HOST.host), encrypted.needs(HOST.host)
    assert after == replace(before, connection_bytes=after.connection_bytes)
    assert after.connection_bytes > before.connection_bytes
    assert encrypted.shares == plain.shares


def test_what_does_not_fit_is_refused_with_the_limit_and_its_host() -> None:
    made = FleetPlan(1_500_000, CALLBACKS, [HOST], over_tls=True)
    results = [
        CheckResult("memory", "refusal", "9 GiB needed, 8 GiB there", fix="add memory"),
        CheckResult("backlog", "warning", "4096"),
    ]
    assert made.refusal({HOST.host: results}) == (
        "1,500,000 connections of callbacks over TLS do not fit: "
        "memory on 10.0.0.1:1: 9 GiB needed, 8 GiB there (add memory)"
    )
    assert made.refusal({HOST.host: results[1:]}) is None


def test_threads_are_needed_by_the_share_and_by_the_machine() -> None:
    made = FleetPlan(20_000, load("threads"), hosts(1, share=5_000))
    needs = made.needs(made.hosts[0].host)
    assert (needs.threads, needs.of_share(needs.threads)) == (20_000, 5_000)


def test_this_machine_can_be_read() -> None:
    here = Host("here")
    limits = here.limits()
    assert limits.memory_available_bytes > 0
    assert limits.descriptors > 0
    made = FleetPlan(10, CALLBACKS, [limits])
    assert made.refusal({"here": here.examine(made)}) is None


@pytest.mark.slow
def test_a_host_that_was_lost_and_is_back_ends_what_it_had() -> None:
    here = Host("here")
    made = FleetPlan(10, CALLBACKS, [here.limits()])
    before = set(small.family(os.getpid()))
    try:
        here.do("start", made)
        first = set(small.family(os.getpid())) - before
        assert first
        here.do("start", made)
        assert small.all_gone(list(first))
    finally:
        here.stop()


# --- what processes and kernels gained ---------------------------------------------------


def snapshot(held: int) -> Snapshot:
    """What a host reads with this many connections held: of each 100 bytes at either end."""
    own = MemoryParts.model_validate(
        dict.fromkeys(MemoryParts.model_fields) | {"threads": 1, "descriptors": 3}
    ).model_copy(update={"user_bytes": 100 * held, "page_table_bytes": 0, "kernel_stack_bytes": 0})
    slabs = Slabs({"TCP": Slab(active=2 * held, size=50)}, {"TCP": "TCP"})
    return Snapshot(own, own, 10**9 - 300 * held, slabs)


def test_what_a_host_gained_is_by_owner_and_never_made_up() -> None:
    gained, reasons = hold.gained(snapshot(0), snapshot(500), 500)
    assert (gained["user_bytes"], gained["server_user_bytes"]) == (50_000, 50_000)
    assert gained["kernel_socket_bytes"] == 500 * 50
    assert gained["machine_drop_bytes"] == 500 * (300 + 2 * 100)
    assert not reasons
    blind, reasons = hold.gained(snapshot(0), replace(snapshot(500), kernel=None), 500)
    assert (blind["user_bytes"], blind["kernel_socket_bytes"]) == (50_000, None)
    assert reasons["kernel_socket_bytes"] == memory.NO_SLABINFO
