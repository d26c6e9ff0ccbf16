"""What does work on one page in ten do to the other nine?

For a loop theory predicts it, along the schedule of each trial (:mod:`bench.analysis.schedules`).
So the measurement can be checked against something that was not measured.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from bench.analysis import stats
from bench.analysis.analysis import Analysis
from bench.analysis.schedules import predicted_ms
from bench.plan.participants import CITED
from bench.questions.columns import Read
from bench.questions.question import RANGES, Answer, bars, of_models
from bench.schema import TrialRecord, Work
from bench.show import cells
from bench.show.measured import WAIT, Measured, Value, by_label
from bench.show.table import Column, Table, name
from bench.text import count, duration, in_percent, listing, plural
from crawlers.registry import MODELS

NAME: Final = "mixed"
ASKS: Final = "What does work on one page in ten do to the other nine?"
USUAL_MS: Final = 10.0
"""The work that the headline is about, if it was measured: what parsing a large page takes."""

TOLERANCE: Final = 0.1
"""Work that is off by more than this share is another load, and waits grow faster than loads.

By what a round takes alone after the trial, over what it took before. Within the trial it takes
longer where threads disturb each other, and that is what is asked for.
"""

ENOUGH: Final = 10 * stats.MIN_BEYOND
"""Pages for a 90th percentile."""

MEAN, HALF, TAIL, THEORY, WORK = "mean", "p50", "p90", "theory", "work"
PROSE: Final = (
    "A loop does one thing at a time, so its pages wait in one queue, and work on one delays all "
    "behind it. How long depends on the load: with work S on λ pages per second, a processor is "
    "busy for ρ = λS of the time, and others wait λS²/2(1 − ρ) on average (F. Pollaczek 1930, A. "
    "Khinchine 1932). At half load half of them wait for nothing, so the median is on an edge: "
    "work of 12 instead of 10 ms doubles it. A loop also waits for a due time in whole "
    "milliseconds, because `epoll_wait` and libuv do, so a request is sent about half a "
    "millisecond late even where nothing needs work; threads sleep in microseconds. A thread that "
    "computes keeps the interpreter’s lock until another has asked for it for a switch interval (5 "
    "ms by default), and a loop beside a thread asks again for each step. Another process has a "
    "lock of its own, and the kernel takes the processor from it as soon as the loop wakes. To "
    "measure it: `python -m bench run --profile full --only mixed`."
)
ABOUT: Final = (
    "Open loop in which one page in ten needs work: response times of the others, from the due "
    "time to the last byte; medians over blocks and their range. In theory: the mean of a queue "
    "with one server on the same schedules, whose timers wait whole milliseconds, with the "
    "measured times of work; for loops only. Work takes: by the clock, in the thread that did it."
)


def key(part: str, work_ms: float) -> str:
    return f"{part}-{work_ms:g}"


def measured(analysis: Analysis) -> Measured:
    """By trials on a machine that kept its speed; no other is compared."""
    return by_work(list(filter(as_asked, _trials(analysis))), analysis.labels)


def as_asked(trial: TrialRecord) -> bool:
    return trial.work is not None and abs(slower(trial.work) - 1) <= TOLERANCE


def slower(work: Work) -> float:
    """How many times as long a round took after the trial, or in one that has only that."""
    after_us = work.round_after_us
    return work.cpu_ms / work.work_ms if after_us is None else after_us / work.round_us


def _trials(analysis: Analysis) -> list[TrialRecord]:
    return [t for t in stats.trials_of(analysis.records, NAME, twins=False) if t.work]


def _other_work(trials: Sequence[TrialRecord]) -> list[str]:
    """What was left out of headline and chart."""
    took = [slower(trial.work) for trial in trials if trial.work and not as_asked(trial)]
    if not took:
        return []
    ends = dict.fromkeys(f"{end:.2f}" for end in (min(took), max(took)))
    return [
        f"In {len(took)} of {plural(len(trials), 'trial')} work took {' to '.join(ends)} times as "
        "long as just before. They are in the table alone: the load was another."
    ]


PARTS: Final[dict[str, tuple[str, Callable[[TrialRecord, Work], float | None]]]] = {
    MEAN: ("mean [min–max]", lambda _, work: work.others.mean_ms if work.others else None),
    HALF: ("p50", lambda _, work: work.others.p50_ms if work.others else None),
    TAIL: (
        "p90",
        lambda _, work: work.others.p90_ms if work.others and work.others.count >= ENOUGH else None,
    ),
    THEORY: ("mean in theory", lambda trial, _: predicted_ms(trial)),
    WORK: ("work takes", lambda _, work: work.wall_ms),
}


def by_work(trials: Sequence[TrialRecord], labels: Iterable[str]) -> Measured:
    columns = {}
    for work_ms in sorted({trial.work.work_ms for trial in trials if trial.work}):
        beside = f"response time beside {duration(work_ms)} of work"
        for part, (title, value) in PARTS.items():
            read = Read(title, f"{beside}, {part}", WAIT, _beside(work_ms, value))
            columns[key(part, work_ms)] = read
    return Measured(columns, by_label(trials, labels, columns))


def _beside(work_ms: float, of: Callable[[TrialRecord, Work], float | None]) -> Value:
    def value(trial: TrialRecord) -> float | None:
        work = trial.work
        return of(trial, work) if work and work.work_ms == work_ms else None

    return value


def answer(analysis: Analysis) -> Answer | None:
    trials = _trials(analysis)
    if not trials:
        return None
    kept = list(filter(as_asked, trials))
    waits = by_work(kept, analysis.labels)
    every = trials[0].work.every if trials[0].work else 0
    # Without an amount of work of which the machine left no trial.
    rates = {t.work.work_ms: stats.number_param(t, "rate") or 0.0 for t in kept or trials if t.work}
    usual = USUAL_MS if USUAL_MS in rates else min(rates)
    mean, theory = key(MEAN, usual), key(THEORY, usual)
    others = [label for label in waits.values if label not in MODELS]
    busy = rates[usual] * usual / 1000 / every  # a processor, by the work alone
    middle = f"Beside work ({in_percent(busy)} load) means are"
    head = of_models(waits, mean, middle, others)
    # The sentence is about the trials that two share, the picture about all that each has.
    alike = len({*waits.blocks([mean])}) == 1
    predicted = [
        f"{duration(waits.value(label, theory))} for `{label}` "
        f"(measured {duration(waits.value(label, mean))})"
        for label in waits.with_(theory, waits.values)
    ]
    check = f"On the same schedules, theory gives a mean of {listing(predicted)}. "
    amounts = sorted({trial.work.work_ms for trial in trials if trial.work})
    offered = listing([f"{count(rates[w])} requests/s at {w:g} ms" for w in sorted(rates)])
    every_trial = by_work(trials, analysis.labels)
    absent = {
        w: [x for x in waits.values if key(MEAN, w) not in every_trial.values[x]]
        for w in sorted(rates)
    }
    dashes = "".join(f"No trial of {listing(x)} at {w:g} ms. " for w, x in absent.items() if x)
    wide = "Processes had every processor, the others one. " * ("processes" in waits.values)
    ordered = [x for x in CITED if x in waits.values]  # as in every chart
    chart = bars(
        waits.only(dict.fromkeys([*ordered, *waits.values])),
        head if alike else None,
        NAME,
        "Response time beside pages that need work",
        f"Open loop in which one page in {every} needs work; response times of the others",
        {
            f"beside {w:g} ms of work": (key(MEAN, w), key(TAIL, w))
            for w in sorted(rates)
            if key(MEAN, w) in waits.measures
        },
        ("mean", "90th percentile (in colour)"),
        notes=[f"{wide}{dashes}{offered}. {RANGES}"],
    )
    return Answer(
        head,
        (check if predicted else "") + PROSE,
        tables=[table(every_trial, amounts)],
        warnings=_other_work(trials),
        figures=[chart] if waits.values else (),
    )


def table(measured: Measured, amounts: Iterable[float]) -> Table:
    return Table(
        "Mixed load: response times beside pages that need work, ms",
        [name("backend"), name("work"), *(Column(title) for title, _ in PARTS.values())],
        [
            [
                label,
                f"{duration(work_ms)} of work",
                *(
                    cells.spread(measured.spread(label, key(part, work_ms)), alone=-1)
                    for part in PARTS
                ),
            ]
            for work_ms in amounts
            for label in measured.with_(key(MEAN, work_ms), measured.values)
        ],
        about=ABOUT,
        grouped=True,
    )
