"""Made-up trials that took turns, and controls beside them."""

from __future__ import annotations

from collections.abc import Sequence

from bench.schema import AnyRecord, TrialRecord, Turns
from tests.bench.altered import altered, replaced


def in_turns(trial: TrialRecord, us: float) -> TrialRecord:
    """The trial as if it had taken turns, at so many microseconds per exchange."""
    turns = Turns(
        turn_s=0.01,
        taken=60,
        counted=50,
        exchanges=1000,
        wall_s=0.5,
        cpu_s=us / 1000,
        server_cpu_s=0.1,
        steal_s=None,
        beside=[],
        spanned=0,
    )
    return trial.model_copy(update={"turns": turns})


def control(trial: TrialRecord, name: str, us: float) -> TrialRecord:
    taken = in_turns(trial, us)
    return altered(taken, kind="control", label=name, backend=name, family="control")


def page_us(trial: TrialRecord) -> float:
    """Microseconds of the client for a page."""
    assert trial.cpu is not None
    return 1e6 * (trial.cpu.client_user_s + trial.cpu.client_system_s) / (trial.pages or 1)


def fetched(records: Sequence[AnyRecord]) -> list[AnyRecord]:
    """The trials of throughput-100 again as fetches in turns, with both controls."""
    found: list[AnyRecord] = []
    for record in records:
        if isinstance(record, TrialRecord) and record.point == "throughput-100" and record.cpu:
            moved, us = altered(record, workload="fetch", point="fetch-100"), page_us(record)
            found.append(in_turns(moved, us))
            if record.label == record.backend == "callbacks":
                found += [control(moved, "bare", 9.0), control(moved, "stripped", us - 8.0)]
    return found


def in_turns_at(records: Sequence[AnyRecord], slots: int = 100) -> list[AnyRecord]:
    """A campaign whose throughput at so many slots took turns, at the same cost of a page."""
    place = f"throughput-{slots}"
    return replaced(records, lambda t: in_turns(t, page_us(t)) if t.point == place else t)
