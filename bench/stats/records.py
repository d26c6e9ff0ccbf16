"""Picking records: which trials, labels and points there are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from bench.schema import (
    AnyRecord,
    CampaignRecord,
    CeilingRecord,
    EndRecord,
    Limiter,
    ResumeRecord,
    TrialRecord,
)

Records = Sequence[AnyRecord]


def campaign_of(records: Records) -> CampaignRecord | None:
    """The campaign's first line, or None when the records lack it."""
    return next((r for r in records if isinstance(r, CampaignRecord)), None)


def end_of(records: Records) -> EndRecord | None:
    """The last line of a campaign that ended in good order, or None."""
    return next((r for r in reversed(records) if isinstance(r, EndRecord)), None)


def resumes_of(records: Records) -> list[ResumeRecord]:
    """Every time the campaign was taken up again."""
    return [r for r in records if isinstance(r, ResumeRecord)]


def ceilings_of(records: Records) -> list[CeilingRecord]:
    """All measurements of the fixture server's ceiling."""
    return [r for r in records if isinstance(r, CeilingRecord)]


def trials_of(
    records: Records, *workloads: str, status: str | None = "ok", twins: bool = True
) -> list[TrialRecord]:
    """Trials of the named workloads (all when none is named), in recorded order.

    ``status=None`` gives every trial whatever became of it; the default gives
    only those that may be averaged. ``twins=False`` leaves the A/A twin out.
    """
    return [
        r
        for r in records
        if isinstance(r, TrialRecord)
        and (not workloads or r.workload in workloads)
        and (status is None or r.status == status)
        and (twins or r.label == r.backend)
    ]


def labels_of(records: Records, *, twins: bool = False) -> list[str]:
    """Labels in the campaign's order; those it does not name follow, sorted."""
    seen = {t.label for t in trials_of(records, status=None, twins=twins)}
    head = campaign_of(records)
    order: list[str] = []
    for name in head.backends if head else []:
        order += [label for label in (name, f"{name}#2") if label in seen]
    return order + sorted(seen - set(order))


def points_of(records: Records, *workloads: str, status: str | None = "ok") -> list[str]:
    """Point ids that have trials, in the campaign's order."""
    seen = {t.point for t in trials_of(records, *workloads, status=status)}
    head = campaign_of(records)
    order = [p for p in (head.points if head else []) if p in seen]
    return order + sorted(seen - set(order), key=natural_key)


def natural_key(text: str) -> tuple[tuple[int, int, str], ...]:
    """Sort key under which ``throughput-10`` comes before ``throughput-100``."""
    return tuple(
        (0, int(part), "") if part.isdigit() else (1, 0, part)
        for part in text.replace("-", " ").split()
    )


def number_param(trial: TrialRecord, name: str) -> float | None:
    """A numeric workload parameter, or None."""
    value = trial.params.get(name)
    return float(value) if isinstance(value, (int, float)) else None


def limiter_of(trials: Iterable[TrialRecord]) -> Limiter | None:
    """The limiter most of the trials carry; ``unclear`` on a tie, None without stamps."""
    counts = Counter(t.limiter for t in trials if t.limiter is not None).most_common(2)
    if not counts:
        return None
    if len(counts) == 2 and counts[0][1] == counts[1][1]:
        return "unclear"
    return counts[0][0]
