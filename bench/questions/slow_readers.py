"""What do a thousand slow readers cost a server, and the clients beside them?

A phone on a bad line asks for a megabyte and takes a kilobyte of it in a second. What the server
has read, rendered or copied for it stays in memory until then.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from bench.analysis import stats
from bench.analysis.analysis import Analysis
from bench.questions.columns import Columns, Read
from bench.schema import TrialRecord
from bench.show.measured import KIB_EACH, WAIT, Measured, median_response
from bench.sides.protocol import SEGMENT
from bench.text import KIB, count

NAME: Final = "slow_readers"
ASKS: Final = "What do a thousand slow readers cost a server, and the clients beside them?"


def _machine(trial: TrialRecord) -> float | None:
    if trial.memory is None or trial.memory.machine_drop_bytes is None:
        return None
    return trial.memory.machine_drop_bytes / trial.memory.connections / KIB


def alone_median(trial: TrialRecord) -> float | None:
    return trial.loaded.alone.p50_ms if trial.loaded and trial.loaded.alone else None


class Readers(Columns):
    def facts(self, analysis: Analysis, _: Measured) -> Mapping[str, str]:
        return {"python": analysis.campaign.environment.python}


COLUMNS: Final = Readers(
    workloads=["slow-readers"],
    columns={
        "user": Read(
            "user memory",
            "memory of the server for each slow reader",
            KIB_EACH,
            stats.kib_each("user"),
        ),
        "machine": Read(
            "both ends", "… memory of the machine, sockets of both ends", KIB_EACH, _machine
        ),
        "alone": Read(
            "fast, alone", "an answer of 1 MB without slow readers, median", WAIT, alone_median
        ),
        "beside": Read("fast, beside", "… beside a thousand of them", WAIT, median_response),
    },
    head="user",
    says="A slow reader ({python}) costs",
    caption="Slow readers, served",
    about="Memory for each of the slow readers, and the response time of other clients that ask "
    "for the same 1 MB.",
    figure=NAME,
    title="Memory of a server for each slow reader, and what other clients wait",
    subtitle="1,000 clients that read 1 KB of 1 MB per second ({python}), and ten that read fast",
    panels={
        "KiB of the server for each": ("user",),
        "a fast client's answer of 1 MB": ("alone", "beside"),
    },
    pair=("without slow readers", "beside them (in colour)"),
    prose=f"A thousand clients ask for 1 MB each, with segments of {count(SEGMENT)} bytes and a "
    "receive buffer of 4 KiB, and read 1 KB of it per second. Ten others ask for the same page 50 "
    "times per second on a schedule, for three seconds before the slow ones come and for three "
    "seconds beside them. The page is one object in every server, and what does not fit the socket "
    "waits as a view of it. So a slow reader costs a server what any connection does, unless "
    "something copies: asyncio's streams have 85 KiB on CPython 3.11, whose transports copy what "
    "they cannot send. trio asks the kernel to keep little that is unsent (TCP_NOTSENT_LOWAT), so "
    "both ends together need a third of what others do. "
    "What was read of every answer is compared with the page, and ten readers read theirs to the "
    "end. To measure it: `python -m bench run --profile servers --only slow-readers`.",
)
measured, answer = COLUMNS.measured, COLUMNS.answer
