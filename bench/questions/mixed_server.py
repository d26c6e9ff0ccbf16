"""What does work on one request in ten do to the other nine, at a server?

As in ``mixed``, on the other side: requests are due on a schedule, and the server works on some of
them before it answers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from bench.analysis import stats
from bench.analysis.analysis import Analysis
from bench.plan.workloads import WORK_EVERY
from bench.questions.question import Answer, bars, of_models
from bench.show.measured import MS, Measure, Measured, Value, by_label, noted

NAME: Final = "mixed_server"
ASKS: Final = "What does work on one request in ten do to the other nine, at a server?"
WORKLOAD: Final = "mixed-server"
HALF, TAIL, WORKED = "half", "tail", "worked"
MEASURES: Final = {
    HALF: Measure("median", "response time without work, median", MS),
    TAIL: Measure("p99", "… 99th percentile", MS),
    WORKED: Measure("with work, median", "response time with 10 ms of work, median", MS),
}
PROSE: Final = (
    "400 requests per second are due at random times for four seconds, and one in ten asks for a "
    "page that needs 10 ms of the processor. A response time counts from when the request was due, "
    "whatever the server does, and the load has a processor of its own. A loop answers nobody "
    "while it works. A thread that works keeps the interpreter’s lock until another has asked for "
    "it for a switch interval (5 ms by default); in another process it has a lock of its own, but "
    "with two processors it shares the server’s. Both ends count the requests that needed work. "
    "To measure it: `python -m bench run --profile servers --only mixed-server`."
)


VALUES: Final[Mapping[str, Value]] = {
    HALF: lambda t: t.response_time.p50_ms if t.response_time else None,
    TAIL: lambda t: t.response_time.p99_ms if t.response_time else None,
    WORKED: noted("working_p50_ms"),
}


def measured(analysis: Analysis) -> Measured:
    """The response times of every server, trial by trial."""
    trials = stats.trials_of(analysis.records, WORKLOAD, twins=False)
    return Measured(MEASURES, by_label(trials, analysis.labels, VALUES))


def answer(analysis: Analysis) -> Answer | None:
    """What one request in a hundred waits, with the models in the headline."""
    found = measured(analysis)
    if not found.values:
        return None
    trials = stats.trials_of(analysis.records, WORKLOAD, twins=False)
    rate, work_ms = (stats.number_param(trials[0], name) or 0.0 for name in ("rate", "work_ms"))
    load = f"{100 * rate * work_ms / 1000 / WORK_EVERY:.0f} % load"
    head = of_models(found, TAIL, f"Beside work ({load}), a server's p99 is", REMEDIES)
    if min(found.blocks([TAIL]), default=0) < stats.MIN_BLOCKS:
        head = None  # one stall is a p99
    late = sum(trial.late_starts or 0 for trial in trials)
    offered = sum(trial.pages or 0 for trial in trials)
    return Answer(
        found,
        head,
        PROSE,
        tables=[
            found.table(
                "Requests beside work, served",
                "Response time, from when a request was due, of those without work and of those "
                "with 10 ms of it.",
            )
        ],
        figures=[
            bars(
                found,
                head,
                "mixed-server",
                "Response time of a server beside requests that need 10 ms of work",
                "Requests without work, at 400 per second of which one in ten needs work",
                {"median": (HALF,), "99th percentile": (TAIL,)},
            )
        ],
        warnings=[f"The load sent {late} of {offered} requests more than 1 ms late."]
        if late > LATE * offered
        else (),
    )


REMEDIES: Final = ("async_await_pool",)
LATE: Final = 0.01
"""So many late starts in a load are no schedule that was kept."""
