"""The model against measurements that it was not made from.

It is made from turns: a crawled page at 10, 100 and 1,000 slots without delay, and from memory
at up to 2,500 connections. It predicts whole trials, which run alone, at other delays and with
thousands of connections that wait, memory at the most connections, and the queue of mixed load.

The way of measuring adds what no other program has. The fixture server answers late by the
resolution of its timer, and where it sleeps, the client's ``send`` wakes it. In turns, every other
backend leaves cold caches behind: one point that was measured in turns and in whole trials says
what a page takes of a program that runs alone. All of this is from trials of the base.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, median
from typing import Final, Literal

from bench.analysis import stats
from bench.analysis.analysis import Analysis
from bench.analysis.loops import loops, responses, schedule
from bench.analysis.stats import CPU_PER_1000, MEMORY_PARTS, memory_growth
from bench.analysis.stats.records import number_param
from bench.capacity.model import (
    USER,
    Costs,
    by_slots,
    closed_loop,
    costs,
    delay_of,
    factor_at,
    page_blocks,
    page_us,
)
from bench.plan.participants import SPREADING
from bench.questions import mixed
from bench.schema import TrialRecord, Work

MEDIAN: Final = 0.10
"""The most that the median error of a kind may be."""

WORST: Final = 0.25
"""What is further off than this is left out of the advice."""

BUSY: Final = 0.5
"""From this load up, the processor decides on the rate more than the delay does."""

FITTED: Final = 2500
"""Connections up to which memory is fitted when the rest is predicted."""

CRAWLS: Final = ("whole", "processors", "waiting", "regime")
PACED: Final = "crossover"

Kind = Literal["processor", "delay", "queue", "memory"]
KINDS: Final[Mapping[Kind, str]] = {
    "processor": "pages/s where the processor decides",
    "delay": "pages/s where the delay decides",
    "queue": "response time beside work",
    "memory": "memory at the most connections",
}


@dataclass(frozen=True, slots=True)
class Check:
    """One prediction beside what was measured (a median over blocks; a mean for the queue)."""

    kind: Kind
    point: str
    label: str
    predicted: float
    measured: float
    slots: int = 0  # connections, where memory is predicted
    load: float = 0.0  # of the processor, as predicted
    tls: bool = False

    @property
    def error(self) -> float:
        """By how much the prediction is too high, as a share of what was measured."""
        return self.predicted / self.measured - 1

    @property
    def far(self) -> str:
        """The error in words: ``12 % too high``."""
        return f"{100 * abs(self.error):.0f} % too {'high' if self.error > 0 else 'low'}"

    @property
    def holds(self) -> bool:
        """Whether advice may rest on it."""
        return abs(self.error) <= WORST


@dataclass(frozen=True, slots=True)
class Validation:
    checks: Sequence[Check]

    def kept(self, kind: Kind) -> list[Check]:
        return [c for c in self.checks if c.holds and c.kind == kind]

    def left_out(self, kind: Kind | None = None) -> list[Check]:
        """Those that do not: what is near them is left out of the advice."""
        return [c for c in self.checks if not c.holds and kind in (None, c.kind)]

    def median_error(self, kind: Kind) -> float | None:
        """The median of the absolute errors of a kind, of the predictions that hold."""
        kept = self.kept(kind)
        return median(abs(c.error) for c in kept) if kept else None

    def wrong(self, check: Check | None) -> str | None:
        """Why advice may not rest on what this check is about; None if it may."""
        if check is None:
            return None
        if not check.holds:
            return f"at {check.point} the prediction is {check.far}"
        error = self.median_error(check.kind) or 0.0
        off = f"such predictions are {100 * error:.0f} % off in the median"
        return off if error > MEDIAN else None

    def nearest(self, label: str, in_flight: float, load: float) -> Check | None:
        """The prediction of this backend's rate that is most like a load.

        Ten times the exchanges in flight are as far as a whole processor more.
        """
        mine = [c for c in self.checks if c.label == label and c.kind in ("processor", "delay")]
        return min(
            mine,
            key=lambda c: abs(math.log10(max(in_flight, 1.0) / c.slots)) + abs(load - c.load),
            default=None,
        )

    def worst(self, kind: Kind, label: str, *, tls: bool = False) -> Check | None:
        """The prediction of a kind for this backend that is furthest off."""
        mine = [c for c in self.checks if (c.kind, c.label, c.tls) == (kind, label, tls)]
        return max(mine, key=lambda c: abs(c.error), default=None)


def validation(analysis: Analysis, costs: Costs) -> Validation:
    return Validation([*rates(analysis, costs), *queues(analysis, costs), *memory(analysis)])


def rates(analysis: Analysis, costs: Costs) -> Iterator[Check]:
    """Pages per second of whole trials, each alone on the machine.

    A tree of pages feeds its slots only once it is known: two delays for each tenfold of pages
    pass at its begin and its end, as :mod:`bench.plan.workloads` has it. A list after a paced
    start has its slots full, and its pages are only fetched. With more slots than a page was
    measured at, a rate is predicted where the delay decides on it.
    """
    server, pages = fixture(analysis), page_blocks(analysis.records)
    # A trial of each point whose rate is predicted.
    trials = stats.trials_of(analysis.records, *CRAWLS, PACED, twins=False)
    fetched = {
        label: list(by_slots(analysis.records, pages, "fetch", label).items())
        for label in analysis.labels
    }
    for point, sample in {trial.point: trial for trial in trials}.items():
        slots, delay = int(number_param(sample, "slots") or 0), delay_of(sample)
        tree, paced = pages_of(sample), sample.workload == PACED
        if slots < 1 or not (tree or paced):
            continue
        polls = not delay and not sample.params.get("processors")
        delay_s = delay + server.late_s if delay else 0.0
        for label, mine in analysis.at_point(point).items():
            backend, measured = costs.of(label), stats.spread(t.pages_per_s for t in mine)
            factors = fetched[label] if paced else backend.factors
            if backend.page is None or not factors or measured is None:
                continue
            if (point, label) in server.fitted or any(_many_processors(t) for t in mine):
                continue
            page = factor_at(factors, slots) * (1.0 if paced else backend.page) * costs.alone
            total = page + (0.0 if polls else server.waking(slots))
            rate = closed_loop(slots, delay_s, total)
            load = min(rate * total / 1e6, 1.0)
            if slots > factors[-1][0] and load >= BUSY:
                continue
            if tree and not paced:
                filling = 2 * math.log10(tree) * delay_s if slots > 1 else 0.0
                filling += slots * (backend.extra.opening or 0.0) / 1e6
                rate = tree / (tree / rate + filling)
            kind: Kind = "processor" if load >= BUSY else "delay"
            yield Check(kind, point, label, rate, measured.median, slots, load)


def _many_processors(trial: TrialRecord) -> bool:
    """Whether it did the work of several processors, which the model is not of."""
    cores = trial.pinning.get("client")
    return trial.backend in SPREADING and isinstance(cores, list) and len(cores) > 1


def queues(analysis: Analysis, costs: Costs) -> Iterator[Check]:
    """Mean response times of pages without work in mixed load, in seconds, for loops.

    The queue of the advice is that of :func:`bench.capacity.model.waiting_s`, in the long run. A
    trial is short, so the same queue is followed along its schedule, with the loop's timers, a
    server that must be woken and the connections that the trial opens. Work is what it took of the
    processor: the reader gives that as well.
    """
    server = fixture(analysis)
    groups: dict[tuple[str, str], list[tuple[TrialRecord, Work]]] = defaultdict(list)
    for trial in stats.trials_of(analysis.records, mixed.NAME, twins=False):
        if trial.work and trial.work.others and loops(trial):
            groups[trial.point, trial.label].append((trial, trial.work))
    for (point, label), mine in groups.items():
        backend = costs.of(label)
        if backend.page is None:
            continue
        page = page_us(costs, backend, 1) + server.waking(1)
        predicted, measured, used = [], [], 0.0
        for trial, work in mine:
            plan = schedule(trial, work)
            slots = min(int(number_param(trial, "slots") or 1), len(plan.due))
            opening = (backend.extra.opening or 0.0) * slots / len(plan.due)
            page_s, work_s = (page + opening) / 1e6, work.cpu_ms / 1000
            predicted += plan.others(responses(plan, page_s, work_s))
            measured.append(work.others.mean_ms / 1000 if work.others else 0.0)
            used = (number_param(trial, "rate") or 0.0) * (page_s + work_s / work.every)
        mean_s = math.fsum(predicted) / len(predicted)
        yield Check("queue", point, label, mean_s, fmean(measured), load=min(used, 1))


def memory(analysis: Analysis) -> Iterator[Check]:
    """What the most connections add to a process, by a line through fewer of them."""
    for tls in (False, True):
        for label, trials in stats.held_trials(analysis.records, over_tls=tls).items():
            grown = [
                (t.memory.connections, value)
                for t in trials
                if t.memory and (value := growth(t)) is not None
            ]
            top = max((n for n, _ in grown), default=0)
            low = [(n, value) for n, value in grown if n <= FITTED]
            measured = median(value for n, value in grown if n == top) if grown else 0.0
            if top <= FITTED or len({n for n, _ in low}) < 2 or measured <= 0:
                continue
            slope, fixed, _, _ = stats.theil_sen(*zip(*low, strict=True))
            point = next(t.point for t in trials if t.memory and t.memory.connections == top)
            yield Check("memory", point, label, fixed + slope * top, measured, top, tls=tls)


def growth(trial: TrialRecord) -> float | None:
    """Bytes that the connections added on the client's side, over the parts that were read."""
    grown = memory_growth(trial)
    if grown is None or grown[USER] is None:
        return None
    return sum(value for name in MEMORY_PARTS if (value := grown[name]) is not None)


# --- what the way of measuring adds ------------------------------------------------------


def measured(analysis: Analysis) -> Costs | None:
    """The costs of a campaign, for programs that run alone; None where it has none."""
    found = costs(analysis)
    return None if found is None else replace(found, alone=alone(analysis, found))


def alone(analysis: Analysis, found: Costs) -> float:
    """A page of the base alone over its page in turns; 1 where that was not measured."""
    if analysis.base not in analysis.labels:
        return 1.0
    base = found.of(analysis.base)
    taken = [
        1e6 / trial.pages_per_s - slots * (base.extra.opening or 0.0) / pages
        for trial in alone_trials(analysis)
        if trial.pages_per_s and (pages := pages_of(trial))
        for slots in [number_param(trial, "slots") or 0.0]
    ]
    if base.page is None or not taken:
        return 1.0
    slots = number_param(alone_trials(analysis)[0], "slots") or 1.0
    return median(taken) / page_us(found, base, slots)


def alone_trials(analysis: Analysis) -> list[TrialRecord]:
    point = analysis.reference_point("whole")
    return analysis.at_point(point).get(analysis.base, []) if point else []


@dataclass(frozen=True, slots=True)
class Fixture:
    """What the fixture server adds, which no network does."""

    late_s: float  # an answer after its delay
    waking_us: Mapping[int, float]  # slots -> of the client's time, to wake a server that sleeps
    fitted: frozenset[tuple[str, str]]  # (point, label) of what these are made from

    def waking(self, slots: int) -> float:
        """For the measured number of slots that is nearest."""
        near = min(self.waking_us, key=lambda n: abs(math.log(n / slots)), default=None)
        return 0.0 if near is None else self.waking_us[near]


def fixture(analysis: Analysis) -> Fixture:
    """The server of this campaign, by the base on its shortest delay and by ``awake``."""
    records, base = analysis.records, analysis.base
    single = [
        (delay_of(trial), trial.point)
        for trial in stats.trials_of(records, "regime", "waiting", twins=False)
        if trial.label == base and number_param(trial, "slots") == 1
    ]
    delay, point = min(single, default=(0.0, ""))
    times = [t.service_time for t in analysis.at_point(point).get(base, ()) if t.service_time]
    served = stats.spread(t.mean_ms for t in times)
    modes: dict[tuple[int, str], list[TrialRecord]] = defaultdict(list)
    for trial in stats.trials_of(records, "awake", twins=False):
        if trial.label == base:
            slots = int(number_param(trial, "slots") or 0)
            modes[slots, str(trial.params.get("server"))].append(trial)
    return Fixture(
        late_s=max(served.median / 1000 - delay, 0.0) if served else 0.0,
        waking_us={
            slots: cost(modes[slots, "asleep"]) - cost(modes[slots, "awake"])
            for slots in sorted({slots for slots, _ in modes})
            if {(slots, "asleep"), (slots, "awake")} <= modes.keys()
        },
        fitted=frozenset({(point, base), *((t.point, base) for t in alone_trials(analysis))}),
    )


def cost(trials: Sequence[TrialRecord]) -> float:
    return median(value for t in trials if (value := CPU_PER_1000.value(t)) is not None)


def pages_of(trial: TrialRecord) -> int | None:
    """The pages of a trial's site, if it is a tree."""
    kind, *rest = str(trial.params.get("site")).split(":")
    return int(rest[0]) if kind == "tree" else None
