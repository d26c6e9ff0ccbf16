"""What tuning changes: each form that a library or model could have, beside the plain one.

Every row is a question of docs/fairness.md: two rungs that differ in one thing, compared by
processor time and by pages per second in the same blocks, and by counted instructions. The
ratios come from a campaign, the instructions from the record of counted costs. A figure that
is missing has its reason below the table.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from bench.analysis import processors, stats
from bench.analysis.analysis import Analysis
from bench.analysis.stats import Comparison, Metric
from bench.costs.account import Account
from bench.machine.instruments import INSTRUCTIONS
from bench.show import cells
from bench.show.table import MISSING
from bench.text import listing

NAME: Final = "tuning"
"""Of the generated part of a Markdown file."""

TURNS: Final = "ladder-100"
SWITCHING: Final = "ladder-1000"
CRAWL: Final = "crawl"
"""The counted workload that the ladder's points are crawls of, too."""

METRICS: Final = (stats.CPU_PER_1000, stats.PAGES_PER_S)


@dataclass(frozen=True, slots=True)
class Row:
    """A question, the plain form and another form, each a rung."""

    question: str
    plain: str
    form: str
    how: str  # what the other form does
    point: str = TURNS


@dataclass(frozen=True, slots=True)
class Section:
    """Rows that may stand in one table."""

    title: str
    rows: Sequence[Row]


SECTIONS: Final = (
    Section(
        "Models and libraries",
        (
            Row(
                "asyncio receives into 256 KiB",
                "asyncio_protocol",
                "asyncio_buffered",
                "one buffer of 64 KiB, by public means",
            ),
            Row(
                "a timeout for each exchange",
                "async_await",
                "async_await_timeouts",
                "`asyncio.timeout()`, beside the sweep",
            ),
            Row("", "threads", "threads_timeouts", "`settimeout()`, beside the sweep"),
            Row("", "gevent", "gevent_timeouts", "`gevent.Timeout`, beside the sweep"),
            Row("", "uvloop", "uvloop_timeouts", "`asyncio.timeout()`, beside the sweep"),
            Row("", "trio", "trio_timeouts", "`move_on_after`, beside the sweep"),
            Row("threads against asyncio", "async_await", "threads", "a sweep in both"),
            Row("", "async_await_timeouts", "threads_timeouts", "timeouts in both"),
            Row("trio against asyncio", "async_await", "trio", "a sweep in both"),
            Row("", "async_await_timeouts", "trio_timeouts", "timeouts in both"),
            Row("trio's interface", "trio", "trio_sockets", "`trio.socket`, not `SocketStream`"),
            Row(
                "the switch interval, at 1,000 slots behind 50 ms",
                "threads",
                "threads_long_switch",
                "1 s, not 5 ms",
                SWITCHING,
            ),
            Row("gevent's locks", "gevent", "gevent_patched", "the source of `threads`, its lock"),
            Row(
                "Twisted against asyncio",
                "asyncio_protocol",
                "twisted",
                "protocols in both; Twisted sends in batches",
            ),
            Row("", "asyncio_buffered", "twisted", "protocols and receives of 64 KiB in both"),
            Row("Tornado against asyncio", "async_await", "tornado", "`IOStream`, and not streams"),
            Row("the loop below callbacks", "callbacks", "callbacks_asyncio", "asyncio's loop"),
            Row("the loop below generators", "generators", "generators_asyncio", "asyncio's loop"),
            Row(
                "async/await against generators",
                "generators_asyncio",
                "async_await",
                "asyncio's tasks and streams, asyncio's loop in both",
            ),
            Row(
                "more than one processor",
                "callbacks",
                "processes",
                "all but the server's",
                "processors-apart",
            ),
            Row("", "callbacks", "processes", "all, the server's included", "processors-shared"),
            Row("", "processes", "partition", "all but the server's", "processors-apart"),
            Row("", "processes", "partition", "all, the server's included", "processors-shared"),
        ),
    ),
    Section(
        "Whole HTTP stacks",
        (
            Row(
                "urllib3", "urllib3", "urllib3_tuned", "streamed, equal to the models at the edges"
            ),
            Row("requests", "requests", "requests_tuned", "no environment or decoder"),
            Row("aiohttp", "aiohttp", "aiohttp_timeouts", "`ClientTimeout`, beside the sweep"),
            Row("httpx", "httpx", "httpx_tuned", "a client for each slot"),
            Row("", "httpx", "httpx2", "its continuation, with a new pool"),
        ),
    ),
)


@dataclass(slots=True)
class Tuning:
    """Fills the rows from a campaign and from counted costs; keeps why a figure is missing."""

    analysis: Analysis
    accounts: Sequence[Account]
    reasons: dict[str, list[str]] = field(default_factory=dict)

    def compared(self, row: Row, metric: Metric) -> Comparison | None:
        """The other form over the plain one, with the verdict that every page gives this pair."""
        pair = (row.point, row.plain, row.form)
        if row.point.startswith(processors.WORKLOAD):
            found = self.analysis.processors
            mine = found.comparisons if found and metric is stats.PAGES_PER_S else ()
            return next((c for c in mine if (c.point, c.base, c.label) == pair), None)
        compared = self.analysis.compare(metric, row.plain)
        return next((c for c in compared if (c.point, c.base, c.label) == pair), None)

    def ratio(self, row: Row, metric: Metric) -> str:
        """A ratio with its interval; a dash and a reason where there is none."""
        found = self.compared(row, metric)
        if found is None or found.ratio.value is None:
            return self._lacks(row, metric)
        if found.ratio.low is None:
            self._because(f"`{row.form}` at {row.point}: {found.ratio.reason}")
            return f"{found.ratio.value:.2f}"
        return cells.ratio(found.ratio) + ("" if found.ratio.shown else f", {found.ratio.verdict}")

    def _lacks(self, row: Row, metric: Metric) -> str:
        ran = {t.backend for t in stats.trials_of(self.analysis.records) if t.point == row.point}
        if lacking := [name for name in (row.plain, row.form) if name not in ran]:
            names = listing([f"`{name}`" for name in lacking])
            self._because(f"this campaign has no trials of {names} at {row.point}")
        elif self.analysis.places and {row.plain, row.form} & {*self.analysis.places.labels}:
            self._because(f"the server slept for one of `{row.plain}` and `{row.form}` only")
        else:
            self._because(f"{metric.title} is not compared at {row.point}")
        return MISSING

    def instructions(self, name: str) -> float | None:
        """Instructions of a page in user mode, in thousands."""
        for each in self.accounts:
            if (each.backend, each.workload) == (name, CRAWL):
                if found := each.costs.get(INSTRUCTIONS):
                    return found.middle / 1000
                self._because(f"`{name}` was not counted: {listing(list(each.bad)) or 'no reason'}")
                return None
        if self.accounts:
            self._because(f"`{name}` is not in the record of counted costs")
        else:
            self._because("there is no record of counted costs (`python -m bench costs`)")
        return None

    def counted(self, row: Row) -> list[str]:
        """The instructions of both forms, and their ratio."""
        plain, form = self.instructions(row.plain), self.instructions(row.form)
        ratio = f"{form / plain:.2f}" if plain and form else MISSING
        return [*(MISSING if one is None else f"{one:,.0f}" for one in (plain, form)), ratio]

    def line(self, row: Row) -> str:
        """A row of the table."""
        figures = [self.ratio(row, metric) for metric in METRICS]
        form = f"`{row.form}`: {row.how}"
        found = [row.question, f"`{row.plain}`", form, *figures, *self.counted(row)]
        return f"| {' | '.join(found)} |"

    def _because(self, reason: str) -> None:
        self.reasons.setdefault(reason, []).append(reason)


HEAD: Final = (
    "| question | as it ships, or the model | another form | processor time [95 %] "
    "| pages/s [95 %] | k instructions, first | other | ratio |"
)
MARKS: Final = "| --- | --- | --- | ---: | ---: | ---: | ---: | ---: |"


def markdown(analysis: Analysis, accounts: Iterable[Account]) -> str:
    """The generated part of docs/fairness.md."""
    tuning = Tuning(analysis, list(accounts))
    campaign = analysis.campaign
    lines = [
        f"From campaign `{campaign.campaign}`, {campaign.environment.python}. Ratios are the other",
        "form divided by the first, paired within blocks.",
    ]
    for section in SECTIONS:
        lines += ["", f"**{section.title}**", "", HEAD, MARKS, *map(tuning.line, section.rows)]
    if tuning.reasons:
        lines += ["", "Missing, or without an interval:", ""]
        lines += [f"- {reason}." for reason in tuning.reasons]
    return "\n".join(lines)
