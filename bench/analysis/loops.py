"""What theory says about a schedule of pages on an event loop: a queue with one server.

A page that is due while a loop works on another one waits, whatever it needs itself. So each page
is followed through the queue along the very schedule of its trial (D. V. Lindley, 1952), with
nothing left to chance. One thing is a loop's own: it waits for a due time in whole milliseconds,
because ``epoll_wait`` and libuv's clock do, and the kernel wakes it up a little later. So a request
that finds the loop asleep is sent half a millisecond late on average.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

from bench import arrivals
from bench.analysis.stats import number_param
from bench.plan.participants import SPREADING
from bench.schema import TrialRecord, Work
from crawlers.catalogue import HANDED_OVER

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


@dataclass(frozen=True, slots=True)
class SlotSchedule:
    """When the requests of a trial were due, and the places of the pages that needed work."""

    due: Sequence[float]
    worked: Collection[int]

    def others(self, times: Sequence[float]) -> list[float]:
        """Of times in the order of the requests, those of pages without work."""
        return [time for place, time in enumerate(times) if place not in self.worked]


def schedule(trial: TrialRecord, work: Work) -> SlotSchedule:
    """The schedule of a trial, drawn again from its seed."""
    count = int(number_param(trial, "urls") or work.expected * work.every)
    return SlotSchedule(
        arrivals.poisson(number_param(trial, "rate") or 0.0, work.seed, count),
        arrivals.chosen(count, work.every, work.seed),
    )


def responses(
    plan: SlotSchedule,
    page_s: float,
    work_s: float,
    step_s: float = STEP_S,
    slack_s: float = SLACK_S,
) -> list[float]:
    """Seconds from the due time of each page to its last byte, after which its work begins.

    A page needs ``page_s`` of the processor, and one with work ``work_s`` more. Without ``step_s``
    and ``slack_s`` it is the queue alone.
    """
    free, waits = 0.0, []
    for place, due in enumerate(plan.due):
        begins = max(due, free)
        if due > free:
            begins = slack_s + (free + math.ceil((due - free) / step_s) * step_s if step_s else due)
        free = begins + page_s
        waits.append(free - due)
        free += work_s * (place in plan.worked)
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
    work = trial.work
    if work is None or not number_param(trial, "rate") or not loops(trial):
        return None
    plan = schedule(trial, work)
    times = plan.others(responses(plan, page_s(trial, work), work.wall_ms / 1000))
    return 1000 * math.fsum(times) / len(times)
