"""How much memory does an idle connection take?

The server holds its answers until all connections are open, and the harness reads what they added
from outside: the slope of a line over numbers of connections is a connection, the intercept is the
program. Over TLS it is compared with the same backend's connections on plain HTTP: slopes with
slopes, and otherwise at the largest number that both were measured at. The control ``bare_tls``
holds connections with OpenSSL and little else, so what TLS adds splits into OpenSSL's part and the
library's.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from bench.analysis import stats
from bench.analysis.analysis import Analysis
from bench.analysis.stats import MEMORY_PARTS, Comparison, MemoryFit, Number, Spread
from bench.plan.participants import FREE, MAPPED
from bench.questions.question import Answer, Headline, few
from bench.schema import TrialRecord
from bench.show import cells
from bench.show.cells import kib, mib, tenths
from bench.show.figures import (
    Axis,
    Bars,
    Colour,
    Figure,
    Line,
    Lines,
    Panel,
    Plot,
    Stack,
    calculated,
    line,
)
from bench.show.measured import KIB_OR_MORE
from bench.show.table import MISSING, CellMakers, Column, Table, name, tabled
from bench.show.words import not_drawn, prose
from bench.text import KIB, MIB, count, from_to, listing, plural, significant, size_words, times
from crawlers.registry import MODELS

NAME: Final = "memory"
TLS_MEMORY: Final = "tls-memory"
MEASURED_TLS: Final = "To measure it: `python -m bench run --only c10k,tls-c10k`."
ASKS: Final = "How much memory does an idle connection take?"
USER: Final = "user"
CONTROL: Final = "bare_tls"

SMALL: Final = "asyncio_small_tls"
"""asyncio's TLS with a small buffer."""

CLEAR: Final = 1.05
"""The headline compares totals that differ by at least this factor."""

MANY: Final = 10_000
"""Connections of the problem that has its name from them."""

HUES: Final[tuple[Colour, ...]] = ("blue", "sky", "red", "yellow", "pink", "grey")
PLAIN, LIBRARY = "user memory, as on plain HTTP", "what the library adds to it"
HUES_OVER_TLS: Final[dict[str, Colour]] = {
    PLAIN: "sky",
    "OpenSSL": "blue",
    LIBRARY: "red",
    "kernel": "grey",
}


@dataclass(frozen=True, slots=True)
class OverTls:
    """A connection of one backend over TLS and, read in the same way, on plain HTTP; in bytes."""

    fit: MemoryFit
    plain: MemoryFit | None
    openssl: float | None  # user memory for a connection of the control
    at: int | None  # the number of connections at which all were read; None: slopes
    highest: int

    @property
    def user(self) -> float:
        return self.fit.each[USER]

    @property
    def plain_user(self) -> float | None:
        return self.plain.user if self.plain else None

    @property
    def plain_total(self) -> float | None:
        return self.plain.total if self.plain else None

    @property
    def library(self) -> float | None:
        """The rest of the user memory that TLS adds; below 0 only by noise."""
        if self.plain_user is None or self.openssl is None:
            return None
        return self.user - self.plain_user - self.openssl

    @property
    def kernel(self) -> float | None:
        return None if self.fit.total is None else self.fit.total - self.user

    @property
    def times_plain(self) -> str:
        both = self.fit.total, self.plain_total
        return times(both[0] / both[1]) if both[0] and both[1] else MISSING


def _over_tls(
    tls: Sequence[TrialRecord], plain: Sequence[TrialRecord], controls: Sequence[TrialRecord]
) -> OverTls | None:
    at: int | None = None
    over, on = stats.fit_label(tls[0].label, tls), _fit(plain)
    highest = over.connections[-1]
    if not (over.fitted and (on is None or on.fitted)):
        at = max({*over.connections} & {*(on or over).connections} or over.connections)
    over, on, control = _fit(tls, at) or over, _fit(plain, at), _fit(controls, at)
    if USER not in over.each:
        return None
    return OverTls(over, on, control.user if control else None, at, highest)


def _fit(trials: Sequence[TrialRecord], at: int | None = None) -> MemoryFit | None:
    """The memory of one label, by all of its trials or by those with ``at`` connections."""
    here = [t for t in trials if at is None or (t.memory and t.memory.connections == at)]
    return stats.fit_label(here[0].label, here) if here else None


def answer(analysis: Analysis) -> Answer | None:
    on, over = (stats.held_trials(analysis.records, over_tls=tls) for tls in (False, True))
    controls = [t for t in analysis.records.controls if t.label == CONTROL and t.status == "ok"]
    controls = [*filter(stats.holds, controls)]
    each = (_over_tls(over[label], on.get(label, ()), controls) for label in over)
    plain, tls = [*analysis.memory.values()], [row for row in each if row]
    if not plain and not tls:
        return None
    head = _headline("plain", plain, "An idle connection uses")
    over_tls = _headline("tls", [row.fit for row in tls], "Over TLS an idle connection uses")
    wanted = {*analysis.main} - {*MAPPED}
    fits = [fit for fit in plain if fit.label in wanted and fit.user is not None and fit.fitted]
    # At the largest number over TLS, and what a small buffer makes of asyncio.
    top = max((row.highest for row in tls), default=0)
    named = [row for row in tls if row.fit.label in {*wanted, SMALL}]
    rows = [row for row in named if row.highest == top]
    figures = [
        _by_owner(fits, head) if fits else None,
        _up_to_10_000(analysis, fits, head),
        _over_plain([row for row in rows if row.at == rows[0].at], named, over_tls)
        if rows
        else None,
    ]
    alone = "user space alone, because not all of the kernel’s was read"
    models = [fit for fit in plain if fit.label in MODELS and fit.user is not None]
    what = "user space and kernel together" if stats.read_in_all(models) else alone
    own = ""
    # At the largest number of connections.
    if controls and (openssl := stats.fit_label(CONTROL, controls).at_highest[USER]) is not None:
        own = f"{significant(openssl / KIB, 2)} KiB (control `{CONTROL}`)"
        own = f"OpenSSL’s own part is {own}. "
    return Answer(
        head,
        f"The client’s side, {what}. To measure it: `python -m bench run --only c10k`.",
        tables=[
            *([_table(plain)] if plain else []),
            *([tabled(OVER_TLS, COLUMNS_OVER_TLS, tls, about=ABOUT_TLS)] if tls else []),
        ],
        figures=[figure for figure in figures if figure],
        compared=over_tls.pairs if over_tls else (),
        details={TLS_MEMORY: (over_tls, f"{own}{MEASURED_TLS}")} if over_tls else {},
    )


def _kib_each(row: MemoryFit, in_all: bool) -> Spread:
    """A connection, of a row that has the part, and the blocks behind it."""
    spread = row.spread(in_all=in_all)
    assert spread is not None
    return replace(spread, count=row.blocks)


def _headline(kind: str, held: Collection[MemoryFit], takes: str) -> Headline | None:
    """The models with the most and the least, where their intervals lie apart.

    Of user memory where a part of the kernel's was not read. What cannot be told from nothing is
    not named: there is no ratio to it.
    """
    every = [
        Number(f"{kind}/{row.label}", f"{row.label}: {takes}", "KiB", _kib_each(row, True))
        for row in held
        if row.total is not None
    ]
    models = [row for row in held if row.label in MODELS and row.user is not None]
    in_all = stats.read_in_all(models)
    each = [(spread, row) for row in models if (spread := _kib_each(row, in_all)).low > 0]
    if len(each) < 2:
        return None
    ranked = sorted(each, key=lambda pair: -pair[0].value)
    (high, most), (low, least) = ranked[0], ranked[-1]
    number = min(high.count, low.count)
    of_user = "" if in_all else " of user memory"

    def say(values: Sequence[float]) -> str:
        more, less = map(tenths, values)
        text = f"{takes} {more} KiB{of_user} with {prose(most.label)}"
        return f"{text} and {less} KiB with {prose(least.label)}"

    text = say([high.value, low.value])
    quotes = [f"{kind}/{row.label}" for row in (most, least) if in_all]
    if high.low <= low.high or high.value <= CLEAR * low.value:
        much = "as much" if in_all else "as much user memory"
        text = f"{takes} about {much} with every model"
        return Headline(text, plural(number, "block"), numbers=every)
    if not (most.fitted and least.fitted):
        only = few(number) or f", in {plural(number, 'trial')} each"
        behind = "no interval from one number of connections"
        return Headline(f"{text}{only}", behind, (), every, quotes, say)
    of = min((most, least), key=lambda row: row.trials)
    ranges = " and ".join(from_to(tenths, side.low, side.high) for side in (high, low))
    behind = f"{ranges} KiB: {stats.AT_LEVEL} intervals of the fitted slopes, "
    behind += plural(of.trials, "run")
    behind += f" with {plural(len(of.connections), 'number')} of connections"
    metric = stats.USER_PER_CONNECTION
    ratio = replace(stats.of_slopes(low, high, metric), blocks=number)
    pair = Comparison("c10k", "", metric, least.label, most.label, ratio, server_limited=False)
    return Headline(text, behind, [pair], every, quotes, say)


def _part(title: str, drop: int = 0) -> tuple[Column, Callable[[MemoryFit], str]]:
    return Column(title, drop=drop), lambda fit: kib(fit.each.get(title))


COLUMNS: Final[CellMakers[MemoryFit]] = (
    (name("backend"), lambda fit: fit.label),
    (Column(USER), cells.user_memory),
    _part("page tables", 3),
    _part("kernel stacks"),
    _part("kernel sockets", 1),
    _part("send buffers", 2),
    _part("other", 3),
    (Column("total"), lambda fit: kib(fit.total)),
    (Column("fixed MiB", drop=4), lambda fit: mib(fit.fixed)),
    (Column("server side", drop=5), lambda fit: kib(fit.server_side)),
)
COLUMNS_OVER_TLS: Final[CellMakers[OverTls]] = (
    (name("backend"), lambda row: row.fit.label),
    (Column("user, plain", drop=1), lambda row: kib(row.plain_user)),
    (Column("user, TLS"), lambda row: kib(row.user)),
    (Column("OpenSSL", drop=2), lambda row: kib(row.openssl)),
    (Column("library", drop=2), lambda row: kib(row.library)),
    (Column("kernel", drop=3), lambda row: kib(row.kernel)),
    (Column("total, plain"), lambda row: kib(row.plain_total)),
    (Column("total, TLS"), lambda row: kib(row.fit.total)),
    (Column("TLS / plain"), lambda row: row.times_plain),
    (Column("fixed MiB", drop=4), lambda row: mib(row.fit.fixed)),
    (Column("read at", drop=5), lambda row: "slope" if row.at is None else count(row.at)),
)
OVER_TLS: Final = "Memory per connection over TLS, KiB"
ABOUT_TLS: Final = (
    "Slopes over the numbers of connections, or what was read at one number, divided by it. "
    "OpenSSL: the control bare_tls. Library: the rest of the user memory that TLS adds."
)


def _table(fits: Sequence[MemoryFit]) -> Table:
    how = (
        "Slope of a Theil–Sen line over the numbers of connections"
        if all(fit.fitted for fit in fits)
        else "Per connection at the highest N, where too few numbers were measured for a slope"
    )
    sources = {part: words for fit in fits for part, words in fit.sources.items()}
    listed = "; ".join(f"{part}: {source}" for part, source in sorted(sources.items()))
    return tabled(
        "Memory per connection, KiB",
        COLUMNS,
        fits,
        about=f"{how}; user with its {stats.AT_LEVEL} interval; highest N "
        f"{max(fit.connections[-1] for fit in fits):,}. The server’s side of the sockets is listed "
        f"apart and is not in the total.{f' Sources: {listed}.' if listed else ''}",
        notes=[f"Missing: {words}" for words in _missing(fits)],
    )


def _missing(fits: Iterable[MemoryFit]) -> list[str]:
    """The parts without a figure, a line for each reason."""
    reasons: dict[str, list[str]] = {}
    every = [part for fit in fits for part in (*fit.parts.values(), fit.server)]
    for part, reason in sorted({(p.name, p.reason) for p in every if p.reason}):
        reasons.setdefault(reason, []).append(part)
    return [f"{listing(parts)}: {reason}" for reason, parts in reasons.items()]


def _by_owner(fits: Sequence[MemoryFit], head: Headline | None) -> Figure:
    counts = {n for fit in fits for n in fit.connections}
    in_all = stats.read_in_all(fits)
    bars = {fit.label: [_stack(fit.each, fit.interval, hatched=fit.calculated)] for fit in fits}
    if not in_all:
        bars = {fit.label: [_stack({USER: fit.user or 0.0}, fit.user_interval)] for fit in fits}
    panels = [Panel(f"KiB per connection{'' if in_all else ', user memory'}", bars, KIB_OR_MORE)]
    # A thread's stack makes stubs of all others, so they have an axis of their own as well.
    others = {label: row for label, row in bars.items() if not label.startswith(FREE)}
    if 1 < len(others) < len(bars):
        panels.append(Panel("the same without threads", others, KIB_OR_MORE))
    return Figure(
        name=NAME,
        title="Memory per connection, by owner" if in_all else "User memory per connection",
        headline=head.text if head else None,
        subtitle=f"Slope of a robust (Theil–Sen) line through {len(counts)} numbers of connections "
        f"up to {count(max(counts))}, with the {stats.AT_LEVEL} interval{' of the total' * in_all}",
        data=Bars(panels, parts=dict(zip(MEMORY_PARTS, HUES, strict=True))),
        notes=(
            *(f"Not in the bars: {words}." for words in _missing(fits) if not in_all),
            "Without the server’s side of the sockets, and without the process before its first "
            "connection.",
        ),
    )


def _up_to_10_000(
    analysis: Analysis, fits: Sequence[MemoryFit], head: Headline | None
) -> Figure | None:
    """What so many connections add, and where it is not measured ten thousand times one of them."""
    in_all = stats.read_in_all(fits)
    kib_of = stats.kib_each(*(MEMORY_PARTS if in_all else (USER,)))
    sizes = analysis.by_size("c10k", "connections")
    lines: dict[str, Line] = {}
    ends: dict[str, Line] = {}
    for fit in fits:
        read = {
            n: stats.spread(k * n * KIB / MIB for t in trials if (k := kib_of(t)) is not None)
            for n, trials in sizes.get(fit.label, {}).items()
            if n <= MANY
        }
        # What one trial could not tell from nothing has no place on a logarithmic axis.
        points = line((n, mib) for n, mib in read.items() if mib and mib.low > 0)
        if len(points) > 1:
            lines[fit.label] = points
            slope, fitted = _kib_each(fit, in_all), sorted({points[0].x, points[-1].x, MANY})
            ends[fit.label] = [calculated(n, slope.value * n * KIB / MIB) for n in fitted]
    if len(lines) < 2:
        return None
    up_to = max(point.x for points in lines.values() for point in points)
    text = None
    if head and head.pairs and {head.pairs[0].label, head.pairs[0].base} <= ends.keys():
        most, least = head.pairs[0].label, head.pairs[0].base
        more, less = (_mib(ends[label][-1].y.value) for label in (most, least))
        more += "" if in_all else " of user memory"
        verb = "use" if up_to == MANY else "would use"
        text = f"{count(MANY)} idle connections {verb} {more} with {prose(most)} and "
        text += f"{less} with {prose(least)}"
    beyond = any(ends[label][-1].x > points[-1].x for label, points in lines.items())
    x, y = Axis("idle connections", "counts"), Axis("", "values", _mib)
    return Figure(
        name="c10k",
        title="Memory of idle connections, up to ten thousand",
        headline=text,
        subtitle=f"{'Memory' if in_all else 'User memory'} that the connections add to the crawler",
        data=Lines([Plot(lines, x, y, "memory of all of them", dashed=ends)], told=True),
        notes=(
            f"Measured up to {count(up_to)}. The lines are the memory of one connection times "
            f"their number{', and dashed where nothing was measured' * beyond}.",
        ),
    )


def _mib(value: float) -> str:
    return size_words(value * MIB, 2)


def _stack(
    parts: Mapping[str, float],
    interval: tuple[float, float] | None = None,
    hatched: Sequence[str] = (),
    name: str = "",
) -> Stack:
    ends = (interval[0] / KIB, interval[1] / KIB) if interval else None
    return Stack({part: value / KIB for part, value in parts.items()}, ends, hatched, name)


def _over_plain(rows: Sequence[OverTls], named: Sequence[OverTls], head: Headline | None) -> Figure:
    how = f"At {count(rows[0].at or 0)} connections, divided by their number"
    if rows[0].at is None:
        how = f"Slope over the numbers of connections up to {count(rows[0].highest)}"
    in_all = stats.read_in_all(row.fit for row in rows)
    bars = {row.fit.label: _stacks(row, in_all) for row in rows}
    end = "" if in_all else ", user memory"
    return Figure(
        name=TLS_MEMORY,
        title="Memory per connection, plain and over TLS",
        headline=head.text if head else None,
        subtitle=f"{how}: above on plain HTTP, below over TLS 1.3",
        data=Bars(
            [Panel(f"KiB per connection, the client’s side{end}", bars, KIB_OR_MORE)],
            parts=HUES_OVER_TLS,
        ),
        notes=(
            "OpenSSL: the control bare_tls, which holds connections with OpenSSL and little else. "
            "The library’s part is the rest of what TLS adds to the process.",
            *not_drawn("read at other numbers", [row.fit.label for row in named], bars),
        ),
    )


def _stacks(row: OverTls, in_all: bool) -> list[Stack]:
    above = {} if row.plain_user is None else {PLAIN: row.plain_user}
    base = min(row.plain_user or 0.0, row.user)
    openssl = min(row.openssl or 0.0, row.user - base)
    below = {PLAIN: base, "OpenSSL": openssl, LIBRARY: row.user - base - openssl}
    if in_all and row.kernel is not None:
        below["kernel"] = row.kernel
        if above:
            above["kernel"] = (row.plain_total or 0.0) - above[PLAIN]
    interval = row.fit.interval if in_all else row.fit.user_interval
    return [_stack(above, name="plain"), _stack(below, interval, name="TLS")]
