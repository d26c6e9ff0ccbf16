"""What did each CPython release change?

Interpreters are built differently, and the build alone changes every figure. So a backend is
compared only with itself on an earlier interpreter *of the same kind of build*, and absolute
figures always carry their build.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from itertools import chain, pairwise
from typing import Final

from bench.analysis import stats
from bench.analysis.analysis import Analysis
from bench.analysis.stats import CPU_PER_1000, USER_PER_CONNECTION, Blocks, Comparison, Spread
from bench.plan.participants import Label, on_each
from bench.questions.question import Answer, Headline, intervals
from bench.show import cells, words
from bench.show.figures import Axis, Figure, Lines, Plot, Unit, line
from bench.show.measured import US, Measure, Measured
from bench.show.table import Column, Row, Table, name
from bench.show.words import blocks_words, differences, point_words, sentence
from bench.store import Records
from bench.text import capital, listing, number

NAME: Final = "interpreters"
ASKS: Final = "What did each CPython release change?"
ACROSS: Final = True
PAGE, HELD = "page", "held"
MEASURES: Final = {
    PAGE: Measure("processor time per page", "a crawled page, processor time", US),
    HELD: Measure(
        "user memory per connection",
        "an idle connection, user memory",
        Unit("KiB", number, lambda kib: f"{cells.figure(kib)} KiB"),
    ),
}
STEP: Final = (
    "A step is one within a kind of build: to the release before, for a free-threaded build (t) to "
    "the same release with the lock, and with the JIT on (j) to the same with it off."
)
SHRUNK: Final = (
    "opening connections made the process smaller, because it gave memory back that it had taken "
    "before"
)
NO_MARK: Final = "Where memory has no mark, the process gave some back."
METRICS: Final = {PAGE: CPU_PER_1000, HELD: USER_PER_CONNECTION}


class Releases:
    """The interpreters of one campaign, and what is compared between them."""

    def __init__(self, records: Records) -> None:
        self.records = records
        self.kinds = words.by_build(records.campaign.interpreters)  # each oldest first
        #: The backends that ran, without their interpreters, in the campaign's order.
        self.models = list(dict.fromkeys(Label.parse(b).name for b in records.campaign.backends))

    @cached_property
    def steps(self) -> list[tuple[str, str]]:
        """Pairs of interpreters of one kind of build, the older first.

        A release is paired with the release before it. A free-threaded build (t) is
        paired with the same release that has the lock, and one with its JIT on (j) with
        itself with it off, or with nothing where that was not measured.
        """
        steps: list[tuple[str, str]] = []
        for names in self.kinds.values():
            plain = [name for name in names if name[-1].isdigit()]
            steps += pairwise(plain)
            steps += [(name[:-1], name) for name in names if name[:-1] in plain]
        return steps

    def pairs(self, metric: stats.Metric) -> list[stats.Pair]:
        """Each label with the same backend one step before, at every point."""
        previous = {
            Label(model, name).backend: Label(model, before).backend
            for before, name in self.steps
            for model in self.models
        }
        return [
            (point, previous[label], label)
            for point in stats.points_of(self.records, *metric.workloads)
            for label in stats.labels_of(self.records)
            if label in previous
        ]

    @property
    def builds(self) -> list[str]:
        return [f"{', '.join(names)}: {build}." for build, names in self.kinds.items()]

    @property
    def lines(self) -> list[str]:
        """Which interpreters, how they were built, and which are missing, in sentences."""
        absent: dict[str, list[str]] = {}
        for version, why in self.records.campaign.interpreters_missing.items():
            absent.setdefault(why, []).append(version)
        return [
            *self.builds,
            *words.switches(stats.trials_of(self.records)),
            STEP,
            *(f"Not measured: CPython {listing(names)}: {why}." for why, names in absent.items()),
        ]


def pairs(records: Records, metric: stats.Metric) -> list[stats.Pair]:
    if not records.campaign.interpreters or metric not in METRICS.values():
        return []
    return Releases(records).pairs(metric)


ComparedReleases = Mapping[str, Mapping[str, Comparison]]
"""Measure -> label -> its comparison with an earlier interpreter."""

Finds = Callable[[str], Spread | None]


def compared(analysis: Analysis, releases: Releases) -> ComparedReleases:
    return {
        key: {c.label: c for c in analysis.family(metric).of(releases.pairs(metric))}
        for key, metric in METRICS.items()
    }


def measured(analysis: Analysis) -> Measured:
    values: dict[str, dict[str, Blocks]] = {label: {} for label in analysis.labels}
    for key, metric in METRICS.items():
        trials = stats.trials_of(analysis.records, *metric.workloads, twins=False)
        _, scale = words.FOR_ONE[metric.name]
        for (_, label), blocks in stats.block_values(trials, metric).items():
            values[label][key] = {block: value / scale for block, value in blocks.items()}
    return Measured(MEASURES, {label: by_label for label, by_label in values.items() if by_label})


def answer(analysis: Analysis) -> Answer | None:
    if not analysis.campaign.interpreters:
        return None
    releases, values = Releases(analysis.records), measured(analysis)
    previous = compared(analysis, releases)
    head = headline(previous)
    differing = words.differing_builds(analysis.campaign.interpreters)
    dashes = _dashes(analysis, values)
    return Answer(
        head,
        "Each backend is compared with itself on an earlier interpreter of the same kind of "
        "build. To measure it: `python -m bench study interpreters`.",
        tables=[table(values, releases, previous, dashes)],
        figures=[figure(analysis, values, releases, previous, head, dashes)]
        if values.values
        else [],
        details={
            f"{NAME}-{number}": text
            for number, text in enumerate([*_steps(releases, previous), *releases.lines], 1)
        },
        warnings=[differing] if differing else [],
    )


def _dashes(analysis: Analysis, measured: Measured) -> list[str]:
    """Why some have no user memory."""
    trials = stats.trials_of(analysis.records, *USER_PER_CONNECTION.workloads, twins=False)
    read = sorted({trial.label for trial in trials if stats.kib_each("user")(trial) is not None})
    without = [label for label in read if not measured.spread(label, HELD)]
    return [f"No user memory of {listing(without)}: {SHRUNK}."] if without else []


def headline(previous: ComparedReleases) -> Headline | None:
    shown = [
        (key, c) for key, by_label in previous.items() for c in by_label.values() if c.ratio.shown
    ]
    if not shown:
        return None
    key, most = max(shown, key=lambda pair: abs(math.log(pair[1].ratio.value or 1.0)))
    value = most.ratio.value or 1.0
    now, before = Label.parse(most.label), Label.parse(most.base)
    what, base = f"{MEASURES[key].title} on {now.interpreter}", f"on {before.interpreter}"
    much = words.against(value, "less", what, base)
    text = sentence(f"{words.says(now.name, 'need')} {much}")
    return Headline(text, words.basis(most), [most])


def _steps(releases: Releases, previous: ComparedReleases) -> list[str]:
    sentences = []
    for key, by_label in previous.items():
        for before, now in releases.steps:
            here = [c for c in by_label.values() if Label.parse(c.label).interpreter == now]
            parts = [differences(here, "less")]
            unlike = [c.label for c in here if c.ratio.verdict == stats.OTHER_WORK]
            if unlike:
                names = listing([f"`{Label.parse(label).name}`" for label in unlike])
                parts.append(f"no verdict for {names}: page faults or work differ")
            text, what = "; ".join(filter(None, parts)), capital(MEASURES[key].title)
            sentences += [f"**{what}, {before} → {now}:** {text}."] if text else []
    return sentences


def table(
    measured: Measured, releases: Releases, previous: ComparedReleases, dashes: Sequence[str]
) -> Table:
    rows: list[Row] = []
    for label in chain.from_iterable(on_each(releases.models, m) for m in releases.kinds.values()):
        parsed = Label.parse(label)
        row: list[str] = [parsed.name, parsed.interpreter]
        for key in METRICS:
            spread, step = measured.spread(label, key), previous[key].get(label)
            row.append(cells.figure(spread.value if spread else None))
            row.append(cells.ratio(step.ratio if step else None))
        rows.append(row)
    return Table(
        "Across interpreters",
        [
            name("backend"),
            name("interpreter"),
            Column("CPU µs per page"),
            Column("× step"),
            Column("user KiB per connection"),
            Column("× step"),
        ],
        rows,
        notes=[*releases.lines, *dashes],
    )


def figure(
    analysis: Analysis,
    measured: Measured,
    releases: Releases,
    previous: ComparedReleases,
    head: Headline | None,
    dashes: Sequence[str],
) -> Figure:
    """Absolute figures above; below, what each step from one interpreter to the next changed."""
    columns = [key for key in METRICS if measured.blocks([key])]
    kinds = [(n, name) for n, names in enumerate(releases.kinds.values()) for name in names]
    # With a gap between kinds of build.
    places = {name: number + kind for number, (kind, name) in enumerate(kinds)}
    x = Axis("", "names", {float(place): name for name, place in places.items()}.__getitem__)

    def panel(title: str, y: Axis, of: Finds) -> Plot:
        lines = {
            model: line((at, of(Label(model, name).backend)) for name, at in places.items())
            for model in releases.models
        }
        return Plot({model: points for model, points in lines.items() if points}, x, y, title)

    def step(label: str, key: str) -> Spread | None:
        compared = previous[key].get(label)
        return compared.ratio.spread if compared else None

    above, below = [], []
    for key in columns:
        measure, values = MEASURES[key], Axis("", "values", MEASURES[key].unit.ticks)
        above.append(panel(measure.title, values, partial(measured.spread, key=key)))
        # Its words keep it apart from the other column, which has a scale of its own.
        ratio = Axis("", "ratios", measure.unit.ticks)
        below.append(panel(f"ratio: {measure.title}", ratio, partial(step, key=key)))
    steps = any(plot.lines for plot in below)  # none between kinds of build
    ratios = [c.ratio for by_label in previous.values() for c in by_label.values()]
    further = [STEP] * steps + [NO_MARK] * bool(dashes)
    trials = stats.trials_of(analysis.records, twins=False)
    first = (next(t for t in trials if t.workload in METRICS[key].workloads) for key in columns)
    at = [*map(point_words, first)]
    every = [measured.spread(label, key) for label in measured.values for key in columns]
    spreads = [spread for spread in every if spread]
    return Figure(
        name=NAME,
        title="What each CPython release changed",
        headline=head.text if head else None,
        subtitle=f"{listing(at)}; {'above: ' * steps}{blocks_words(spreads)}"
        + f"; below: ratio of a step{intervals(ratios, ', bars')}" * steps,
        data=Lines([*above, *below] if steps else above, len(columns)),
        # How they were built. The table has lock and JIT, and what is missing.
        notes=(
            "WARNING, a build can change more than a release: compare across no gap. "
            * (len(releases.kinds) > 1)
            + " ".join(releases.builds),
            *[" ".join(further)] * bool(further),
        ),
    )
