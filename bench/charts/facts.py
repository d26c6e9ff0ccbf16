"""What the charts share: the records' numbers, each computed once."""

from __future__ import annotations

from collections import defaultdict
from functools import cached_property

from bench import ladder, naive, stats
from bench.charts.style import count, shorten, times
from bench.schema import CampaignRecord, TrialRecord
from bench.stats import Comparison, Metric, Records

#: Slots at which a single point stands for its workload, if it was measured.
REFERENCE_SLOTS = 100


class Facts:
    """Lazily computed numbers of one campaign, and the words that several charts use."""

    def __init__(self, records: Records) -> None:
        """Take the records of one campaign, complete or not."""
        self.records = records
        self.campaign: CampaignRecord | None = stats.campaign_of(records)
        self.labels = stats.labels_of(records)
        self._comparisons: dict[str, list[Comparison]] = {}

    @property
    def backends(self) -> list[str]:
        """Backends in the campaign's order: this fixes the colours."""
        named = list(self.campaign.backends) if self.campaign else []
        everyone = named + [label for label in self.labels if label not in named]
        # First those that share most charts: theirs must be the colours that differ most.
        return sorted(everyone, key=lambda label: label not in self.main)

    @cached_property
    def main(self) -> list[str]:
        """Labels that were measured at many slots; the others stand on the ladder alone.

        All of them where no throughput was measured.
        """
        measured = {t.label for t in stats.trials_of(self.records, "throughput", twins=False)}
        return [label for label in self.labels if label in measured or not measured]

    @cached_property
    def base(self) -> str:
        """The backend that ratios are taken against."""
        if self.campaign:
            return self.campaign.base
        return self.labels[0] if self.labels else ""

    def compare(self, metric: Metric) -> list[Comparison]:
        """All comparisons by one metric, as one family."""
        if metric.name not in self._comparisons:
            self._comparisons[metric.name] = stats.compare(self.records, metric)
        return self._comparisons[metric.name]

    def floor(self, metric: Metric = stats.PAGES_PER_S) -> stats.NoiseFloor:
        """The noise floor by one metric."""
        return stats.aa_noise_floor(self.records, metric)

    @cached_property
    def aa(self) -> stats.AaResult:
        """The A/A comparisons by all metrics."""
        return stats.aa_check(self.records)

    @cached_property
    def naive(self) -> naive.NaiveResult:
        """What a naive harness would have claimed."""
        return naive.naive_claims(self.records, ours=self.aa)

    @cached_property
    def memory(self) -> dict[str, stats.MemoryFit]:
        """Memory fits by label."""
        return stats.fit_memory(self.records)

    @cached_property
    def ladder(self) -> ladder.Ladder | None:
        """Every backend against the one that it changes; None when the records do not say."""
        return ladder.ladder(self.records)

    @cached_property
    def parity(self) -> stats.Parity:
        """The ledger compared between backends."""
        return stats.parity(self.records)

    def by_size(self, workload: str, param: str) -> dict[str, dict[float, list[TrialRecord]]]:
        """label -> parameter value -> its ok trials, labels in the campaign's order, no twin."""
        found: dict[str, dict[float, list[TrialRecord]]] = {label: {} for label in self.labels}
        for trial in stats.trials_of(self.records, workload, twins=False):
            value = stats.number_param(trial, param)
            if value is not None:
                found[trial.label].setdefault(value, []).append(trial)
        return {label: dict(sorted(sizes.items())) for label, sizes in found.items() if sizes}

    def reference_point(self, *workloads: str) -> str | None:
        """The point that stands for the first of the workloads with data: 100 slots or most."""
        for workload in workloads:
            slots: dict[str, float] = {}
            for trial in stats.trials_of(self.records, workload, twins=False):
                slots[trial.point] = stats.number_param(trial, "slots") or 0.0
            if slots:
                exact = [p for p, s in slots.items() if s == REFERENCE_SLOTS]
                return exact[0] if exact else max(slots, key=lambda p: slots[p])
        return None

    def at_point(self, point: str) -> dict[str, list[TrialRecord]]:
        """label -> its ok trials at one point, in the campaign's order, no twin."""
        found: dict[str, list[TrialRecord]] = defaultdict(list)
        for trial in stats.trials_of(self.records, twins=False):
            if trial.point == point:
                found[trial.label].append(trial)
        return {label: found[label] for label in self.labels if label in found}

    def strongest(
        self, metric: Metric, workload: str, point: str | None = None
    ) -> Comparison | None:
        """The largest shown difference, by the near end of its interval; None when none is shown.

        Server-limited comparisons come after all others, since they say only "at least".
        """

        def size(c: Comparison) -> tuple[bool, float]:
            low, high = c.ratio.low or 1.0, c.ratio.high or 1.0
            return not c.server_limited, max(low, 1 / high) if low and high else 0.0

        shown = [
            c
            for c in self.compare(metric)
            if c.workload == workload and c.ratio.shown and point in (None, c.point)
        ]
        return max(shown, key=size, default=None)

    def spread_words(self, trials: list[TrialRecord]) -> str:
        """``median of 6 blocks, bars from lowest to highest``, true to the blocks there are."""
        blocks = len({t.block for t in trials})
        if blocks <= 1:
            return "one block, no spread"
        return f"median of {blocks} blocks, bars from lowest to highest"

    def silence(self, metric: Metric, workload: str) -> tuple[str, ...]:
        """Why the title claims nothing, for the notes; empty when there is nothing to say."""
        mine = [c for c in self.compare(metric) if c.workload == workload]
        if not mine or any(c.ratio.shown for c in mine):
            return ()
        if all(c.ratio.low is None for c in mine):
            blocks = max(c.ratio.blocks for c in mine)
            return (
                f"No ratio is claimed: {blocks} of at least {stats.MIN_BLOCKS} blocks for an "
                "interval.",
            )
        floor = self.floor(metric)
        known = f" beyond the noise floor of {stats.floor_words(floor.log)}" if floor.log else ""
        return (f"No difference shown{known}.",)

    @cached_property
    def footer(self) -> tuple[str, ...]:
        """Where the numbers come from: machine, Python, date, commit, campaign."""
        head = self.campaign
        if head is None:
            return ("campaign unknown: the records have no first line",)
        env = head.environment
        cores = f"{env.cpu_count} core{'s' if env.cpu_count != 1 else ''}"
        if env.cpu_quota is not None:
            cores += f" (quota {env.cpu_quota:g})"
        commit = (env.commit or "unknown")[:10] + ("+dirty" if env.dirty else "")
        bad = [t for t in stats.trials_of(self.records, status=None) if t.status != "ok"]
        first = [
            shorten(env.cpu_model or env.machine, 48),
            cores,
            f"{env.os}, {'Linux ' if env.kernel[:1].isdigit() else ''}{env.kernel}",
            env.python,
            head.created[:10],
        ]
        second = [
            f"campaign {head.campaign}",
            f"commit {commit}",
            f"profile {head.profile}",
        ]
        done = len({t.block for t in stats.trials_of(self.records)})
        second.append(
            f"{done} block{'s' if done != 1 else ''}"
            + (f" of {head.blocks}" if done < head.blocks else "")
        )
        if bad:
            second.append(
                f"{len(bad)} trial{'s' if len(bad) != 1 else ''} void, failed or refused: not drawn"
            )
        if stats.resumes_of(self.records):
            second.append("resumed")
        return " · ".join(first), " · ".join(second)


def apart(one: stats.Spread, other: stats.Spread, blocks: int = stats.MIN_BLOCKS) -> bool:
    """Whether two sets of trials are separated: enough blocks, and ranges that do not overlap.

    Used where no ratio is defined. Five trials all above five others of the same
    distribution happen in 0.8 % of cases.
    """
    if min(one.count, other.count) < blocks:
        return False
    return one.low > other.high or other.low > one.high


def ratio_words(comparison: Comparison) -> str:
    """A ratio with its interval for a note: ``1.53 (95 % interval 1.48 to 1.55)``."""
    result = comparison.ratio
    if result.value is None:
        return "no ratio"
    if result.low is None or result.high is None:
        return f"{result.value:.2f} (no interval: {result.reason})"
    return f"{result.value:.2f} (95 % interval {result.low:.2f} to {result.high:.2f})"


def point_words(trial: TrialRecord) -> str:
    """How a point is named in a sentence: ``100 slots``, ``10,000 connections``."""
    for name, unit in (("rate", "requests/s"), ("connections", "connections"), ("slots", "slots")):
        value = stats.number_param(trial, name)
        if value is not None:
            text = f"{count(value)} {unit}"
            return text[:-1] if value == 1 and unit.endswith("s") and unit[-2] != "/" else text
    return trial.point


__all__ = ["Facts", "apart", "point_words", "ratio_words", "times"]
