"""What does work on one request in ten do to the other nine, at a server?

As in ``mixed``, on the other side: requests are due on a schedule, and the server works on some of
them before it answers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from bench.analysis import stats
from bench.analysis.analysis import Analysis
from bench.analysis.schedules import tail_ms
from bench.questions.columns import Columns, Read
from bench.questions.question import Headline
from bench.schema import TrialRecord
from bench.show.measured import WAIT, Measured, median_response
from bench.sides.protocol import WORK_EVERY
from bench.text import in_percent

NAME: Final = "mixed_server"
ASKS: Final = "What does work on one request in ten do to the other nine, at a server?"
LATE: Final = 0.01
"""So many late starts in a load are no schedule that was kept."""


def tail(trial: TrialRecord) -> float | None:
    return tail_ms(trial.response_time)


def working_median(trial: TrialRecord) -> float | None:
    return trial.loaded.working.p50_ms if trial.loaded and trial.loaded.working else None


class Beside(Columns):
    def facts(self, analysis: Analysis, _: Measured) -> Mapping[str, str]:
        trial = self.trials(analysis)[0]
        rate, work_ms = (stats.number_param(trial, name) or 0.0 for name in ("rate", "work_ms"))
        return {"load": in_percent(rate * work_ms / 1000 / WORK_EVERY)}

    def headline(self, analysis: Analysis, measured: Measured) -> Headline | None:
        """What one request in a hundred waits; one stall is a p99, so it needs blocks."""
        enough = min(measured.blocks([self.head]), default=0) >= stats.MIN_BLOCKS
        return super().headline(analysis, measured) if enough else None

    def warnings(self, analysis: Analysis) -> Sequence[str]:
        trials = self.trials(analysis)
        late = sum(trial.late_starts or 0 for trial in trials)
        offered = sum(trial.pages or 0 for trial in trials)
        text = f"The load sent {late} of {offered} requests more than 1 ms late."
        return [text] if late > LATE * offered else []


COLUMNS: Final = Beside(
    workloads=["mixed-server"],
    columns={
        "half": Read("median", "response time without work, median", WAIT, median_response),
        "tail": Read("p99", "… 99th percentile", WAIT, tail),
        "worked": Read(
            "with work, median",
            "response time with 10 ms of work, median",
            WAIT,
            working_median,
        ),
    },
    head="tail",
    says="Beside work ({load} load), a server's p99 is",
    remedies=["async_await_pool"],
    caption="Requests beside work, served",
    about="Response time, from when a request was due, of those without work and of those with "
    "10 ms of it.",
    figure=NAME,
    title="Response time of a server beside requests that need 10 ms of work",
    subtitle="Requests without work, at 400 per second of which one in ten needs work",
    panels={"median": ("half",), "99th percentile": ("tail",)},
    prose="400 requests per second are due at random times, and one in ten asks for a page that "
    "needs 10 ms of the processor. A response time counts from when the request was due, whatever "
    "the server does, and the load has a processor of its own. A loop answers nobody while it "
    "works. A thread that works keeps the interpreter’s lock until another has asked for it for a "
    "switch interval (5 ms by default); in another process it has a lock of its own, but with two "
    "processors it shares the server’s. Both ends count the requests that needed work. To measure "
    "it: `python -m bench run --profile servers --only mixed-server`.",
)
measured, answer = COLUMNS.measured, COLUMNS.answer
