"""How long does an interrupted crawl take to end?

Times count from the moment when the crawl noticed the interrupt. *Closed* is the later of two
moments: when the call of the crawl returned, and when the server had seen the last connection
end. The control ``bare_close`` closes the same number of sockets and does nothing else, so what
a backend takes beyond it is its own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from bench.analysis import stats
from bench.analysis.analysis import Analysis
from bench.questions.question import Answer, bars, of_models
from bench.schema import Cancelled, TrialRecord
from bench.show.measured import MS, Measure, Measured, Value, by_label
from bench.text import plural

NAME: Final = "cancel"
ASKS: Final = "How long does an interrupted crawl take to end?"
CONTROL: Final = "bare_close"
PROSE: Final = (
    "Everything is closed when the call of the crawl has returned and the server has seen the "
    "last connection end; a trial that leaves a descriptor, thread, task or connection behind is "
    "void. What takes the time: a thread is woken for each socket and needs the interpreter’s "
    "lock to end; `task.cancel()` resumes each coroutine once more, with an exception; in trio "
    "that exception passes through handlers in Python. The control `bare_close` closes as many "
    "sockets in a loop. To measure it: `python -m bench run --profile reference --only cancel`."
)


def closed(size: int) -> str:
    return f"closed-{size}"


def busy(size: int) -> str:
    return f"cpu-{size}"


def measured(analysis: Analysis) -> Measured:
    trials = stats.trials_of(analysis.records, NAME, twins=False)
    trials += [t for t in analysis.records.controls if t.label == CONTROL and t.status == "ok"]
    measures: dict[str, Measure] = {}
    values: dict[str, Value] = {}
    for size in sorted({t.cancelled.in_flight for t in trials if t.cancelled}):
        until = f"from an interrupt until all is closed, {plural(size, 'exchange')} in flight"
        measures[closed(size)] = Measure(f"all closed, {size:,} in flight", until, MS)
        client = "… processor time of the client"
        measures[busy(size)] = Measure(f"client CPU, {size:,} in flight", client, MS)
        values[closed(size)] = _ms(size, lambda end: max(end.returned_s, end.closed_s))
        values[busy(size)] = _ms(size, lambda end: end.client_cpu_s)
    labels = [*stats.labels_of(analysis.records), CONTROL]
    return Measured(measures, by_label(trials, labels, values), stats.asleep(trials))


def _ms(size: int, seconds: Callable[[Cancelled], float]) -> Value:
    def value(trial: TrialRecord) -> float | None:
        end = trial.cancelled
        return 1000 * seconds(end) if end and end.in_flight == size else None

    return value


def answer(analysis: Analysis) -> Answer | None:
    found = measured(analysis)
    sizes = sorted({int(key.partition("-")[2]) for key in found.measures})
    if not sizes:
        return None
    enough = [n for n in sizes if min(found.blocks([closed(n)])) >= stats.MIN_BLOCKS]
    size = max(enough or sizes)
    head = of_models(found, closed(size), f"Interrupting {plural(size, 'exchange')} takes")
    return Answer(
        found,
        head,
        PROSE,
        tables=[
            found.table(
                "Interrupted crawls",
                "All exchanges were in flight, and the server held the answers. From the moment "
                "when the crawl noticed the interrupt until its call had returned and the server "
                f"had seen the last connection end. {CONTROL} closes sockets in a loop.",
            )
        ],
        figures=[
            bars(
                replace(found, asleep=frozenset()),  # the table says it; here is no room
                head,
                NAME,
                "Time until an interrupted crawl has closed everything",
                "From the moment when the crawl notices the interrupt until its call has returned "
                "and the server has seen the last connection end",
                {plural(n, "exchange"): (busy(n), closed(n)) for n in sizes},
                ("processor time of the client", "until everything is closed (in colour)"),
                notes=[
                    "The server held all answers. The wait for the next tick, up to 250 ms, is "
                    f"not counted. {CONTROL}: closes sockets in a loop."
                ],
            )
        ],
    )
