"""Before a campaign: what is refused, and who else measures."""

from __future__ import annotations

import io
import os
from collections.abc import Sequence
from pathlib import Path

import pytest
from rich.console import Console

from bench.plan import plan, workloads
from bench.plan.participants import Label, usually
from bench.plan.plan import PlannedPoint
from bench.run import preflight
from bench.terminal import Terminal
from crawlers.backend import Backend
from crawlers.registry import MODELS

ONE = usually(MODELS, 1)
KNOWN = [Backend(name, "", "") for name in (*MODELS, "uvloop", "trio", "aiohttp")]


def refused(*entries: PlannedPoint, known: Sequence[Backend] = KNOWN) -> dict[str, str]:
    """Label on point -> why."""
    todo, console = plan.make(entries, seed=1), Console(file=io.StringIO(), width=10_000)
    found = preflight.refusals(todo, {one.name: one for one in known}, Path(), console)
    return {f"{label} on {point}": why for (point, label), why in found.items()}


def test_connections_over_tls_are_refused_beforehand_with_both_numbers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """10,000 of asyncio's take 3 GiB and the server's 0.6; uvloop's client takes a fifth."""
    monkeypatch.setattr("bench.machine.doctor.available_bytes", lambda: 3 << 30)
    point = workloads.c10k(10_000, ONE, tls=True)
    found = refused(PlannedPoint(point, {Label("async_await"): 1, Label("uvloop"): 1}))
    (reason,) = found.values()
    assert list(found) == ["async_await on tls-c10k-10000"]
    assert "3.05 GiB of the client and 625 MiB of the server for TLS" in reason


def test_all_processes_of_a_block_in_turns_need_memory_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """In a container of 256 MiB the kernel killed the harness, and nothing said why."""
    monkeypatch.setattr("bench.machine.doctor.available_bytes", lambda: 200 << 20)
    points = [workloads.c10k(50, ONE), workloads.throughput(100, 1000, ONE)]
    found = refused(*(PlannedPoint(point, plan.labels_of(point, MODELS)) for point in points))
    assert {label.partition(" on ")[2] for label in found} == {"throughput-100"}


def test_the_report_needs_memory_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a group of 200 MB a campaign was allowed, and the kernel killed it."""
    monkeypatch.setattr("bench.machine.doctor.available_bytes", lambda: 155 << 20)
    point = workloads.c10k(50, ONE)
    (reason,) = refused(PlannedPoint(point, {Label("callbacks"): 1})).values()
    assert "155 MiB available; 194 MiB needed" in reason


def test_a_backend_without_https_is_refused_in_every_mode_with_its_reason() -> None:
    known = [Backend("threads", "", "", no_https="sockets alone")]
    point = workloads.in_modes("tls-fetch", 10, 100, ONE)
    found = refused(PlannedPoint(point, plan.labels_of(point, ["threads"])), known=known)
    assert {*found} == {f"threads/{mode} on {point.id}" for mode in ("plain", "tls")}
    assert {*found.values()} == {"threads has no HTTPS: sockets alone"}


def test_a_backend_without_https_takes_part_where_there_is_none() -> None:
    backend = Backend("sockets", "", "", "async", 1, no_https="its calls take no ssl")
    assert preflight.unable(backend, workloads.in_modes("churn", 100, 1000, ONE)) is None
    assert "its calls take no ssl" in (
        preflight.unable(backend, workloads.in_modes("tls-fetch", 10, 100, ONE)) or ""
    )


def test_two_campaigns_at_once_are_told_of_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preflight, "NAME", f"test_of_c10k_crawlers_{os.getpid()}_")
    first, second, third = io.StringIO(), io.StringIO(), io.StringIO()
    with preflight.announced(Terminal(first)):
        assert first.getvalue() == ""
        with preflight.announced(Terminal(second)):
            pass
    assert "ran on this machine at the same time" in first.getvalue()
    assert "is running on this machine" in second.getvalue()
    with preflight.announced(Terminal(third)):
        pass
    assert third.getvalue() == ""
