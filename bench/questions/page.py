"""What does a page cost, and what is it made of?

Backends are compared by processor time and pages per second. Two controls (:mod:`bench.controls`)
took turns with them, in the same blocks, and split a backend's time per exchange. ``bare`` is
sockets alone. ``stripped`` is ``callbacks`` without what all backends share: frontier, exchange
and links. So ``callbacks`` less ``stripped`` is what they share, found by removing it from a
program that is otherwise whole. What is left is the model: how the program waits and switches. A
whole HTTP stack has no shared parts, so all of its time beyond the sockets is its own. Every
difference is taken within a block. A rest that is not above 0 in every block cannot be separated.

A backend whose server slept is not split: waking the server is part of its sends, and of no
control's. ``bare`` only fetches lists. A crawl of pages of the same size sends the same requests,
so its sockets are those of the list with the same number of slots, where both were measured.

Instructions of a fetched page and of the shared parts of a crawl add up, their times do not: the
rest of a crawled page includes what model and parser cost each other
(docs/notebook/method-studies.md#a-crawled-page-takes-longer-than-its-instructions).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import fsum
from operator import sub
from typing import Final

from bench.analysis import stats
from bench.analysis.analysis import Analysis
from bench.analysis.stats import CPU_PER_1000, CPU_PER_REQUEST, PAGES_PER_S, Blocks, Comparison
from bench.plan.participants import BASE, FREE, MAPPED, OTHER_LIBRARIES, Label
from bench.questions.question import (
    Answer,
    Headline,
    contrast,
    interval_of,
    of_ratio,
    stated,
    upright,
)
from bench.show.figures import Bars, Colour, Figure, Panel, Stack
from bench.show.measured import US, Measure, Measured, within
from bench.show.table import Table
from bench.show.words import (
    FOR_ONE,
    averaged,
    bases,
    blocks_words,
    differences,
    point_words,
    prose,
    silence,
    strongest,
)
from bench.text import listing, plural
from crawlers.registry import MODELS

NAME: Final = "page"
ASKS: Final = "What does a page cost, and what is it made of?"
BARE, STRIPPED = "bare", "stripped"
"""The controls: sockets alone, and callbacks without what all backends share."""

FETCHED, CRAWLED = "fetch-100", "throughput-100"
SHOWN: Final = {
    FETCHED: ("fetched", "a fetched page: a list, no links"),
    CRAWLED: ("crawled", "a crawled page: links too"),
}
"""The points of the chart: what a page of each is, and the title of its panel."""
WHERE: Final = {
    FETCHED: "A list of pages without links, at 100 slots",
    CRAWLED: "A crawl, at 100 slots",
}
DISPLACED: Final = (
    "In a crawl the model takes longer for the same instructions: its code and the parser's "
    "displace each other in the processor."
)
TOTAL, SOCKETS, SHARED, REST = "page", "sockets", "shared", "model"
NOT_SEPARABLE: Final = "not separable"
PARTS: Final[dict[str, Colour]] = {
    "sockets": "grey",
    "shared parts": "faint",
    "model, or a whole stack": "own",
    NOT_SEPARABLE: "sky",
}
USER, SYSTEM = "user", "system, in the kernel"
ASYNCIO = "async_await"
AGAINST_ASYNCIO: Final = (*OTHER_LIBRARIES, "gevent")
"""What documents compare with asyncio: these have a ratio to it as well as to the base."""
COMMAND: Final = "To measure it: `python -m bench run --only fetch-100,throughput-100`."


@dataclass(frozen=True, slots=True)
class Contrast:
    """What is compared, for a finding of its own: "threads *crawl* 35 % *fewer* …"."""

    name: str
    point: str
    metric: stats.Metric
    what: str
    verb: str = "need"
    less: str = "less"


CONTRASTS: Final = (
    Contrast("page", FETCHED, CPU_PER_1000, "processor time per fetched 2 KB page"),
    Contrast("crawl", CRAWLED, CPU_PER_1000, "processor time per crawled 2 KB page"),
    Contrast("rate", CRAWLED, PAGES_PER_S, "2 KB pages per second", "crawl", "fewer"),
)


def of_point(analysis: Analysis, metric: stats.Metric, point: str | None) -> list[Comparison]:
    """The models against the base, where there are blocks enough for an interval.

    Not threads on several processors: what a page costs them is what its hand-overs of the lock
    cost, and that is another number in the next campaign (:mod:`bench.questions.handovers`).
    """
    several = {
        trial.label
        for trial in stats.trials_of(analysis.records)
        if Label.parse(trial.backend).name == FREE and len(stats.processors(trial, "client")) != 1
    }
    here = (c for c in analysis.compare(metric) if c.point == point)
    compared = (c for c in here if c.label in MODELS and c.ratio.low is not None)
    return [c for c in compared if not several & {c.label, c.base}]


def contrasted(analysis: Analysis, asked: Contrast) -> tuple[Headline, str] | None:
    """Each backend against the base: the models first, whole stacks apart."""
    models = of_point(analysis, asked.metric, asked.point)
    if not models:
        return None
    best = strongest(models)
    head = contrast(best, asked.verb, asked.what, asked.less) if best else None
    if head is None:
        base, blocks = prose(models[0].base), max(c.ratio.blocks for c in models)
        nothing = f"No model differs clearly from {base} in {asked.what}"
        head = Headline(nothing, plural(blocks, "block"))
    here = [c for c in analysis.compare(asked.metric) if c.point == asked.point]
    others = [c for c in here if c.label not in MODELS]
    groups = {
        WHERE[asked.point]: models,
        "Variants": [c for c in others if c.label not in analysis.stacks],
        "HTTP stacks": [c for c in others if c.label in analysis.stacks],
    }
    texts = [
        f"{group}: {text}."
        for group, compared in groups.items()
        if (text := differences(compared, asked.less))
    ]
    texts.append(f"The base: {bases([*models, *others])}.")
    texts += [
        f"No verdict for `{c.label}`: {c.ratio.reason}."
        for c in here
        if c.ratio.verdict == stats.OTHER_WORK and c.label in MODELS
    ]
    return replace(head, numbers=over_campaigns(analysis, asked)), " ".join(texts)


def over_campaigns(analysis: Analysis, asked: Contrast) -> list[stats.Number]:
    """Each backend's value, and its ratio to the campaign's base and to asyncio."""
    metric, point = asked.metric, asked.point
    unit, _ = FOR_ONE.get(metric.name, (metric.unit, 1.0))  # ms for 1000 pages are µs for one
    trials = [t for t in stats.trials_of(analysis.records, twins=False) if t.point == point]
    values = stats.block_values(trials, metric)
    ratios = [c for c in analysis.compare(metric) if c.point == point]
    for label in AGAINST_ASYNCIO:
        if both := stats.PairedValues(trials, metric).pair(point, ASYNCIO, label):
            ratio = stats.ratio(*both, metric=metric)
            ratios.append(Comparison("", point, metric, ASYNCIO, label, ratio, False))
    return [
        *(
            stats.Number(f"{metric.name}/{point}/{label}", f"{label}: {asked.what}", unit, spread)
            for (_, label), blocks in values.items()
            if (spread := stats.spread(blocks.values()))
        ),
        *(number for c in ratios for number in of_ratio(c, asked.what)),
    ]


# --- the parts ---------------------------------------------------------------------------


def measured(analysis: Analysis) -> Measured:
    """Every backend at the points of the chart, in the blocks that have all of its parts.

    The rest is the model, or all of a stack, which has its own parts. It is left out where its
    range over blocks is not above 0: there it cannot be separated.
    """
    trials = [trial for trial in analysis.records.controls if trial.status == "ok"]
    polled = {trial.point: stats.polled(trial) for trial in trials}
    controls = stats.block_values(trials, CPU_PER_REQUEST)
    every = stats.trials_of(analysis.records, twins=False)
    alike = [trial for trial in every if polled.get(trial.point) == stats.polled(trial)]
    pages = stats.block_values(alike, CPU_PER_REQUEST)
    measures: dict[str, Measure] = {}
    values: dict[str, dict[str, Blocks]] = defaultdict(dict)
    for point, (what, _) in SHOWN.items():
        base, stripped = pages.get((point, BASE), {}), controls.get((point, STRIPPED), {})
        shared = within(base, stripped, sub)
        bare = controls.get((point, BARE)) or controls.get((FETCHED, BARE), {})
        for label in analysis.labels if shared else ():
            total: Blocks = pages.get((point, label), {})
            parts, rest = {TOTAL: total, SOCKETS: bare}, within(total, bare, sub)
            if label not in analysis.stacks:
                parts[SHARED] = shared
                rest = within(rest, shared, sub)
            if not rest:
                continue
            parts = {part: {block: of[block] for block in rest} for part, of in parts.items()}
            parts |= {REST: rest} if min(rest.values()) > 0 else {}
            values[label] |= {f"{part}-{point}": of for part, of in parts.items()}
            titles = {
                TOTAL: (f"a {what} page", f"an exchange of a {what} page, processor time"),
                SOCKETS: ("sockets", "… of it sockets alone"),
                SHARED: ("shared", "… of it what backends share"),
                REST: ("model or stack", "… of it the model or stack"),
            }
            measures |= {f"{part}-{point}": Measure(*two, US) for part, two in titles.items()}
    return Measured(measures, values)


def stack(measured: Measured, label: str, point: str) -> Stack:
    """The bar, which ends at what was measured; at its end the range of the rest.

    Its parts share it as their means over blocks do: geometric means of parts do not add up to that
    of a page, and the difference would be drawn as the model's.
    """
    row, rest = measured.values[label], measured.spread(label, f"{REST}-{point}")
    if rest is None:
        return Stack({NOT_SEPARABLE: measured.value(label, f"{TOTAL}-{point}")})
    totals = row[f"{TOTAL}-{point}"]
    share = measured.value(label, f"{TOTAL}-{point}") / fsum(totals.values())
    own, common, left = (
        share * fsum(row.get(f"{part}-{point}", {}).get(block, 0.0) for block in totals)
        for part in (SOCKETS, SHARED, REST)
    )
    ends = (own + common + rest.low, own + common + rest.high)
    parts = dict(zip(PARTS, (own, common, left), strict=False))
    return Stack(parts, ends if rest.count > 1 else None)


def answer(analysis: Analysis) -> Answer | None:
    """Processor time of a fetched page; of a crawled one, and its rate, in further findings."""
    findings = {asked.name: text for asked in CONTRASTS if (text := contrasted(analysis, asked))}
    parts = measured(analysis)
    (head, verdicts), *_ = [*findings.values(), (None, "")]
    figures = [figure for figure in (breakdown(analysis, parts), cpu(analysis)) if figure]
    if not findings and not figures:
        return None
    return Answer(
        head,
        f"{verdicts} {COMMAND}".strip(),
        tables=[table(analysis, parts)] if parts.values else [],
        figures=figures,
        details=dict([*findings.items()][1:]),
        compared=analysis.compare(CPU_PER_1000),  # what the figures' headlines rest on
    )


def table(analysis: Analysis, measured: Measured) -> Table:
    made = measured.table(
        "What a page is made of",
        "Processor time at 100 slots, in turns. Sockets: the control bare. Shared parts: callbacks "
        "less the control stripped, which is callbacks without them. The rest is the model; a "
        "whole stack has no shared parts. It is not separable, and left out, where its range is "
        "not above 0.",
        further="; the parts are differences within a block",
    )
    places = analysis.places
    slept = listing(places.labels) if places and places.shared else ""
    notes = [f"Not split, because the server slept for them: {slept}."] * bool(slept)
    return replace(made, notes=notes)


def breakdown(analysis: Analysis, measured: Measured) -> Figure | None:
    keys = {point: f"{TOTAL}-{point}" for point in SHOWN if f"{TOTAL}-{point}" in measured.measures}
    if not keys:
        return None
    bars = {
        point: {x: stack(measured, x, point) for x in analysis.labels if measured.spread(x, key)}
        for point, key in keys.items()
    }
    first = next(iter(bars))
    totals = {label: bar.value for label, bar in bars[first].items()}
    head = titled(analysis, first, totals, f"A {SHOWN[first][0]} page")
    return Figure(
        name=NAME,
        title="What a page’s processor time is made of",
        headline=head.text if head else None,
        subtitle="Processor time of the client per exchange at 100 slots, in turns; "
        + averaged(measured.blocks(keys.values())),
        data=Bars(
            [
                Panel(SHOWN[point][1], {label: [bar] for label, bar in own.items()}, US)
                for point, own in bars.items()
            ],
            parts=PARTS,
        ),
        notes=(
            "Sockets: a control that only sends, receives and counts bytes. Shared: what callbacks "
            "need less without frontier, exchange and links. Model: what is left; its range over "
            "blocks is at the end of the bar.",
            *[DISPLACED] * (CRAWLED in keys),
        ),
    )


def titled(
    analysis: Analysis, point: str, drawn: Mapping[str, float], what: str
) -> Headline | None:
    """Both values, the larger first; milliseconds for 1000 pages are microseconds for one."""

    def costs(compared: Comparison) -> str:
        more = upright(compared)
        label, base = map(US.words, more.averages)
        text = f"{what} costs {label} of processor time with {prose(more.label)}"
        return f"{text} and {base} with {prose(more.base)}"

    return stated(of_point(analysis, CPU_PER_1000, point), drawn, costs)


def cpu(analysis: Analysis) -> Figure | None:
    point = analysis.reference_point("throughput", "real", "waiting")
    if point is None:
        return None
    wanted = {*analysis.main} - {*MAPPED}
    trials = {x: own for x, own in analysis.at_point(point).items() if x in wanted}
    # What is compared with those whose server slept: their base, drawn below them.
    slept = [
        trial
        for trial in stats.companions_of(analysis.records, *stats.CLOSED)
        if (trial.point, trial.label) == (point, analysis.base)
    ]
    if slept and FREE in trials:
        beside = {FREE: trials[FREE], str(Label(analysis.base, condition="asleep")): slept}
        trials = beside | trials
    bars: dict[str, list[Stack]] = {}
    totals: dict[str, stats.Spread] = {}
    samples: dict[str, list[list[float]]] = {}
    for label, own in trials.items():
        parts = [both for trial in own if (both := stats.cpu_ms_per_1000(trial))]
        if total := stats.spread(map(sum, parts)):
            user = total.value * fsum(part for part, _ in parts) / fsum(map(sum, parts))
            ends = (total.low, total.high) if total.count > 1 else None
            bars[label] = [Stack({USER: user, SYSTEM: total.value - user}, ends)]
            totals[label] = total
            samples[label] = [[*map(sum, parts)]]
    if not bars:
        return None
    sample = next(iter(trials.values()))[0]
    drawn = {label: total.value for label, total in totals.items()}
    head = titled(analysis, point, drawn, "A crawled page")
    why = silence(analysis, CPU_PER_1000, sample.workload, point)
    return Figure(
        name="cpu",
        title="Processor time per page, user and system",
        headline=head.text if head else None,
        subtitle=f"Workload {sample.workload}, {point_words(sample)}; "
        + blocks_words(totals.values()),
        data=Bars(
            [Panel("processor time of the crawler per page", bars, US, samples=samples)],
            parts={USER: "own", SYSTEM: "faint"},
        ),
        notes=(interval_of(head),) if head else (why,) if why else (),
    )
