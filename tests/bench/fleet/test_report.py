"""Charts and tables of a fleet, from its records alone."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path

from rich.console import Console

from bench.fleet import study
from bench.fleet.study import STUDY, WHOLE, FleetTrial, Moment, held, largest
from bench.launch import RESULTS, ROOT
from bench.show.figures import Figure
from bench.show.pictures import alt
from bench.study.study import Run
from bench.text import KIB
from tests.bench.fleet.test_trial import HOST
from tests.bench.study import made

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
    assert blind.per_connection(["user_bytes"]) is None
