"""How long does an interrupted crawl take to end?

*Closed* is the later of two moments: when the call of the crawl returned, and when the server had
seen the last connection end. The processor time of a backend beyond that of the control
``bare_close`` is its own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from bench.analysis import stats
from bench.analysis.analysis import Analysis
from bench.questions.columns import Columns, Read
from bench.questions.question import RANGES, Headline, of_models
from bench.schema import Cancelled, TrialRecord
from bench.show.measured import MS, Measure, Measured, Value
from bench.text import plural

NAME: Final = "cancel"
ASKS: Final = "How long does an interrupted crawl take to end?"
CONTROL: Final = "bare_close"
SIZES: Final = (1, 1000, 10_000)
"""Exchanges in flight."""


def closed(size: int) -> str:
    return f"closed-{size}"


def busy(size: int) -> str:
    return f"cpu-{size}"


def _ms(size: int, seconds: Callable[[Cancelled], float]) -> Value:
    def value(trial: TrialRecord) -> float | None:
        end = trial.cancelled
        return 1000 * seconds(end) if end and end.in_flight == size else None

    return value


def _columns(size: int) -> dict[str, Measure]:
    until = f"from an interrupt until all is closed, {plural(size, 'exchange')} in flight"
    ended = _ms(size, lambda end: max(end.returned_s, end.closed_s))
    used = _ms(size, lambda end: end.client_cpu_s)
    client = "… processor time of the client"
    return {
        closed(size): Read(f"all closed, {size:,} in flight", until, MS, ended),
        busy(size): Read(f"client CPU, {size:,} in flight", client, MS, used),
    }


class InterruptedCrawls(Columns):
    def trials(self, analysis: Analysis) -> list[TrialRecord]:
        controls = [t for t in analysis.records.controls if t.label == CONTROL]
        return [*super().trials(analysis), *(t for t in controls if t.status == "ok")]

    def headline(self, analysis: Analysis, measured: Measured) -> Headline | None:
        """About the most that has blocks enough."""
        sizes = [size for size in SIZES if closed(size) in measured.measures]
        enough = [n for n in sizes if min(measured.blocks([closed(n)])) >= stats.MIN_BLOCKS]
        size = max(enough or sizes)
        return of_models(measured, closed(size), f"Interrupting {plural(size, 'exchange')} takes")

    def drawn(self, analysis: Analysis, measured: Measured) -> Measured:
        return replace(measured, asleep=frozenset())  # the table says it; here is no room


COLUMNS: Final = InterruptedCrawls(
    workloads=[NAME],
    columns={key: column for size in SIZES for key, column in _columns(size).items()},
    caption="Interrupted crawls",
    about="All exchanges were in flight, and the server held the answers. From the moment when the "
    "crawl noticed the interrupt until its call had returned and the server had seen the last "
    f"connection end. {CONTROL} closes sockets in a loop.",
    title="Time until an interrupted crawl has closed everything",
    subtitle="From the moment when the crawl notices the interrupt until its call has returned and "
    "the server has seen the last connection end",
    panels={plural(size, "exchange"): (busy(size), closed(size)) for size in SIZES},
    pair=("processor time of the client", "until everything is closed (in colour)"),
    notes=[
        "The server held all answers. The wait for the next tick, up to 250 ms, is not counted. "
        f"{CONTROL}: closes sockets in a loop. {RANGES}"
    ],
    prose="Everything is closed when the call of the crawl has returned and the server has seen "
    "the last connection end; a trial that leaves a descriptor, thread, task or connection behind "
    "is void. What takes the time: a thread is woken for each socket and needs the interpreter’s "
    "lock to end; `task.cancel()` resumes each coroutine once more, with an exception; in trio "
    "that exception passes through handlers in Python. The control `bare_close` closes sockets in "
    "a loop; who is as quick waits for the server, which learns of each end in Python. To measure "
    "it: `python -m bench run --profile reference --only cancel`.",
)
measured, answer = COLUMNS.measured, COLUMNS.answer
