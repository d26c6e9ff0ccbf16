"""Can this campaign be trusted?

What one backend compared with itself shows (A/A), whether all did equal work, what measuring
costs, how steady the machine was, and what to know before you quote a number.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator
from typing import Final

from bench.analysis import stats
from bench.analysis.analysis import Analysis
from bench.analysis.stats import AT_LEVEL, CPU_PER_1000, EqualWork, NoiseFloor, floor_words
from bench.questions.question import Answer, Headline
from bench.run.judge import unusable
from bench.schema import TrialRecord
from bench.text import capital, in_percent, listing, plural

NAME: Final = "trust"
ASKS: Final = "Can this campaign be trusted?"
ACROSS: Final = True

#: A noise floor above this log ratio is called too noisy for small differences.
NOISY_FLOOR: Final = 0.05
#: A host probe whose 95th percentile is this far above its median is unsteady.
UNSTEADY_PROBE: Final = 1.15
#: Stolen time beyond this share of the trials' time deserves a warning.
STEAL_SHARE: Final = 0.01
#: Of a block's time, by the median of its crawlers: on a quiet machine they wait 0.5 %.
WAITED_SHARE: Final = 0.2
#: Of a trial's or a block's time in which a limit stopped it: 1 % while its processes start.
THROTTLED_SHARE: Final = 0.05
#: Where each side had less than this share of its processor, and neither waited for a schedule,
#: other programs had the rest.
STARVED_SHARE: Final = 0.5
#: A block with fewer counted rounds of turns says little; the A/A pairs say how little.
FEWEST_ROUNDS: Final = 5


def answer(analysis: Analysis) -> Answer:
    return Answer(
        headline(analysis),
        "A twin is the same backend under a second label, in the same blocks, so every difference "
        "between the two is a false alarm.",
        warnings=warnings(analysis),
        method=method_lines(analysis),
    )


def headline(analysis: Analysis) -> Headline | None:
    ours, floor = analysis.aa, analysis.floor()
    if not ours.tested or floor.log is None:
        return None
    return Headline(
        f"Comparing one backend with itself raised {plural(ours.alarms, 'false alarm')} in "
        f"{ours.tested} comparisons",
        f"{plural(ours.pairs, 'independent pair')}, noise floor {floor_words(floor.log)}; at most "
        f"{math.ceil(100 * (ours.bound or 0))} % of such pairs raise an alarm, by the {AT_LEVEL} "
        "bound",
    )


# --- what to know before you quote a number ----------------------------------------------


def warnings(analysis: Analysis) -> list[str]:
    """What to know before you quote a number, most important first."""
    parts = (_unusable, _head, _waited, _starved, _noise, _short, _limits, _ending)
    return [text for part in parts for text in part(analysis)]


def _unusable(analysis: Analysis) -> Iterator[str]:
    bad = [t for t in analysis.records.trials if t.status != "ok"]
    kinds = Counter((t.status, t.label, t.point, t.reason or "no reason given") for t in bad)
    for (status, label, point, reason), n in kinds.most_common():
        yield f"{status}: {label} at {point}{f' ({n} trials)' if n > 1 else ''}: {reason}"
    yield from unusable(bad)


def _head(analysis: Analysis) -> Iterator[str]:
    if analysis.campaign.environment.dirty:
        yield "The working tree was dirty: the commit does not identify this code exactly."
    blocks = len({t.block for t in analysis.records.trials})
    if blocks < stats.MIN_BLOCKS:
        yield (
            f"{plural(blocks, 'block')}: fewer than {stats.MIN_BLOCKS}, so no ratio over "
            "blocks has an interval, and no such difference is claimed."
        )


def _rival(analysis: Analysis, points: Collection[str]) -> tuple[str, str, str]:
    """What kept crawlers from their processors, whose the time then was, and what to do."""
    quota = analysis.campaign.environment.cpu_quota
    if quota and any(_throttled(t) for t in analysis.records.trials if t.point in points):
        return f"a limit of {quota:g} processors stopped them", "the limit's", "raise it to 2"
    return "other programs had it", "theirs", "stop them"


def _throttled(trial: TrialRecord) -> bool:
    lasted_s = trial.trial_s * (len(trial.turns.beside) if trial.turns else 1)  # with its block
    return (trial.kernel.get("throttled_us") or 0) > 1e6 * THROTTLED_SHARE * lasted_s


def _waited(analysis: Analysis) -> Iterator[str]:
    """Points at which crawlers waited for their processor in some block."""
    waits: dict[tuple[str, int], list[float]] = defaultdict(list)
    for trial in stats.trials_of(analysis.records):
        if trial.shares and trial.shares.waited_share is not None:
            waits[trial.point, trial.block].append(trial.shares.waited_share)
    usual = {place: stats.average(shares, "median") for place, shares in waits.items()}
    long = {place: share for place, share in usual.items() if share > WAITED_SHARE}
    if long:
        points = dict.fromkeys(point for point, _ in long)
        had_it, whose, cure = _rival(analysis, points)
        yield (
            f"In {len(long)} of {plural(len(usual), 'block')} crawlers waited for their "
            f"processor for up to {in_percent(max(long.values()))} of the time (at "
            f"{listing([*points])}): {had_it}, so pages/s and response times are as much {whose}. "
            f"{capital(cure)} and measure again."
        )


def _starved(analysis: Analysis) -> Iterator[str]:
    """Points where most trials in turns got little of their processors, through no wait of theirs.

    The server polls there, so whichever side is slower has its processor to the full.
    """
    starved: dict[str, list[bool]] = defaultdict(list)
    for trial in stats.trials_of(analysis.records, *stats.CLOSED):
        used = trial.shares
        if trial.turns is not None and used is not None:
            client = (used.client_share or 0.0) / used.processors
            most = max(client, used.server_share or 0.0)
            starved[trial.point].append(trial.limiter == "unclear" and most < STARVED_SHARE)
    if points := [point for point, each in starved.items() if 2 * sum(each) > len(each)]:
        had_it, whose, cure = _rival(analysis, points)
        yield (
            f"At {listing(points)} neither side had half of its processor: {had_it}, so pages/s "
            f"are as much {whose}. Compare processor time, or {cure} and measure again."
        )


def _noise(analysis: Analysis) -> Iterator[str]:
    floor, host = analysis.floor(), analysis.host
    if floor.log and floor.log > NOISY_FLOOR:
        yield (
            "This machine is too noisy for small differences: of pages/s nothing below "
            f"{floor_words(floor.log)} is claimed."
        )
    if host and host.probe_p95_over_median > UNSTEADY_PROBE:
        yield (
            "Unsteady host: the fixed loop around the trials took up to "
            f"{in_percent(host.probe_p95_over_median - 1)} longer than usual (95th percentile)."
        )
    if host and host.steal_share is not None and host.steal_share > STEAL_SHARE:
        yield f"Other guests took {100 * host.steal_share:.1f} % of the processors' time (steal)."


def _short(analysis: Analysis) -> Iterator[str]:
    """Points of which blocks had so few counted rounds that noise hardly averages out."""
    rounds: dict[str, dict[int, int]] = defaultdict(dict)
    for trial in analysis.records.trials:
        if trial.turns is not None and trial.status == "ok":
            # Labels with several threads take one turn in a round, all others two.
            before = rounds[trial.point].get(trial.block, 0)
            rounds[trial.point][trial.block] = max(before, trial.turns.counted // 2)
    for point, counts in rounds.items():
        if few := [n for n in counts.values() if n < FEWEST_ROUNDS]:
            yield (
                f"{point}: fewer than {FEWEST_ROUNDS} rounds of turns counted in "
                f"{len(few)} of {plural(len(counts), 'block')} (the fewest {min(few)}), so that "
                "noise hardly averages out there."
            )


def _limits(analysis: Analysis) -> Iterator[str]:
    if analysis.equal_work.unequal:
        yield equal_work_sentence(analysis.equal_work)
    trials = analysis.records.trials
    unpinned = {str(t.pinning["reason"]) for t in trials if t.pinning.get("reason") is not None}
    yield from (f"Not pinned to processors: {reason}" for reason in sorted(unpinned))
    closed = stats.trials_of(analysis.records, *stats.CLOSED)
    if limited := {t.label for t in closed if t.limiter == "server"}:
        yield (
            f"Limited by the server at some points: {', '.join(sorted(limited))}. There the "
            "server sets the figure; the backend is at least that fast."
        )


def _ending(analysis: Analysis) -> Iterator[str]:
    end = analysis.records.end
    if resumes := analysis.records.resumes:
        yield f"The campaign was interrupted and resumed {plural(len(resumes), 'time')}."
    if end is None:
        yield "The campaign has no end record: it is still running or was interrupted."
    elif not end.complete:
        yield f"The campaign is incomplete: {end.reason or 'no reason given'}."


def method_lines(analysis: Analysis) -> list[str]:
    floors = {"": analysis.floor(), "By CPU per page: ": analysis.floor(CPU_PER_1000)}
    lines = [
        f"{by}{floor_sentence(floor)}"
        for by, floor in floors.items()
        if floor.log is not None or not by
    ]
    if head := headline(analysis):
        lines.append(f"{head.text} ({head.behind}).")
    if analysis.equal_work.points and not analysis.equal_work.unequal:  # else it is a warning
        lines.append(equal_work_sentence(analysis.equal_work))
    for (_, label), cost in analysis.instrument_cost.items():
        if cost.value is not None:
            ends = f"({cost.reason}: no interval)"
            if cost.low is not None and cost.high is not None:
                ends = f"[{100 * (1 - cost.high):+.1f} to {100 * (1 - cost.low):+.1f} %]"
            text = f"{label} {100 * (1 - cost.value):+.1f} % of a page’s time {ends}"
            lines.append(f"Keeping and counting times costs {text}.")
    return lines


def floor_sentence(floor: NoiseFloor) -> str:
    """The noise floor in a sentence, and which pairs differ from themselves by more."""
    if floor.log is None:
        return "No A/A pair was measured, so the noise floor of this campaign is unknown."
    text = f"Noise floor {floor_words(floor.log)}, from {plural(floor.pairs, 'A/A comparison')}."
    larger = {place: log for place, log in floor.own.items() if log > floor.log}
    if not larger:
        return text
    pairs = [f"{x} at {point} ({floor_words(log)})" for (point, x), log in larger.items()]
    return f"{text} Larger where these differed from themselves by more: {listing(pairs)}."


def equal_work_sentence(work: EqualWork) -> str:
    """Whether all backends did the same to the server."""
    points = len(work.points)
    if not work.unequal:
        everywhere = "all " * (points > 1) + plural(points, "point")
        return (
            "Equal work, by the server's ledger: all backends opened as many connections and "
            f"requested each page once, at {everywhere}."
        )
    faults = "; ".join(f"{label} at {point} {why}" for (point, label), why in work.unequal.items())
    return f"Not equal work, by the server's ledger, and no verdict: {faults}."
