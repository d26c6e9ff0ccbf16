"""Trials over TLS: whole and in turns, checked at the server, with the memory of a connection."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from bench.controls import CONTROLS
from bench.plan import backends, plan
from bench.plan.cast import Cast
from bench.plan.labels import Label
from bench.plan.order import Turn
from bench.plan.over_tls import tls_c10k, tls_fetch, tls_handshake
from bench.plan.sizes import PAGES_PER_SLOT
from bench.plan.tls import Tls
from bench.plan.workloads import SITE_SEED, Point
from bench.run import together, trial
from bench.run.campaign import out_of_the_way, warmup_server
from bench.run.servers import Server
from bench.run.state import Bench, Trial
from bench.schema import TrialRecord
from bench.text import KIB
from crawlers.registry import MODELS

CONNECTIONS = 30


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    """What the trials of a campaign share, with a warm-up server over TLS beside the plain one."""
    known = {backend.name: backend for backend in backends.look_up(MODELS)}
    with (
        out_of_the_way() as pinning,
        tempfile.TemporaryDirectory() as scratch,
        warmup_server(pinning) as warmup,
        warmup_server(pinning, Tls()) as over_tls,
    ):
        yield Bench(
            warmup,
            CONTROLS | known,
            pinning,
            seed=5,
            scratch=Path(scratch),
            deadline_s=120,
            warmup_tls=over_tls,
        )


def held(bench: Bench, name: str) -> TrialRecord:
    """One trial that holds connections over TLS."""
    point = tls_c10k(CONNECTIONS, Cast(1))
    cores = bench.pinning.server
    with Server(point.site, seed=SITE_SEED, cores=cores, tls=point.tls) as server:
        return trial.run(bench, point, Turn(0, point.id, 0, Label(name)), server, 0)


@pytest.mark.parametrize("name", [*MODELS, "bare_tls"])
def test_connections_are_held_over_tls(bench: Bench, name: str) -> None:
    record = held(bench, name)
    assert (record.status, record.reason) == ("ok", None)
    assert record.params["tls"] == "TLS 1.3, ecdsa, tickets"
    assert record.ledger is not None
    assert record.ledger.handshakes is not None
    assert record.ledger.handshakes.full == record.ledger.peak_in_flight == CONNECTIONS
    assert record.memory is not None
    assert record.memory.held.user_bytes is not None
    assert record.memory.before.user_bytes is not None
    each = (record.memory.held.user_bytes - record.memory.before.user_bytes) / CONNECTIONS
    # A handshake's state is 16 KiB and more; asyncio's buffer is 256. The first connections take
    # what the warm-up has left free in the heap.
    assert each > (100 if name == "async_await" else 8) * KIB


def block(bench: Bench, point: Point, *names: str) -> list[TrialRecord]:
    """One block in turns of these backends in all modes of the point."""
    turns = {
        place: Turn(0, point.id, place, label)
        for place, label in enumerate(plan.cast(point, names))
    }
    records, _ = together.run(bench, point, turns)
    return records


def test_a_page_is_measured_plain_and_over_tls_in_one_block(bench: Bench) -> None:
    point = replace(tls_fetch(2, 4000, Cast(1)), slots=2)
    records = block(bench, point, "callbacks")
    assert [record.params["mode"] for record in records] == ["plain", "tls"]
    for record in records:
        assert (record.status, record.reason) == ("ok", None)
        assert record.digest == record.digest_expected
        assert record.turns is not None
        assert record.turns.beside == ["callbacks/plain", "callbacks/tls"]
        assert record.ledger is not None
        assert record.ledger.connections_opened == 2
        assert (record.ledger.handshakes is None) == (record.params["mode"] == "plain")


def test_a_handshake_for_each_page_is_counted_at_the_server(bench: Bench) -> None:
    point = tls_handshake(2, 6000, Cast(1))
    records = block(bench, point, "callbacks")
    assert [record.params["mode"] for record in records] == ["churn", "handshake", "tickets"]
    for record in records:
        assert (record.status, record.reason) == ("ok", None)
        assert record.pages is not None
        assert record.pages >= PAGES_PER_SLOT * 2
        assert record.ledger is not None
        assert record.ledger.connections_opened == record.pages
        assert record.ledger.requests_per_connection_max == 1
        seen = record.ledger.handshakes
        if record.params["mode"] == "churn":
            assert seen is None
        else:
            assert seen is not None
            assert seen.full + seen.resumed == record.pages


def test_the_authorities_of_both_servers_are_in_one_file(bench: Bench) -> None:
    """So the context that the warm-up has made serves the trial."""
    point = tls_c10k(2, Cast(1))
    cores = bench.pinning.server
    with Server(point.site, seed=SITE_SEED, cores=cores, tls=point.tls) as server:
        mine = Trial(bench, point, Turn(0, point.id, 0, Label("callbacks")), server, 7)
        file = mine.cafile
        assert file is not None
        assert mine.warmup is bench.warmup_tls
        assert file.read_text().count("BEGIN CERTIFICATE") == 2
        assert trial.command(mine).cafile == str(file)
        assert trial.command(mine).warmup_prefix.startswith("https://")
