"""How much memory does a server need for an idle connection?

The load opens connections one after the other, gets an answer on each, and leaves them idle. The
harness reads the server's memory from outside before the first and with all of them open.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from bench.analysis import stats
from bench.analysis.analysis import Analysis
from bench.plan.profiles import SERVING
from bench.questions.columns import Columns, Read
from bench.questions.question import RANGES, Answer, Headline, of_models
from bench.schema import TrialRecord
from bench.show.figures import Bars, Figure, Panel, Unit, calculated
from bench.show.measured import KIB_EACH, Measured
from bench.text import KIB, MIB, count, number, significant

NAME: Final = "hold"
ASKS: Final = "How much memory does a server need for an idle connection?"
OVER_TLS: Final = "tls-hold"
BARE: Final = "bare"
MOST_DRAWN: Final = len(SERVING)
"""Servers in a chart: the names of more could not be read on a slide."""

MIB_FIXED: Final = Unit("MiB", lambda value: f"{significant(value, 2)} MiB", number)

PLAIN, TLS, OWN, OWN_TLS = "plain", "tls", "user", "tls-user"


def program(trial: TrialRecord) -> float | None:
    """MiB of the server before its first connection."""
    assert trial.memory is not None
    held = trial.memory.before
    parts = (held.user_bytes, held.page_table_bytes, held.kernel_stack_bytes)
    known = [part for part in parts if part is not None]
    return sum(known) / MIB if len(known) == len(parts) else None


IN_ALL, USER = stats.kib_each(*stats.MEMORY_PARTS), stats.kib_each("user")


def largest(trials: list[TrialRecord]) -> list[TrialRecord]:
    """Of each server those with the most connections: what it keeps ready hides the first few."""
    most: dict[str, int] = defaultdict(int)
    for trial in trials:
        if trial.memory:
            most[trial.label] = max(most[trial.label], trial.memory.connections)
    return [t for t in trials if t.memory and t.memory.connections == most[t.label]]


def both_ends(analysis: Analysis, servers: Measured, head: Headline | None) -> Figure | None:
    """An idle connection at either end; None unless the campaign has both for some model."""
    rows = {
        label: [calculated(0, total / KIB).y, spread]  # a slope, and no single trial
        for label in servers.values
        if label in analysis.memory
        and (total := analysis.memory[label].total) is not None
        and (spread := servers.spread(label, PLAIN))
    }
    if not rows:
        return None
    samples = {label: [[], [*servers.values[label][PLAIN].values()]] for label in rows}
    panel = Panel("KiB for each connection", rows, KIB_EACH, samples=samples)
    return Figure(
        name="both-ends",
        title="Memory of an idle connection at either end",
        headline=head.text if head else None,
        subtitle="User and kernel memory of a crawler that waits for an answer, and of a server "
        "that waits for a request",
        data=Bars([panel], "crawler", "server (in colour)"),
        notes=(f"The crawler: a slope over several numbers of connections. {RANGES}",),
    )


class HoldingServers(Columns):
    def trials(self, analysis: Analysis) -> list[TrialRecord]:
        return [t for name in self.workloads for t in largest(stats.served(analysis.records, name))]

    def user_alone(self, measured: Measured) -> bool:
        """Whether not all of a server's memory was read."""
        return any(OWN in row and PLAIN not in row for row in measured.values.values())

    def headline(self, analysis: Analysis, measured: Measured) -> Headline | None:
        if self.user_alone(measured):
            return of_models(measured, OWN, f"{self.says}, in user memory,")
        return super().headline(analysis, measured)

    def keys(self, measured: Measured) -> Mapping[str, Sequence[str]]:
        keys = (OWN, OWN_TLS) if self.user_alone(measured) else (PLAIN, TLS)
        return {axis: [k for k in keys if measured.blocks([k])] for axis in self.panels}

    def facts(self, analysis: Analysis, measured: Measured) -> Mapping[str, str]:
        read = []
        for name, over in zip(self.workloads, ("", "over TLS "), strict=True):
            held = [t.memory for t in self.trials(analysis) if t.workload == name and t.memory]
            counts = sorted({memory.connections for memory in held})
            read += [f"{over}at {' or '.join(map(count, counts))}"] if counts else []
        first, *others = read
        return {
            "what": "User memory" if self.user_alone(measured) else "User and kernel memory",
            "where": ", ".join([f"{first} connections", *others]),
            "more": " The table has more servers."
            * (len({*measured.values} - {BARE}) > MOST_DRAWN),
        }

    def drawn(self, analysis: Analysis, measured: Measured) -> Measured:
        every = [label for label in measured.values if label != BARE]
        return measured.only(sorted(every, key=lambda label: label not in SERVING)[:MOST_DRAWN])

    def answer(self, analysis: Analysis) -> Answer | None:
        answer = super().answer(analysis)
        if answer is None:
            return None
        ends = both_ends(analysis, self.drawn(analysis, self.measured(analysis)), answer.headline)
        return replace(answer, figures=[*answer.figures, *([ends] if ends else [])])


COLUMNS: Final = HoldingServers(
    workloads=[NAME, OVER_TLS],
    columns={
        PLAIN: Read("plain", "an idle connection on plain HTTP, in all", KIB_EACH, IN_ALL, NAME),
        OWN: Read("user", "… of it the server's own", KIB_EACH, USER, NAME),
        TLS: Read("TLS", "an idle connection over TLS, in all", KIB_EACH, IN_ALL, OVER_TLS),
        OWN_TLS: Read("user over TLS", "… of it the server's own", KIB_EACH, USER, OVER_TLS),
        "program": Read("program", "the server without connections", MIB_FIXED, program, NAME),
    },
    head=PLAIN,
    says="An idle connection costs a server",
    caption="An idle connection, served",
    about="Memory of a server for each idle connection, read {where}; and the program without "
    "connections.",
    title="Memory of a server for an idle connection",
    subtitle="{what} of the server's end, {where}",
    panels={"KiB for each connection": (PLAIN, TLS)},
    pair=("plain HTTP", "TLS"),
    notes=[f"{RANGES}{{more}}"],
    prose="An idle connection has had one request and its answer, and waits for the next. Its "
    "memory is what the server's processes have grown by, and what the kernel keeps for this end: "
    "socket, inode, epoll item; stack, task and send buffer of a thread. The other end is not "
    "counted. Every connection over TLS made a full handshake. To measure it: `python -m bench run "
    "--profile servers --only hold,tls-hold`.",
)
measured, answer = COLUMNS.measured, COLUMNS.answer
