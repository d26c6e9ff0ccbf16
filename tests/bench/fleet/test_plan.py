"""The plan: everything shared out, nothing twice, and every limit that stops it named."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.fleet import plan
from bench.fleet.plan import Limits
from bench.machine.doctor import MAX_MAP_COUNT, ThreadLimit
from bench.plan.tls import Tls

HOST = Limits(
    host="10.0.0.1:1",
    machine="a",
    cores=2,
    memory_bytes=64 << 30,
    descriptors=20_000,
    files_left=4_000_000,
    files_max=4_100_000,
    ports=28_232,
    watches=5_000_000,
    tasks=(
        ThreadLimit("kernel.pid_max", 32_000, "sysctl kernel.pid_max={}"),
        ThreadLimit(MAX_MAP_COUNT, 32_265, "sysctl vm.max_map_count={maps}"),
    ),
)


def hosts(count: int, machines: int = 1) -> list[Limits]:
    return [replace(HOST, host=f"10.0.0.{n}:1", machine=f"m{n % machines}") for n in range(count)]


@settings(deadline=None)
@given(st.integers(1, 3_000_000), st.integers(1, 7), st.integers(2_000, 20_000))
def test_every_connection_has_one_place(connections: int, count: int, share: int) -> None:
    made = plan.make(connections, "callbacks", hosts(count), share=share)
    assert sum(part.connections for part in made.shares) == connections
    assert all(1 <= part.connections <= share for part in made.shares)
    assert [part.number for part in made.shares] == list(range(len(made.shares)))
    sizes = [part.connections for part in made.shares]
    assert max(sizes) - min(sizes) <= 1
    per_host = [sum(p.host == host.host for p in made.shares) for host in hosts(count)]
    assert max(per_host) - min(per_host) <= 1


def test_a_share_fits_the_descriptors_and_the_ports() -> None:
    made = plan.make(1_000_000, "callbacks", [HOST])
    assert not made.unmet
    assert len(made.shares) == 89
    assert max(part.connections for part in made.shares) < HOST.descriptors
    few_ports = plan.make(1_000_000, "callbacks", [replace(HOST, ports=4000)])
    assert max(part.connections for part in few_ports.shares) < 4000 / 2


@pytest.mark.parametrize(
    ("change", "what", "fix"),
    [
        ({"memory_bytes": 1 << 30}, "memory", "more memory"),
        ({"files_left": 1000}, "file table", "sysctl fs.file-max="),
        ({"watches": 1000}, "epoll watches", "sysctl fs.epoll.max_user_watches="),
        ({"tasks": (ThreadLimit("pids.max", 70, "raise to {}"),)}, "tasks by pids.max", "raise to"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_limit_that_is_too_low_is_named_with_its_numbers(
    change: dict[str, object], what: str, fix: str
) -> None:
    low = [replace(HOST, **change)]  # type: ignore[arg-type]
    made = plan.make(200_000, "callbacks", low)
    (stop,) = made.unmet
    assert stop.what == what
    assert fix in str(stop)
    assert f"at most {made.most:,}" in made.refusal
    assert made.most < 200_000
    assert not made.most or not plan.make(made.most, "callbacks", low).unmet
    assert plan.make(made.most + 1, "callbacks", low).unmet


def test_tls_takes_memory_and_nothing_else() -> None:
    plain = plan.make(500_000, "callbacks", [HOST])
    encrypted = plan.make(500_000, "callbacks", [HOST], tls=Tls())
    more = {
        a.what
        for a, b in zip(plain.requirements, encrypted.requirements, strict=True)
        if a.needed != b.needed
    }
    assert more == {"memory"}
    assert encrypted.shares == plain.shares
    assert encrypted.ramp_s > plain.ramp_s
    assert plan.make(500, "callbacks", [HOST], tls=Tls(), ramp_per_s=50).ramp_s == 10


@pytest.mark.parametrize("backend", ["callbacks", "uvloop"])
def test_too_little_memory_for_tls_is_refused_with_the_number_that_fits(backend: str) -> None:
    made = plan.make(1_500_000, backend, [HOST], tls=Tls())
    assert [stop.what for stop in made.unmet] == ["memory"]
    assert f"1,500,000 connections of {backend} over TLS do not fit: memory" in made.refusal
    assert f"at most {made.most:,} do" in made.refusal
    assert not plan.make(made.most, backend, [HOST], tls=Tls()).unmet
    assert plan.make(made.most + 1, backend, [HOST], tls=Tls()).unmet


def test_hosts_of_one_machine_share_its_memory() -> None:
    def memory(found: list[Limits]) -> list[int]:
        made = plan.make(100_000, "callbacks", found)
        return [need.needed for need in made.requirements if need.what == "memory"]

    (both,) = memory(hosts(2, machines=1))
    apart = memory(hosts(2, machines=2))
    assert len(apart) == 2
    assert both == pytest.approx(sum(apart))


def test_this_machine_can_be_read() -> None:
    here = plan.limits("here")
    assert here.memory_bytes > 0
    assert here.descriptors > 0
    assert not plan.make(10, "callbacks", [here]).unmet
