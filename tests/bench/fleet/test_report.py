"""Charts and tables of a fleet, from its records alone."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from bench.fleet import records, report
from bench.fleet.records import (
    FleetRecord,
    FleetRecords,
    FleetTrialRecord,
    Growth,
    HostFacts,
    Sample,
)
from bench.launch import RESULTS, ROOT
from bench.report.charts import Design, Skip
from bench.store import StoreError
from bench.text import KIB
from tests.bench import synthetic

PARTS = (
    *("user_bytes", "page_table_bytes", "kernel_stack_bytes", "send_buffer_bytes"),
    *("kernel_socket_bytes", "kernel_other_bytes", "server_user_bytes"),
    *("server_page_table_bytes", "server_kernel_bytes", "machine_drop_bytes"),
)


def trial(
    number: int, backend: str, connections: int, kib: int = 1, **changes: object
) -> FleetTrialRecord:
    """A trial that held connections, with ``kib`` KiB per connection in each part."""
    values: dict[str, object] = {
        "trial": number,
        "workload": "hold",
        "backend": backend,
        "family": "callbacks",
        "status": "ok",
        "reason": None,
        "started": "2026-11-21T05:12:00+00:00",
        "trial_s": 9.0,
        "workers": 2,
        "hosts": 1,
        "connections": connections,
        "params": {},
        "opened_s": 4.0,
        "released_s": 2.0,
        "growth": Growth(**dict.fromkeys(PARTS, connections * kib * KIB)),
        "samples": [
            Sample(at_s=at, connections=connections * at // 4, used_bytes=at * KIB * KIB)
            for at in range(5)
        ],
        "kernel": {"ListenOverflows": 0, "TCPTimeouts": None},
    }
    return FleetTrialRecord.model_validate(values | changes)


def fleet(*trials: FleetTrialRecord) -> FleetRecords:
    """A fleet of one host with these trials."""
    host = HostFacts(
        host="127.0.0.1:1", machine=0, cores=2, descriptors=20_000, ports=28_232,
        memory_available_bytes=1 << 34,
    )  # fmt: skip
    return FleetRecords(
        FleetRecord(
            fleet="20261121-051200-1a2b3c",
            created="2026-11-21T05:12:00+00:00",
            command=["hold"],
            cluster="local",
            hosts=[host],
            environment=synthetic.environment(),
        ),
        list(trials),
    )


def saved(made: FleetRecords, folder: Path) -> Path:
    """The records as a file."""
    lines = [record.model_dump_json() for record in (made.fleet, *made.trials)]
    (folder / records.FILE_NAME).write_text("\n".join(lines) + "\n")
    return folder


def test_everything_is_drawn_from_the_file(tmp_path: Path) -> None:
    made = fleet(
        trial(0, "callbacks", 1000), trial(1, "callbacks", 100_000)
    )  # fmt: skip
    files = {file.name for file in report.write(records.load(saved(made, tmp_path)), tmp_path)}
    for name in ("fleet-ramp", "fleet-memory"):
        assert {f"{name}.svg", f"{name}.png", f"{name}-dark.svg"} <= files
    text = (tmp_path / "summary.md").read_text()
    for design in (report.ramp(made), report.memory(made)):
        assert isinstance(design, Design)
        assert made.fleet.environment.python in design.footer[0]
    assert made.fleet.environment.python in text
    assert "| callbacks | 100,000 | 2 | 4.0 | 2.0 | 0 | not known | not known |" in text
    assert "| **sum, both ends** | **9.00** |" in text


def test_memory_is_called_flat_only_if_it_is() -> None:
    flat = report.memory(fleet(trial(0, "callbacks", 1000), trial(1, "callbacks", 10**6)))
    steep = report.memory(fleet(trial(0, "callbacks", 1000), trial(1, "callbacks", 10**6, 2)))
    assert isinstance(flat, Design)
    assert isinstance(steep, Design)
    assert flat.finding == (
        "A connection of callbacks takes as much memory with 1,000,000 open as with 1,000"
    )
    assert steep.finding is not None
    assert "as much memory" not in steep.finding
    blind = report.memory(fleet(trial(0, "callbacks", 1000, growth=Growth())))
    assert isinstance(blind, Skip)


def test_plain_and_encrypted_connections_stay_apart(tmp_path: Path) -> None:
    tls = {"tls": "TLS 1.3, ecdsa, tickets"}
    made = fleet(
        trial(0, "callbacks", 10**6),
        trial(1, "callbacks", 1000, 2, **tls),
        trial(2, "callbacks", 250_000, 2, **tls),
    )
    text = report.tables(made)
    assert "| callbacks over TLS | 250,000 |" in text
    assert "| owner | callbacks, 1,000,000 | callbacks over TLS, 250,000 |" in text
    assert "| **sum, both ends** | **9.00** | **18.00** |" in text
    assert [one.label for one in made.largest] == ["callbacks", "callbacks/tls"]
    ramp = report.ramp(made)
    assert isinstance(ramp, Design)
    assert ramp.alt == (
        "Two line charts against time. callbacks held 1,000,000 connections after 4.0 s."
    )
    drawn = report.memory(made)
    assert isinstance(drawn, Design)
    assert "callbacks 6.0 KiB at 1,000,000" in drawn.alt
    assert "callbacks over TLS 12 KiB at 1,000, 12 KiB at 250,000" in drawn.alt
    assert {file.name for file in report.write(made, tmp_path)} >= {"fleet-memory.svg"}
    svg = (tmp_path / "charts" / "fleet-memory.svg").read_text()
    assert "stroke-dasharray" in svg


def test_a_damaged_file_is_reported_with_its_line(tmp_path: Path) -> None:
    folder = saved(fleet(trial(0, "callbacks", 1000)), tmp_path)
    file = folder / records.FILE_NAME
    whole = file.read_text()
    file.write_text(whole + '{"kind": "trial", "torn')
    assert len(records.load(folder).trials) == 1
    file.write_text(whole + '{"kind": "trial"}\n')
    with pytest.raises(StoreError, match=r"fleet\.jsonl:3: not a valid record"):
        records.load(folder)
    with pytest.raises(StoreError, match="No such file"):
        records.load(tmp_path / "nowhere")


def test_the_sentences_that_are_typed_are_what_the_records_give() -> None:
    """Those of docs/fleet.md about the million; tables and charts are generated."""
    held = [one for one in records.load(RESULTS / "fleet").held if one.tls is None]
    top = max(held, key=lambda one: one.connections)
    assert top.connections == 1_000_000
    each = f"{(records.per_connection(top, records.WHOLE) or math.nan) / KIB:.0f} KiB"
    page = (ROOT / "docs" / "fleet.md").read_text()
    assert f"A million connections were open at once after {top.opened_s:.0f} s." in page
    assert f"At {each} and" in page
