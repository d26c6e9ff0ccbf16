"""How much memory does a server need for an idle connection?

The load opens connections one after the other, gets an answer on each, and leaves them idle. The
harness reads the server's memory from outside before the first and with all of them open.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Final

from bench.analysis import stats
from bench.analysis.analysis import Analysis
from bench.plan.profiles import SERVING
from bench.questions.question import RANGES, Answer, bars, of_models
from bench.schema import TrialRecord
from bench.show.figures import Bars, Figure, Panel, Unit
from bench.show.measured import KIB_EACH, Measure, Measured, Value, by_label
from bench.text import KIB, MIB, count, number, significant

NAME: Final = "hold"
ASKS: Final = "How much memory does a server need for an idle connection?"
OVER_TLS: Final = "tls-hold"
BARE: Final = "bare"
MOST_DRAWN: Final = len(SERVING)
"""Servers in a chart: the names of more could not be read on a slide."""

MIB_FIXED: Final = Unit("MiB", lambda value: f"{significant(value, 2)} MiB", number)

PLAIN, TLS, OWN, OWN_TLS = "plain", "tls", "user", "tls-user"
MEASURES: Final = {
    PLAIN: Measure("plain", "an idle connection on plain HTTP, in all", KIB_EACH),
    OWN: Measure("user", "… of it the server's own", KIB_EACH),
    "kernel": Measure("kernel", "… of it the kernel's", KIB_EACH),
    TLS: Measure("TLS", "an idle connection over TLS, in all", KIB_EACH),
    OWN_TLS: Measure("user over TLS", "… of it the server's own", KIB_EACH),
    "program": Measure("program", "the server without connections", MIB_FIXED),
}
PROSE: Final = (
    "An idle connection has had one request and its answer, and waits for the next. Its memory is "
    "what the server's processes have grown by, and what the kernel keeps for this end: socket, "
    "inode, epoll item; stack, task and send buffer of a thread. The other end is not counted. "
    "Every connection over TLS made a full handshake. To measure it: `python -m bench run "
    "--profile servers --only hold,tls-hold`."
)


def program(trial: TrialRecord) -> float | None:
    """Bytes of the server before its first connection."""
    assert trial.memory is not None
    held = trial.memory.before
    parts = (held.user_bytes, held.page_table_bytes, held.kernel_stack_bytes)
    known = [part for part in parts if part is not None]
    return float(sum(known)) if len(known) == len(parts) else None


def in_mib(trial: TrialRecord) -> float | None:
    return None if (size := program(trial)) is None else size / MIB


IN_ALL, USER = stats.kib_each(*stats.MEMORY_PARTS), stats.kib_each("user")
OF_PLAIN: Final[Mapping[str, Value]] = {
    PLAIN: IN_ALL,
    OWN: USER,
    "kernel": stats.kib_each(*(part for part in stats.MEMORY_PARTS if part != "user")),
    "program": in_mib,
}
OF_TLS: Final[Mapping[str, Value]] = {TLS: IN_ALL, OWN_TLS: USER}


def largest(trials: list[TrialRecord]) -> list[TrialRecord]:
    """Of each server those with the most connections: what it keeps ready hides the first few."""
    most: dict[str, int] = defaultdict(int)
    for trial in trials:
        if trial.memory:
            most[trial.label] = max(most[trial.label], trial.memory.connections)
    return [t for t in trials if t.memory and t.memory.connections == most[t.label]]


def measured(analysis: Analysis) -> Measured:
    labels = (*analysis.labels, BARE)
    plain, tls = (
        by_label(largest(stats.served(analysis.records, workload)), labels, values)
        for workload, values in ((NAME, OF_PLAIN), (OVER_TLS, OF_TLS))
    )
    rows = {label: {**plain.get(label, {}), **tls.get(label, {})} for label in labels}
    return Measured(MEASURES, {label: mine for label, mine in rows.items() if mine})


def both_ends(analysis: Analysis, servers: Measured) -> Figure | None:
    """An idle connection at either end; None unless the campaign has both for some model."""
    rows = {
        label: [stats.spread([total / KIB]), spread]
        for label in servers.values
        if label in analysis.memory
        and (total := analysis.memory[label].total) is not None
        and (spread := servers.spread(label, PLAIN))
    }
    if not rows:
        return None
    return Figure(
        name="both-ends",
        title="Memory of an idle connection at either end",
        headline=None,
        subtitle="User and kernel memory of a crawler that waits for an answer, and of a server "
        "that waits for a request",
        data=Bars([Panel("KiB for each connection", rows, KIB_EACH)], "crawler", "server"),
        notes=(RANGES,),
    )


def connections(analysis: Analysis, workload: str) -> str:
    """How many were held, as ``1,000 or 10,000``; empty if none."""
    trials = largest(stats.trials_of(analysis.records, workload, twins=False))
    return " or ".join(map(count, sorted({t.memory.connections for t in trials if t.memory})))


def answer(analysis: Analysis) -> Answer | None:
    found = measured(analysis)
    if not found.values:
        return None
    here, over, what = PLAIN, TLS, "User and kernel memory"
    costs = "An idle connection costs a server"
    if any(OWN in row and PLAIN not in row for row in found.values.values()):
        here, over, what = OWN, OWN_TLS, "User memory"
        costs = f"{costs}, in user memory,"
    head = of_models(found, here, costs)
    plain, tls = (connections(analysis, workload) for workload in (NAME, OVER_TLS))
    where = f"at {plain or 'no'} connections" + (f", over TLS at {tls}" if tls else "")
    every = [label for label in found.values if label != BARE]
    servers = found.only(sorted(every, key=lambda label: label not in SERVING)[:MOST_DRAWN])
    ends = both_ends(analysis, servers)
    return Answer(
        found,
        head,
        PROSE,
        tables=[
            found.table(
                "An idle connection, served",
                f"Memory of a server for each idle connection, read {where}; and the program "
                "without connections.",
            )
        ],
        figures=[
            bars(
                servers,
                head,
                NAME,
                "Memory of a server for an idle connection",
                f"{what} of the server's end, {where}",
                {"KiB for each connection": (here, over) if tls else (here,)},
                ("plain HTTP", "TLS") if tls else ("", ""),
                notes=[RANGES + " The table has more servers." * (len(every) > MOST_DRAWN)],
            ),
            *([ends] if ends else []),
        ],
    )
