"""Requests on a schedule: which rates a backend keeps up with, and what theory says of a loop.

A page that is due while a loop works on another one waits, whatever it needs itself. So each page
is followed through a queue with one server along the very schedule of its trial (D. V. Lindley,
1952), with nothing left to chance. One thing is a loop's own: it waits for a due time in whole
milliseconds, because ``epoll_wait`` and libuv's clock do, and the kernel wakes it up a little
later. So a request that finds the loop asleep is sent half a millisecond late on average.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Final

from bench.analysis import stats
from bench.analysis.stats import number_param
from bench.plan.participants import SPREADING
from bench.schema import Latency, TrialRecord, Work
from bench.sides.protocol import chosen, poisson
from crawlers.catalogue import HANDED_OVER

KEEPS_UP: Final = 0.99
"""Below this share of the offered rate a backend no longer keeps up.

Its queue then grows as long as the trial lasts, so a response time says how long that was.
"""

ENOUGH: Final = 100 * stats.MIN_BEYOND
"""Samples for a 99th percentile."""

HALF: Final = 0.5
"""A share of capacity at which a queue is short."""

TAKEN: Final = 0.02
"""Of a trial's time: twice the hundredth of the requests that a p99 leaves out."""


def tail_ms(time: Latency | None) -> float | None:
    """The 99th percentile; None with too few samples for one."""
    return time.p99_ms if time and time.count >= ENOUGH else None


ByRate = Mapping[str, Mapping[float, Sequence[TrialRecord]]]
"""Label -> offered rate -> its trials."""


def keeps_up(trials: Sequence[TrialRecord], rate: float) -> bool:
    """Whether so many requests were fetched as were offered."""
    achieved = stats.middle((t.achieved_per_s for t in trials), "median")
    offered = stats.middle((t.offered_per_s or rate for t in trials), "median")
    return bool(achieved and offered and achieved >= KEEPS_UP * offered)


def capacity(rates: Mapping[float, Sequence[TrialRecord]]) -> float | None:
    """Requests/s where more were offered: the most it achieved. None where it kept up with all.

    And None where it kept up with more than that: then trials at lower rates were disturbed.
    """
    beyond = {rate: trials for rate, trials in rates.items() if not keeps_up(trials, rate)}
    reached = [stats.middle((t.achieved_per_s for t in own), "median") for own in beyond.values()]
    most = max((rate for rate in reached if rate), default=0.0)
    return most if most > max(rates.keys() - beyond.keys(), default=0.0) else None


def taken_s(trial: TrialRecord) -> float:
    """Seconds that others had the processor: guests of the host, programs, or nobody by a limit."""
    stolen_s = trial.host.steal_s if trial.host else None
    waited = trial.shares.waited_share if trial.shares else None
    waited_s = (waited or 0.0) * (trial.elapsed_s or 0.0)
    return max(stolen_s or 0.0, waited_s, (trial.kernel.get("throttled_us") or 0) / 1e6)


def robbed(trial: TrialRecord) -> bool:
    """Whether others took so much of the time that a tail may be theirs.

    Who is due while another has the processor waits, and says nothing of the backend.
    """
    return taken_s(trial) > TAKEN * (trial.elapsed_s or math.inf)


def all_trials(data: ByRate) -> list[TrialRecord]:
    return [trial for rates in data.values() for own in rates.values() for trial in own]


def heard(data: ByRate) -> ByRate:
    """The trials whose response times count: after a warm-up, where nobody robbed them.

    The robbed ones, too, where they are more than every other. Without a warm-up a p99 is mostly
    that of slots that start and connect.
    """
    warm = [trial for trial in all_trials(data) if number_param(trial, "warmup")]
    often = 2 * sum(map(robbed, warm)) > len(warm)

    def counts(trial: TrialRecord) -> bool:
        return bool(number_param(trial, "warmup")) and (often or not robbed(trial))

    return {
        label: {rate: kept for rate, own in rates.items() if (kept := [*filter(counts, own)])}
        for label, rates in data.items()
    }


def shared_rate(data: ByRate, labels: Collection[str]) -> float | None:
    """The rate at which all of these can be compared; None if there is none.

    All keep up with it, in blocks enough for an interval if any rate has them, and each trial has
    samples enough for a p99. Of such rates it is the highest that is at most half of what the
    slowest can do, or else the lowest; the highest of all where nobody was offered too much.
    """
    here = [data[label] for label in labels if label in data]
    common = sorted(set.intersection(*map(set, here))) if here else []
    fit = [
        rate
        for rate in common
        if all(keeps_up(rates[rate], rate) for rates in here)
        if all(tail_ms(trial.response_time) is not None for rates in here for trial in rates[rate])
    ]
    blocks = {rate: min(len(rates[rate]) for rates in here) for rate in fit}
    enough = min(stats.MIN_BLOCKS, max(blocks.values(), default=0))
    fit = [rate for rate in fit if blocks[rate] >= enough]
    slowest = min((most for rates in here if (most := capacity(rates))), default=math.inf)
    easy = [rate for rate in fit if rate <= HALF * slowest]
    return max(easy) if easy else min(fit, default=None)


STEP_S: Final = 0.001
"""The timers of selectors round up to whole steps (:meth:`selectors.EpollSelector.select`)."""

SLACK_S: Final = 50e-6
"""How much later than asked Linux wakes a thread, if it may (prctl(2), PR_SET_TIMERSLACK)."""

ONE_THREAD: Final = ("callbacks", "generators", "async")
"""The families whose backends work on pages where they loop, unless they hand the work over."""


def loops(trial: TrialRecord) -> bool:
    """Whether every page of the trial was worked on in the thread of one loop."""
    hands_over = trial.backend in (*HANDED_OVER, *SPREADING)
    return trial.family in ONE_THREAD and not hands_over


def responses(
    due: Sequence[float],
    worked: Collection[int],
    page_s: float,
    work_s: float,
    step_s: float = STEP_S,
    slack_s: float = SLACK_S,
) -> list[float]:
    """Seconds from the due time of each page to its last byte, after which its work begins.

    A page needs ``page_s`` of the processor, and those at the places ``worked`` need ``work_s``
    more. Without ``step_s`` and ``slack_s`` it is the queue alone.
    """
    free, waits = 0.0, []
    for place, time in enumerate(due):
        begins = free
        if time > free:
            late = free + math.ceil((time - free) / step_s) * step_s if step_s else time
            begins = slack_s + late
        free = begins + page_s
        waits.append(free - time)
        free += work_s * (place in worked)
    return waits


def page_s(trial: TrialRecord, work: Work) -> float:
    """Processor seconds of a page without its work: all of the client's, less all work."""
    if trial.cpu is None or not trial.pages:
        return 0.0
    used = trial.cpu.client_user_s + trial.cpu.client_system_s - work.pages * work.cpu_ms / 1000
    return max(used, 0.0) / trial.pages


def predicted_ms(trial: TrialRecord) -> float | None:
    """The mean response time of pages without work; None where no loop did the work.

    Work takes what it took by the clock: a loop waits for it whoever has the processor.
    """
    work, rate = trial.work, number_param(trial, "rate")
    if work is None or not rate or not loops(trial):
        return None
    count = int(number_param(trial, "urls") or work.expected * work.every)
    worked = chosen(count, work.every, work.seed)
    due = poisson(rate, work.seed, count)
    waits = responses(due, worked, page_s(trial, work), work.wall_ms / 1000)
    warmup = int(number_param(trial, "warmup") or 0)
    others = [wait for place, wait in enumerate(waits) if place not in worked and place >= warmup]
    return 1000 * math.fsum(others) / len(others) if others else None
