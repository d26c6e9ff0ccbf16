"""What do a thousand slow readers cost a server, and the clients beside them?

A phone on a bad line asks for a megabyte and takes a kilobyte of it in a second. What the server
has read, rendered or copied for it stays in memory until then.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from bench.analysis import stats
from bench.analysis.analysis import Analysis
from bench.plan.loads import SEGMENT
from bench.questions.question import Answer, bars, of_models
from bench.schema import TrialRecord
from bench.show.figures import Unit
from bench.show.measured import MS, Measure, Measured, Value, by_label, noted
from bench.text import KIB, count, number, significant

NAME: Final = "slow_readers"
ASKS: Final = "What do a thousand slow readers cost a server, and the clients beside them?"
WORKLOAD: Final = "slow-readers"


def _kib(value: float) -> str:
    return f"{significant(value, 2)} KiB"


KIB_EACH: Final = Unit("KiB", _kib, number)
USER, MACHINE, ALONE, BESIDE = "user", "machine", "alone", "beside"
MEASURES: Final = {
    USER: Measure("user memory", "memory of the server for each slow reader", KIB_EACH),
    MACHINE: Measure("both ends", "… memory of the machine, sockets of both ends", KIB_EACH),
    ALONE: Measure("fast, alone", "an answer of 1 MB without slow readers, median", MS),
    BESIDE: Measure("fast, beside", "… beside a thousand of them", MS),
}
PROSE: Final = (
    f"A thousand clients ask for 1 MB each, with segments of {count(SEGMENT)} bytes and a receive "
    "buffer of 4 KiB, and read 1 KB of it per second. Ten others ask for the same page 50 times "
    "per second on a schedule, for three seconds before the slow ones come and for three seconds "
    "beside them. The page is one object in every server. Memory grows by what a server copies for "
    "a client: the part that is on its way, what a transport keeps because the socket takes no "
    "more, or the whole answer. Interpreter and segments decide it: asyncio's streams kept 39 KiB "
    "on CPython 3.15.2, 87 on 3.11.7, and 6 there with loopback's segments of 64 KB. What was read "
    "of every answer is compared with the page, and ten readers read theirs to the end. To measure "
    "it: `python -m bench run --profile servers --only slow-readers`."
)


def _user(trial: TrialRecord) -> float | None:
    growth = stats.memory_growth(trial)
    if growth is None or trial.memory is None or growth["user"] is None:
        return None
    return growth["user"] / trial.memory.connections / KIB


def _machine(trial: TrialRecord) -> float | None:
    if trial.memory is None or trial.memory.machine_drop_bytes is None:
        return None
    return trial.memory.machine_drop_bytes / trial.memory.connections / KIB


VALUES: Final[Mapping[str, Value]] = {
    USER: _user,
    MACHINE: _machine,
    ALONE: noted("alone_p50_ms"),
    BESIDE: lambda t: t.response_time.p50_ms if t.response_time else None,
}


def measured(analysis: Analysis) -> Measured:
    """Memory for each slow reader, and what the others saw, trial by trial."""
    trials = stats.trials_of(analysis.records, WORKLOAD, twins=False)
    return Measured(MEASURES, by_label(trials, analysis.labels, VALUES))


def answer(analysis: Analysis) -> Answer | None:
    """In KiB of the server's own memory, with the models in the headline."""
    found = measured(analysis)
    if not found.values:
        return None
    python = analysis.campaign.environment.python
    what = f"{python}, {count(SEGMENT)}-byte segments"
    head = of_models(found, USER, f"A slow reader ({what}) costs")
    return Answer(
        found,
        head,
        PROSE,
        tables=[
            found.table(
                "Slow readers, served",
                "Memory for each of the slow readers, and the response time of other clients that "
                "ask for the same 1 MB.",
            )
        ],
        figures=[
            bars(
                found,
                head,
                "slow-readers",
                "Memory of a server for each slow reader, and what other clients wait",
                f"1,000 clients that read 1 KB of 1 MB per second ({what}), and ten that read fast",
                {
                    "KiB of the server for each": (USER,),
                    "a fast client's answer of 1 MB": (ALONE, BESIDE),
                },
                ("without slow readers", "beside them"),
            )
        ],
    )
