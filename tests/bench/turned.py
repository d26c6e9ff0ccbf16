"""Made-up trials that took turns, and controls beside them."""

from __future__ import annotations

from collections.abc import Sequence

from bench.schema import AnyRecord, TrialRecord, Turns


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
    update = {"kind": "control", "label": name, "backend": name, "family": "control"}
    return in_turns(trial, us).model_copy(update=update)


def fetched(records: Sequence[AnyRecord]) -> list[AnyRecord]:
    """The trials of throughput-100 again as fetches in turns, with both controls."""
    found: list[AnyRecord] = []
    place = {"workload": "fetch", "point": "fetch-100"}
    for record in records:
        if isinstance(record, TrialRecord) and record.point == "throughput-100" and record.cpu:
            us = 1e6 * (record.cpu.client_user_s + record.cpu.client_system_s)
            moved = record.model_copy(update=place)
            found.append(in_turns(moved, us / (record.pages or 1)))
            if record.label == record.backend == "callbacks":
                cost = us / (record.pages or 1)
                found += [control(moved, "bare", 9.0), control(moved, "stripped", cost - 8.0)]
    return found


def in_turns_at(records: Sequence[AnyRecord], slots: int = 100) -> list[AnyRecord]:
    """A campaign whose throughput at so many slots took turns, at the same cost of a page."""
    found: list[AnyRecord] = []
    for record in records:
        if isinstance(record, TrialRecord) and record.point == f"throughput-{slots}" and record.cpu:
            spent = 1e6 * (record.cpu.client_user_s + record.cpu.client_system_s)
            record = in_turns(record, spent / (record.pages or 1))
        found.append(record)
    return found
