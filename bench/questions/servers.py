"""What servers cost: for a request, a connection, beside work, and for slow readers.

The four models once more, as servers. All servers of a block are alive together, each with a load
of its own, and take turns on the processor that is measured. The control ``bare`` is a loop that
accepts, receives and sends, and nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import sub, truediv
from typing import Final

from bench.analysis import stats
from bench.analysis.analysis import Analysis
from bench.questions.columns import BARE, Columns, Follows, Read, ServedColumns
from bench.questions.question import Headline
from bench.schema import TrialRecord
from bench.show.measured import KIB_EACH, MS, TIMES, US, Measured, median_response, p99_response
from bench.sides.protocol import SEGMENT, WORK_EVERY
from bench.text import KIB, count

CONNECTIONS: Final = ("10", "100", "1000")
MAIN: Final = "100"
LATE: Final = 0.01
"""So many late starts in a load are no schedule that was kept."""

SERVE: Final = ServedColumns(
    NAME="serve",
    ASKS="What does a request cost a server?",
    workloads=["serve"],
    point=f"serve-{MAIN}",
    columns={
        **{
            n: Read(f"at {n}", f"a request at {n} connections, processor time", US, at=f"serve-{n}")
            for n in CONNECTIONS
        },
        "over": Follows(
            f"× {BARE}", f"… at {MAIN}, over sockets alone", TIMES, truediv, MAIN, MAIN, base=BARE
        ),
    },
    head=MAIN,
    says="{serving} a request costs",
    caption="A request, served",
    about="Processor time of the server per request on kept connections, in turns, by the number "
    f"of connections; and the same at {MAIN} over that of {BARE}, within blocks. {{where}}",
    title=f"Processor time of a server per request, at {MAIN} connections",
    subtitle="Kept connections, one request in flight on each, pages of 2 KB. {where}",
    panels={
        "processor time per request": (MAIN,),
        f"the same over {BARE}, sockets alone": ("over",),
    },
    prose="Processor time of the server for a page of 2 KB from a list, on kept connections with "
    "one request in flight on each. The load has a processor of its own, never sleeps, and "
    "compares every byte. A server with several threads has all processors but the load's. Where "
    "that is one, threads do not pay for handing the interpreter's lock from one processor to "
    "another. To measure it: `python -m bench run --profile servers`.",
    server="{label} at {at} connections",
    slow="The load was slower than {servers}: a server that waits for a request pays for going to "
    "sleep and waking up, so a request costs it more than under full load.",
)

# As in SERVE, but a client asks for one page and its connection ends: like a browser's first
# request, and every request behind a proxy that does not keep connections.
ACCEPT: Final = ServedColumns(
    NAME="accept",
    ASKS="What does a new connection cost a server?",
    workloads=["accept", "serve"],
    point="accept-100",
    columns={
        "kept": Read("kept", "a request on a kept connection", US, at="serve-100", shown=False),
        "all": Read(
            "in all", "a request with a connection of its own, processor time", US, at="accept-100"
        ),
        "opened": Follows(
            "more than kept",
            "… more than the median on a kept one",
            US,
            sub,
            "all",
            "kept",
            middle=True,
        ),
        "over": Follows(
            f"× {BARE}", "… over sockets alone", TIMES, truediv, "all", "all", base=BARE
        ),
    },
    head="all",
    says="{serving} a connection costs",
    caption="A connection for each request, served",
    about="Processor time of the server per request at 100 connections, in turns; what of it a "
    f"kept connection saves; and all of it over that of {BARE}. {{where}}",
    title="Processor time of a server per request with a connection of its own",
    subtitle="100 clients, each with a new connection for each page of 2 KB, in turns. {where}",
    panels={"processor time per request": ("all",)},
    prose="Each of 100 clients opens a connection, asks for a page of 2 KB with `Connection: "
    "close`, compares the answer, and comes back with a new connection. The server accepts, starts "
    "whatever serves a connection (a thread, an object, a task), answers, and closes. The load "
    "opens a connection for each answer too, so a fast server may wait for it. On several "
    "processors threads pay more, because they hand the interpreter's lock over: on two, wrk saw "
    "5.8 times the cost of `callbacks`. To measure it: "
    "`python -m bench run --profile servers --only accept,serve-100`.",
    server="{label}",
    slow="The load was slower than {servers}: a server that waits for a client pays for going to "
    "sleep and waking up.",
)


def working_median(trial: TrialRecord) -> float | None:
    return trial.loaded.working.p50_ms if trial.loaded and trial.loaded.working else None


class Beside(Columns):
    def facts(self, analysis: Analysis, _: Measured) -> Mapping[str, str]:
        trial = self.trials(analysis)[0]
        rate, work_ms = (stats.number_param(trial, name) or 0.0 for name in ("rate", "work_ms"))
        return {"load": f"{100 * rate * work_ms / 1000 / WORK_EVERY:.0f} %"}

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


MIXED_SERVER: Final = Beside(
    NAME="mixed_server",
    ASKS="What does work on one request in ten do to the other nine, at a server?",
    workloads=["mixed-server"],
    columns={
        "half": Read("median", "response time without work, median", MS, median_response),
        "tail": Read("p99", "… 99th percentile", MS, p99_response),
        "worked": Read(
            "with work, median",
            "response time with 10 ms of work, median",
            MS,
            working_median,
        ),
    },
    head="tail",
    says="Beside work ({load} load), a server's p99 is",
    remedies=["async_await_pool"],
    caption="Requests beside work, served",
    about="Response time, from when a request was due, of those without work and of those with "
    "10 ms of it.",
    figure="mixed_server",
    title="Response time of a server beside requests that need 10 ms of work",
    subtitle="Requests without work, at 400 per second of which one in ten needs work",
    panels={"median": ("half",), "99th percentile": ("tail",)},
    prose="400 requests per second are due at random times for four seconds, and one in ten asks "
    "for a page that needs 10 ms of the processor. A response time counts from when the request "
    "was due, whatever the server does, and the load has a processor of its own. A loop answers "
    "nobody while it works. A thread that works keeps the interpreter’s lock until another has "
    "asked for it for a switch interval (5 ms by default); in another process it has a lock of its "
    "own, but with two processors it shares the server’s. Both ends count the requests that needed "
    "work. To measure it: `python -m bench run --profile servers --only mixed-server`.",
)


def _machine(trial: TrialRecord) -> float | None:
    if trial.memory is None or trial.memory.machine_drop_bytes is None:
        return None
    return trial.memory.machine_drop_bytes / trial.memory.connections / KIB


def alone_median(trial: TrialRecord) -> float | None:
    return trial.loaded.alone.p50_ms if trial.loaded and trial.loaded.alone else None


class Readers(Columns):
    def facts(self, analysis: Analysis, _: Measured) -> Mapping[str, str]:
        python = analysis.campaign.environment.python
        return {"what": f"{python}, {count(SEGMENT)}-byte segments"}


SLOW_READERS: Final = Readers(
    NAME="slow_readers",
    ASKS="What do a thousand slow readers cost a server, and the clients beside them?",
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
            "fast, alone",
            "an answer of 1 MB without slow readers, median",
            MS,
            alone_median,
        ),
        "beside": Read("fast, beside", "… beside a thousand of them", MS, median_response),
    },
    head="user",
    says="A slow reader ({what}) costs",
    caption="Slow readers, served",
    about="Memory for each of the slow readers, and the response time of other clients that ask "
    "for the same 1 MB.",
    figure="slow_readers",
    title="Memory of a server for each slow reader, and what other clients wait",
    subtitle="1,000 clients that read 1 KB of 1 MB per second ({what}), and ten that read fast",
    panels={
        "KiB of the server for each": ("user",),
        "a fast client's answer of 1 MB": ("alone", "beside"),
    },
    pair=("without slow readers", "beside them"),
    prose=f"A thousand clients ask for 1 MB each, with segments of {count(SEGMENT)} bytes and a "
    "receive buffer of 4 KiB, and read 1 KB of it per second. Ten others ask for the same page 50 "
    "times per second on a schedule, for three seconds before the slow ones come and for three "
    "seconds beside them. The page is one object in every server. Memory grows by what a server "
    "copies for a client: the part that is on its way, what a transport keeps because the socket "
    "takes no more, or the whole answer. Interpreter and segments decide it: asyncio's streams "
    "kept 39 KiB on CPython 3.15.2, 87 on 3.11.7, and 6 there with loopback's segments of 64 KB. "
    "What was read of every answer is compared with the page, and ten readers read theirs to the "
    "end. To measure it: `python -m bench run --profile servers --only slow-readers`.",
)

QUESTIONS: Final = (SERVE, ACCEPT, MIXED_SERVER, SLOW_READERS)
