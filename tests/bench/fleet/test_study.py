"""A fleet's plan, its trial with hosts that only say what they are told to, and what is shown."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from bench.fleet import hold, study
from bench.fleet.hold import Fleet, Host, HostStatus
from bench.fleet.study import STUDY, WHOLE, FleetTrial, HostRecord, Moment, Worker, held, largest
from bench.launch import RESULTS, ROOT
from bench.machine import memory
from bench.machine.doctor import SPARE_DESCRIPTORS, CheckResult
from bench.machine.memory import Snapshot
from bench.machine.objects import Slabs
from bench.machine.procfs import UNLIMITED, Slab
from bench.schema import MemoryParts
from bench.show.figures import Figure
from bench.show.pictures import alt
from bench.study import Run, StudyError
from bench.study.runner import Lost
from bench.text import KIB
from tests.bench import small
from tests.bench.study import made

HOST = HostRecord(
    host="10.0.0.1:1", cores=2, descriptors=20_000, ports=28_232, memory_available_bytes=64 << 30
)


def planned(connections: int, hosts: list[HostRecord], **others: Any) -> FleetTrial:
    """A plan of ``callbacks``, or of another backend."""
    values = {"backend": "callbacks", "tls": None, "ramp_per_s": 5000.0} | others
    return FleetTrial(connections=connections, hosts=hosts, **values)


def hosts(count: int, share: int = 10_000) -> list[HostRecord]:
    """Hosts whose processes can hold so many connections each."""
    limits = {"descriptors": share + SPARE_DESCRIPTORS, "ports": UNLIMITED}
    return [HOST.model_copy(update={"host": f"10.0.0.{n}:1", **limits}) for n in range(count)]


@settings(deadline=None)
@given(st.integers(1, 3_000_000), st.integers(1, 7), st.integers(2_000, 20_000))
def test_every_connection_has_one_place(connections: int, count: int, share: int) -> None:
    made = planned(connections, hosts(count, share))
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
    made = planned(1_000_000, [HOST])
    assert len(made.shares) == 89
    assert max(part.connections for part in made.shares) < HOST.descriptors
    few_ports = planned(1_000_000, [HOST.model_copy(update={"ports": 4000})])
    assert max(part.connections for part in few_ports.shares) < 4000 / 2
    too_low = planned(1000, [HOST.model_copy(update={"descriptors": 100})])
    with pytest.raises(StudyError, match="ulimit"):
        _ = too_low.shares


def test_tls_takes_memory_and_nothing_else() -> None:
    plain = planned(500_000, [HOST])
    encrypted = planned(500_000, [HOST], tls="TLS 1.3")
    before, after = plain.needs(HOST.host), encrypted.needs(HOST.host)
    assert after == replace(before, connection_bytes=after.connection_bytes)
    assert after.connection_bytes > before.connection_bytes
    assert encrypted.shares == plain.shares


def test_what_does_not_fit_is_refused_with_the_limit_and_its_host() -> None:
    made = planned(1_500_000, [HOST], tls="TLS 1.3")
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
    made = planned(20_000, hosts(1, share=5_000), backend="threads")
    needs = made.needs(made.hosts[0].host)
    assert (needs.threads, needs.of_share(needs.threads)) == (20_000, 5_000)


def test_this_machine_can_be_read() -> None:
    here = Host("here")
    limits = here.limits()
    assert limits.memory_available_bytes > 0
    assert limits.descriptors > 0
    made = planned(10, [limits])
    assert made.refusal({"here": here.examine(made)}) is None


@pytest.mark.slow
def test_a_host_that_was_lost_and_is_back_ends_what_it_had() -> None:
    here = Host("here")
    made = planned(10, [here.limits()])
    before = set(small.family(os.getpid()))
    try:
        here.do("start", made)
        first = set(small.family(os.getpid())) - before
        assert first
        here.do("start", made)
        assert small.all_gone(list(first))
    finally:
        here.stop()


@pytest.mark.slow
def test_a_host_that_the_fleet_has_left_ends_what_it_had() -> None:
    """Dask drops the actor, and with it the calls that still wait; nobody can stop it then."""
    here = Host("here")
    before = set(small.family(os.getpid()))
    here.do("start", planned(10, [here.limits()]))
    started = set(small.family(os.getpid())) - before
    assert started
    del here
    try:
        assert not psutil.wait_procs(started, timeout=0)[1]
    finally:
        for process in started:
            with suppress(psutil.NoSuchProcess):
                process.kill()


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


PLAN = planned(10, [HOST], ramp_per_s=1e9)


class Stub:
    """A host with one worker."""

    def __init__(self, status: HostStatus, void: str | None) -> None:
        seen: dict[str, Any] = {"worker": 0, "connections": 10, "void": void}
        worker = Worker.model_construct(**seen)
        self.answers = {"look": status, "report": HOST.model_copy(update={"workers": [worker]})}
        self.calls: list[str] = []

    def do(self, method: str, *_: object) -> object:
        self.calls.append(method)
        return self.answers.get(method)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(study, "SPARE_S", 0.05)
    monkeypatch.setattr(hold, "LOOK_EVERY_S", 0.01)


@pytest.mark.usefixtures("impatient")
def test_memory_is_read_once_all_are_held_and_before_any_is_released() -> None:
    host = Stub(HostStatus(held=10, results=1, free_bytes=7), None)
    seen = hold.measure(Fleet({HOST.host: host}), PLAN)
    assert host.calls == ["limits", "start", "go", "look", "release", "look", "report", "stop"]
    assert (seen.samples[0].connections, seen.samples[0].used_bytes) == (10, 0)
    assert len(seen.workers) == 1


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize(
    ("held", "results", "void", "reason"),
    [
        (9, 0, None, "only 9 of 10 held after 0 s"),
        (10, 0, None, "only 0 of 1 results after 0 s"),
        (10, 1, "wrong digest", "worker 0 on host 10.0.0.1:1: wrong digest"),
    ],
)
def test_a_trial_that_does_not_count_is_void_and_keeps_what_there_is(
    held: int, results: int, void: str | None, reason: str
) -> None:
    host = Stub(HostStatus(held, results, free_bytes=None), void)
    with pytest.raises(Lost, match=reason) as lost:
        hold.measure(Fleet({HOST.host: host}), PLAN)
    assert lost.value.status == "void"
    assert getattr(lost.value.part, "samples", [])[-1].connections == held
    assert host.calls[-1] == "stop"


# --- what is shown -----------------------------------------------------------------------

QUIET = Console(quiet=True)


def trial(backend: str, connections: int, kib: int = 1, **changes: object) -> FleetTrial:
    """A trial that held connections, with ``kib`` KiB per connection in each part.

    ``growth`` is what its only host gained, if it is something else.
    """
    values: dict[str, object] = {
        "backend": backend,
        "tls": None,
        "connections": connections,
        "ramp_per_s": 5000,
        "opened_s": 4.0,
        "released_s": 2.0,
        "samples": [
            Moment(at_s=at, connections=connections * at // 4, used_bytes=at * KIB * KIB)
            for at in range(5)
        ],
    }
    gained = dict.fromkeys([*WHOLE, "machine_drop_bytes"], connections * kib * KIB)
    kernel = {"ListenOverflows": 0, "TCPTimeouts": None}
    seen = {"growth": changes.pop("growth", gained), "kernel": kernel}
    return FleetTrial.model_validate(values | {"hosts": [HOST.model_copy(update=seen)]} | changes)


def fleet(
    *trials: FleetTrial, lost: Mapping[str, tuple[str, str]] | None = None
) -> Run[FleetTrial]:
    """A fleet of one host with these trials."""
    parts = {f"{trial.label} {trial.connections}": [trial] for trial in trials}
    return made.run(STUDY, made.samples(parts, lost))


def test_everything_is_drawn_from_the_file(tmp_path: Path) -> None:
    gone = {"threads over TLS, 90,000 connections": ("refused", "no room")}
    run = fleet(trial("callbacks", 1000), trial("callbacks", 100_000), lost=gone)
    made.kept(STUDY, tmp_path, run)
    found = study.report(STUDY.last(tmp_path))
    found.write(tmp_path, QUIET)
    for name in ("fleet-ramp.svg", "fleet-ramp.png"):
        assert (tmp_path / "charts" / name).stat().st_size > 1000
    python = run.head.environment.python
    for design in found.designs:
        assert isinstance(design, Figure)
        assert python in design.footer[0]
    text = (tmp_path / "summary.md").read_text()
    assert python in text
    assert "| callbacks | 100,000 | 0 | 4.0 | 2.0 | 6.00 | 0 | not known | not known |" in text
    assert "| sum, both ends | 9.00 |" in text
    assert "- threads over TLS, 90,000 connections: no room" in text


def test_a_line_leads_to_the_summit() -> None:
    """Each moment was taken for a single trial, to which none leads: there was a dot alone."""
    line = study.curve(trial("callbacks", 1000), lambda moment: moment.connections)
    assert len(line) > 1
    assert all(point.y.count > 1 for point in line)


def test_plain_and_encrypted_connections_stay_apart() -> None:
    tls = {"tls": "TLS 1.3, ecdsa, tickets"}
    run = fleet(
        trial("callbacks", 10**6),
        trial("callbacks", 1000, 2, **tls),
        trial("callbacks", 250_000, 2, **tls),
    )
    text = study.report(run).excerpt()
    assert "| callbacks over TLS | 250,000 |" in text
    assert "| owner | callbacks, 1,000,000 | callbacks over TLS, 250,000 |" in text
    assert "| sum, both ends | 9.00 | 18.00 |" in text
    assert [trial.label for trial in largest(run)] == ["callbacks", "callbacks/tls"]
    ramp = study.ramp(run)
    assert isinstance(ramp, Figure)
    assert alt(ramp.title, ramp.data) == (
        "Line chart: Connections and memory against time, up to the summit. connections held, "
        "counted by the servers: callbacks 1M at 4 s. additional memory of the machines, GiB: "
        "callbacks 0.00391 at 4 s."
    )


def test_the_sentences_that_are_typed_are_what_the_records_give() -> None:
    """Those of docs/fleet.md about the million; tables and charts are generated."""
    plain = [one for one in held(STUDY.last(RESULTS / "fleet")) if one.tls is None]
    top = max(plain, key=lambda one: one.connections)
    assert top.connections == 1_000_000
    each = f"{(top.per_connection(WHOLE) or math.nan) / KIB:.0f} KiB"
    page = (ROOT / "docs" / "fleet.md").read_text()
    assert f"A million connections were open at once after {top.opened_s:.0f} s." in page
    assert f"At {each} a connection" in page


def test_what_hosts_counted_and_gained_is_added() -> None:
    one = trial("callbacks", 1000)
    both = one.model_copy(update={"hosts": [*one.hosts, *one.hosts]})
    assert both.per_connection(["user_bytes"]) == 2 * KIB
    assert study.risen("ListenOverflows", both) == "0"
    assert study.risen("TCPTimeouts", both) == "not known"
    blind = both.model_copy(update={"hosts": [*one.hosts, HOST]})
    assert study.kib(["user_bytes"], blind) == "not measured"
    assert study.sentence(one).endswith("released in 2.0 s, 9.0 KiB each with both ends")
