"""The plan: everything shared out, nothing twice, and what its machines have no room for."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.fleet import plan
from bench.fleet.host import Host
from bench.fleet.plan import FleetPlan
from bench.fleet.records import HostFacts
from bench.machine.doctor import SPARE_DESCRIPTORS, CheckResult, Needs
from bench.machine.procfs import UNLIMITED
from bench.sides.tls import Tls
from bench.study.record import StudyError
from tests.bench import small

HOST = HostFacts(
    host="10.0.0.1:1",
    machine=0,
    cores=2,
    descriptors=20_000,
    ports=28_232,
    memory_available_bytes=64 << 30,
)


def hosts(count: int, machines: int = 1, share: int = 10_000) -> list[HostFacts]:
    """Hosts whose processes can hold so many connections each."""
    limits = {"descriptors": share + SPARE_DESCRIPTORS, "ports": UNLIMITED}
    return plan.numbered(
        [
            (f"m{n % machines}", HOST.model_copy(update={"host": f"10.0.0.{n}:1", **limits}))
            for n in range(count)
        ]
    )


def memory(needs: Mapping[str, Needs]) -> dict[str, int]:
    """What the doctor adds up, without threads."""
    return {
        host: need.connections * need.connection_bytes + need.process_bytes
        for host, need in needs.items()
    }


@settings(deadline=None)
@given(st.integers(1, 3_000_000), st.integers(1, 7), st.integers(2_000, 20_000))
def test_every_connection_has_one_place(connections: int, count: int, share: int) -> None:
    made = FleetPlan(connections, "callbacks", hosts(count, share=share))
    assert sum(part.connections for part in made.shares) == connections
    assert all(1 <= part.connections <= share for part in made.shares)
    assert [part.number for part in made.shares] == list(range(len(made.shares)))
    sizes = [part.connections for part in made.shares]
    assert max(sizes) - min(sizes) <= 1
    per_host = [sum(p.host == host.host for p in made.shares) for host in hosts(count)]
    assert max(per_host) - min(per_host) <= 1


def test_a_share_fits_the_descriptors_and_the_ports() -> None:
    made = FleetPlan(1_000_000, "callbacks", [HOST])
    assert len(made.shares) == 89
    assert max(part.connections for part in made.shares) < HOST.descriptors
    few_ports = FleetPlan(1_000_000, "callbacks", [HOST.model_copy(update={"ports": 4000})])
    assert max(part.connections for part in few_ports.shares) < 4000 / 2
    too_low = FleetPlan(1000, "callbacks", [HOST.model_copy(update={"descriptors": 100})])
    with pytest.raises(StudyError, match="ulimit"):
        _ = too_low.shares


def test_tls_takes_memory_and_nothing_else() -> None:
    plain = FleetPlan(500_000, "callbacks", [HOST])
    encrypted = FleetPlan(500_000, "callbacks", [HOST], tls=Tls())
    (one,), (other,) = plain.needs.values(), encrypted.needs.values()
    assert other == replace(one, connection_bytes=other.connection_bytes)
    assert other.connection_bytes > one.connection_bytes
    assert encrypted.shares == plain.shares
    assert encrypted.ramp_s > plain.ramp_s
    assert FleetPlan(500, "callbacks", [HOST], tls=Tls(), ramp=50).ramp_s == 10


@pytest.mark.parametrize(("backend", "tls"), [("callbacks", None), ("uvloop", Tls())])
def test_what_does_not_fit_is_refused_with_the_number_that_does(
    backend: str, tls: Tls | None
) -> None:
    def doctors(needs: Mapping[str, Needs]) -> dict[str, list[CheckResult]]:
        there = 8 << 30
        return {
            host: [CheckResult("memory", "refusal", f"{need} needed", fix="add")] * (need > there)
            for host, need in memory(needs).items()
        }

    def checked(connections: int) -> tuple[str | None, int]:
        return plan.fitting(FleetPlan(connections, backend, [HOST], tls=tls), doctors)

    refusal, most = checked(1_500_000)
    over = " over TLS" if tls else ""
    start = f"1,500,000 connections of {backend}{over} do not fit: memory on {HOST.host}: "
    assert refusal is not None
    assert refusal.startswith(start)
    assert f"at most {most:,} do" in refusal
    assert checked(most) == (None, most)
    assert checked(most + 1)[0] is not None


def test_hosts_of_one_machine_share_its_memory() -> None:
    def needed(found: list[HostFacts]) -> list[int]:
        return list(memory(FleetPlan(100_000, "callbacks", found).needs).values())

    (both,) = needed(hosts(2, machines=1))
    apart = needed(hosts(2, machines=2))
    assert len(apart) == 2
    assert both == pytest.approx(sum(apart))


def test_threads_are_needed_by_the_share_and_by_the_machine() -> None:
    made = FleetPlan(20_000, "threads", hosts(1, share=5_000), threads=True)
    (needs,) = made.needs.values()
    assert needs.threads == 20_000 + 4 * plan.TASKS
    assert needs.of_share(needs.threads) == 5_000 + plan.TASKS


def test_this_machine_can_be_read() -> None:
    host = Host("here")
    (here,) = plan.numbered([host.facts()])
    assert here.memory_available_bytes > 0
    assert here.descriptors > 0
    made = FleetPlan(10, "callbacks", [here])
    assert plan.fitting(made, lambda needs: {host.name: host.examine(needs)}) == (None, 10)


@pytest.mark.slow
def test_a_host_that_was_lost_and_is_back_ends_what_it_had() -> None:
    host = Host("here")
    made = FleetPlan(10, "callbacks", plan.numbered([host.facts()]))
    before = set(small.family(os.getpid()))
    try:
        host.do("start", made)
        first = set(small.family(os.getpid())) - before
        assert first
        host.do("start", made)
        assert small.all_gone(list(first))
    finally:
        host.stop()
