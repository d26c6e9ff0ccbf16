"""Which backends differ: every pair of a campaign that may be compared, and the verdicts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from bench.stats.metrics import PAGES_PER_S, Metric
from bench.stats.noise import NoiseFloor, aa_noise_floor
from bench.stats.ratios import (
    RESAMPLES,
    SEED,
    Comparison,
    block_values,
    corrected,
    ratio,
    server_limited,
)
from bench.stats.records import Records, campaign_of, labels_of, points_of, trials_of


def compare(
    records: Records,
    metric: Metric = PAGES_PER_S,
    *,
    base: str | None = None,
    bases: Mapping[str, str] | None = None,
    floor: NoiseFloor | None = None,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> list[Comparison]:
    """Every backend against the base, at every point, as one family of comparisons.

    ``base`` defaults to the campaign's; ``bases`` gives each label one of its
    own instead, and leaves out the labels that it does not name. The noise
    floor defaults to the one of these records. A verdict that the
    Benjamini–Hochberg step does not keep is taken back to "no difference
    shown", with that as its reason.
    """
    head = campaign_of(records)
    labels = labels_of(records)
    base = base or (head.base if head else None) or (labels[0] if labels else "")
    against = dict.fromkeys(labels, base) if bases is None else bases
    pairs = [
        (point, against[label], label)
        for point in points_of(records, *metric.workloads)
        for label in labels
        if against.get(label, label) != label
    ]
    return compare_pairs(records, pairs, metric, floor=floor, resamples=resamples, seed=seed)


def compare_pairs(
    records: Records,
    pairs: Iterable[tuple[str, str, str]],
    metric: Metric = PAGES_PER_S,
    *,
    floor: NoiseFloor | None = None,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> list[Comparison]:
    """One comparison for each (point, base, label) with trials of both, as one family.

    For bases that differ from pair to pair; otherwise like :func:`compare`.
    """
    noise = floor or aa_noise_floor(records, metric)
    trials = trials_of(records, *metric.workloads)
    values = block_values(trials, metric)
    workload_of = {t.point: t.workload for t in trials}
    limited = server_limited(records) if metric is PAGES_PER_S else set()
    found: list[Comparison] = []
    for point, base, label in pairs:
        if (point, base) not in values or (point, label) not in values:
            continue
        result = ratio(
            values[point, base],
            values[point, label],
            floor=noise.log or 0.0,
            metric=metric,
            resamples=resamples,
            seed=seed,
        )
        hollow = bool({(point, base), (point, label)} & limited)
        found.append(Comparison(workload_of[point], point, metric, base, label, result, hollow))
    return corrected(found)
