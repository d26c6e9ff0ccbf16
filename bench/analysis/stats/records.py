"""Select from a campaign's records: its trials, labels and points."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from bench.plan.labels import twin_of
from bench.schema import Limiter, TrialRecord
from bench.store import MOST_DIGITS, Records


def trials_of(
    records: Records, *workloads: str, status: str | None = "ok", twins: bool = True
) -> list[TrialRecord]:
    """Trials of the named workloads (all when none is named), in recorded order.

    By default you get the valid trials only, the ones that may be averaged;
    ``status=None`` gives all of them. ``twins=False`` leaves the A/A twin out.
    """
    return [
        trial
        for trial in records.trials
        if (not workloads or trial.workload in workloads)
        and (status is None or trial.status == status)
        and (twins or trial.label == trial.backend)
    ]


def companions_of(records: Records, *workloads: str) -> list[TrialRecord]:
    """The valid companions: further trials that others are compared with, and nothing else."""
    return [
        trial
        for trial in records.companions
        if (not workloads or trial.workload in workloads) and trial.status == "ok"
    ]


def polled(trial: TrialRecord) -> bool | None:
    """Whether the server polled during the trial; None in records from before it could."""
    found = trial.extra.get("server_polls")
    return None if found is None else bool(found)


def labels_of(records: Records, *, twins: bool = False) -> list[str]:
    """Labels in the campaign's order; labels it does not name follow, sorted."""
    seen = {t.label for t in trials_of(records, status=None, twins=twins)}
    order: list[str] = []
    for name in records.campaign.backends:
        order += [label for label in (name, twin_of(name)) if label in seen]
    return order + sorted(seen - set(order))


def points_of(records: Records, *workloads: str, status: str | None = "ok") -> list[str]:
    """Point ids that have trials, in the campaign's order."""
    seen = {t.point for t in trials_of(records, *workloads, status=status)}
    order = [point for point in records.campaign.points if point in seen]
    return order + sorted(seen - set(order), key=natural_key)


def natural_key(text: str) -> tuple[tuple[int, int, str], ...]:
    """Sort key under which ``throughput-10`` comes before ``throughput-100``."""
    return tuple(
        (0, int(part), "") if part.isdecimal() and len(part) < MOST_DIGITS else (1, 0, part)
        for part in text.replace("-", " ").split()
    )


def number_param(trial: TrialRecord, name: str) -> float | None:
    """A numeric workload parameter, or None."""
    value = trial.params.get(name)
    return float(value) if isinstance(value, (int, float)) else None


def limiter_of(trials: Iterable[TrialRecord]) -> Limiter | None:
    """The most frequent limiter; ``unclear`` on a tie, None where no trial has one."""
    counts = Counter(t.limiter for t in trials if t.limiter is not None).most_common(2)
    if not counts:
        return None
    if len(counts) == 2 and counts[0][1] == counts[1][1]:
        return "unclear"
    return counts[0][0]
