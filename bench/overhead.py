"""What the instrument itself costs: the recorder, and the harness around each trial."""

from __future__ import annotations

from statistics import median

from bench import stats
from bench.store import Records


def words(records: Records) -> list[str]:
    """The instrument's own cost in sentences, as far as the records tell."""
    lines = []
    for label, cost in stats.recorder_cost(records.all).items():
        if cost.value is None:
            continue
        within = (
            f"95 % interval {1 - cost.high:+.1%} to {1 - cost.low:+.1%}"
            if cost.low is not None and cost.high is not None
            else f"{cost.blocks} blocks, too few for an interval"
        )
        lines.append(f"Keeping times costs {label} {1 - cost.value:+.1%} of throughput ({within}).")
    around = [trial.trial_s - trial.elapsed_s for trial in records.trials if trial.elapsed_s]
    if around:
        lines.append(f"A trial takes {median(around):.2f} s besides its timed part (median).")
    end = records.end
    if end is not None and end.wall_s > 0:
        share = 1 - end.trial_wall_s / end.wall_s
        lines.append(f"{share:.0%} of the campaign's {end.wall_s:.0f} s were spent outside trials.")
    return lines
