"""Can a campaign be trusted? Its warnings, and what it says about its own method."""

from __future__ import annotations

from collections import Counter, defaultdict
from statistics import median
from typing import Final

from bench import advice, turnlog
from bench.analysis import releases, stats
from bench.analysis.analysis import Analysis
from bench.text import plural

#: A noise floor above this is called too noisy for small differences.
NOISY_FLOOR_PERCENT: Final = 5.0
#: A host probe whose 95th percentile is this far above its median is unsteady.
UNSTEADY_PROBE: Final = 1.15
#: Stolen time beyond this share of the trials' time deserves a warning.
STEAL_SHARE: Final = 0.01
#: The sum of the memory parts over the drop in free memory must lie in this range.
AGREEMENT: Final = (0.8, 1.25)
#: Kinds of unusable trials that are listed one by one.
MOST_KINDS: Final = 20


def warnings(analysis: Analysis) -> list[str]:
    """What to know before you quote a number, most important first."""
    return [
        *_unusable(analysis),
        *_head(analysis),
        *_noise(analysis),
        *_short(analysis),
        *_parity(analysis),
        *_memory(analysis),
        *_limits(analysis),
        *_ending(analysis),
    ]


def _unusable(analysis: Analysis) -> list[str]:
    bad = [t for t in analysis.records.trials if t.status != "ok"]
    kinds = Counter((t.status, t.label, t.point, t.reason or "no reason given") for t in bad)
    found = [
        f"{status}: {label} at {point}{f' ({n} trials)' if n > 1 else ''}: {reason}"
        for (status, label, point, reason), n in kinds.most_common(MOST_KINDS)
    ]
    if len(kinds) > MOST_KINDS:
        found.append(f"... and {len(kinds) - MOST_KINDS} more kinds of unusable trials")
    return found + advice.unusable(bad)


def _head(analysis: Analysis) -> list[str]:
    found = []
    if differing := releases.differing_builds(analysis.campaign.interpreters):
        found.append(differing)
    if analysis.campaign.environment.dirty:
        found.append("The working tree was dirty: the commit does not identify this code exactly.")
    blocks = len({t.block for t in analysis.records.trials})
    if blocks < stats.MIN_BLOCKS:
        found.append(
            f"{blocks} block{'s' if blocks != 1 else ''}: fewer than {stats.MIN_BLOCKS}, so no "
            "ratio has an interval and no difference is claimed."
        )
    return found


def _noise(analysis: Analysis) -> list[str]:
    found = []
    floor, host, balance = analysis.floor(), analysis.host, analysis.balance
    if floor.percent is not None and floor.percent > NOISY_FLOOR_PERCENT:
        found.append(
            "This machine is too noisy for small differences: nothing below "
            f"{stats.floor_words(floor.log or 0.0)} is claimed."
        )
    if host and host.probe_p95_over_median > UNSTEADY_PROBE:
        found.append(
            "Unsteady host: the fixed loop around the trials took up to "
            f"{100 * (host.probe_p95_over_median - 1):.0f} % longer than usual (95th percentile)."
        )
    if host and host.steal_share is not None and host.steal_share > STEAL_SHARE:
        found.append(f"Other guests took {100 * host.steal_share:.1f} % of the time (steal).")
    if balance and not balance.balanced:
        found.append(balance.words)
    return found


def _short(analysis: Analysis) -> list[str]:
    """Points of which blocks had so few counted rounds that noise hardly averages out."""
    rounds: dict[str, dict[int, int]] = defaultdict(dict)
    for trial in analysis.records.trials:
        if trial.turns is None or trial.params.get("side"):
            continue  # old campaigns have crawls of two at the same time, as one turn
        if trial.status == "ok":
            # Labels with several threads take one turn in a round, all others two.
            before = rounds[trial.point].get(trial.block, 0)
            rounds[trial.point][trial.block] = max(before, trial.turns.counted // 2)
    found = []
    for point, counts in rounds.items():
        few = [n for n in counts.values() if n < turnlog.FEWEST_ROUNDS]
        if few:
            found.append(
                f"{point}: fewer than {turnlog.FEWEST_ROUNDS} rounds of turns counted in "
                f"{len(few)} of {plural(len(counts), 'block')} (the fewest {min(few)}), so that "
                "noise hardly averages out there."
            )
    return found


def _parity(analysis: Analysis) -> list[str]:
    parity = analysis.parity
    return [parity.words] if parity.rows and not parity.equal else []


def _memory(analysis: Analysis) -> list[str]:
    low, high = AGREEMENT
    return [
        f"Memory of {row.label}: the sum of the parts is {100 * row.agreement:.0f} % of "
        "the drop in free memory; the two methods disagree."
        for row in analysis.memory_rows
        if row.agreement is not None and not low <= row.agreement <= high
    ]


def _limits(analysis: Analysis) -> list[str]:
    trials = analysis.records.trials
    unpinned = {str(t.pinning["reason"]) for t in trials if t.pinning.get("reason") is not None}
    found = [f"Not pinned to processors: {reason}" for reason in sorted(unpinned)]
    closed = stats.trials_of(analysis.records, *stats.CLOSED)
    limited = {t.label for t in closed if t.limiter == "server"}
    if limited:
        found.append(
            f"Limited by the server at some points: {', '.join(sorted(limited))}. There the "
            "server sets the figure; the backend is at least that fast."
        )
    return found


def _ending(analysis: Analysis) -> list[str]:
    found, end = [], analysis.records.end
    if resumes := analysis.records.resumes:
        times = f"{len(resumes)} time{'s' if len(resumes) != 1 else ''}"
        found.append(f"The campaign was interrupted and resumed {times}.")
    if end is None:
        found.append("The campaign has no end record: it is still running or was interrupted.")
    elif not end.complete:
        found.append(f"The campaign is incomplete: {end.reason or 'no reason given'}.")
    return found


def pairs_lines(analysis: Analysis) -> list[str]:
    """What one backend compared with itself shows: floor and false alarms."""
    lines = [analysis.floor().words]
    cpu = analysis.floor(stats.CPU_PER_1000)
    if cpu.log is not None:
        lines.append(f"By CPU per page: {cpu.words}")
    if analysis.aa.comparisons:
        lines += [analysis.aa.words, *analysis.aa.accounting]
    return lines


def method_lines(analysis: Analysis) -> list[str]:
    """Noise floor, A/A, order, parity and what measuring costs, a sentence each."""
    lines = pairs_lines(analysis)
    if analysis.validity:
        lines += analysis.validity.sentences
    if analysis.balance:
        lines.append(analysis.balance.words)
    if analysis.parity.rows:
        lines.append(analysis.parity.words)
    for (_, label), cost in analysis.instrument_cost.items():
        if cost.value is not None:
            lines.append(f"Keeping and counting times costs {label} {_instrument_words(cost)}.")
    for (point, label), asleep in analysis.sleeping_cost.items():
        if asleep.value is not None:
            lines.append(
                f"At {point}, a server that sleeps makes a page of {label} cost {asleep.value:.2f} "
                f"times the processor time{_ends(asleep)}: waking it is part of each send."
            )
    end = analysis.records.end
    if end and end.wall_s > 0:
        share = 100 * (1 - end.trial_wall_s / end.wall_s)
        lines.append(f"The harness itself took {share:.0f} % of {end.wall_s:.0f} s.")
    trials = analysis.records.trials
    # In turns the share of a trial may be shorter than its crawl, which others interrupt.
    alone = [trial for trial in trials if trial.elapsed_s and not trial.turns]
    around = [trial.trial_s - (trial.elapsed_s or 0.0) for trial in alone]
    if around:
        lines.append(f"A trial took {median(around):.2f} s besides its timed part (median).")
    return lines


def _ends(found: stats.Ratio) -> str:
    if found.low is None or found.high is None:
        return f" ({found.reason})"
    return f" [{found.low:.2f}–{found.high:.2f}]"


def _instrument_words(cost: stats.Ratio) -> str:
    text = f"{100 * (1 - (cost.value or 0.0)):+.1f} % of a page’s time"
    if cost.low is None or cost.high is None:
        return f"{text} ({cost.reason}: no interval)"
    return f"{text} [{100 * (1 - cost.high):+.1f} to {100 * (1 - cost.low):+.1f} %]"
