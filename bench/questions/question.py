"""What a question is: one thing that people ask, from its measurement to its headline.

A module of this package is a question. Report, summary and findings go through
:data:`bench.questions.QUESTIONS` and know none of them by name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Final, Protocol, runtime_checkable

import numpy as np

from bench.analysis.analysis import Analysis
from bench.analysis.stats import (
    AT_LEVEL,
    EQUIVALENT,
    MIN_BLOCKS,
    OTHER_WORK,
    Comparison,
    Metric,
    Pair,
)
from bench.analysis.stats.campaigns import Number
from bench.analysis.stats.ratios import ABOVE, Ratio
from bench.plan.participants import Label
from bench.show import cells
from bench.show.figures import Bars, Figure, Panel
from bench.show.measured import TIMES, WAIT, Measured
from bench.show.pictures import names_in
from bench.show.table import Table
from bench.show.words import (
    BY_LOAD,
    UNPAIRED,
    averaged,
    basis,
    difference,
    prose,
    says,
    sentence,
    strongest,
)
from bench.store import Records
from bench.text import capital, from_to, plural
from crawlers.registry import MODELS

SAYS_HOW_FEW: Final = re.compile(r"\b(one trial|\d+ (trial|campaign)s?)\b")


class UnprovenError(ValueError):
    """A headline that names backends whose difference the statistics do not show."""


def check(text: str, pairs: Iterable[Comparison]) -> None:
    """The one place that decides whether a sentence may contrast backends.

    One that names two of them rests on pairs with a significant difference, or says in how few
    trials it was seen. Any other raises :class:`UnprovenError`.
    """
    named = names_in(text)
    sides = (side for c in pairs if c.ratio.shown for side in (c.label, c.base))
    proven = {prose(Label.parse(side).name) for side in sides}
    if len(named) > 1 and not named <= proven and not SAYS_HOW_FEW.search(text):
        raise UnprovenError(f"no significant difference between {sorted(named)}: {text}")


@dataclass(frozen=True, slots=True)
class Headline:
    """A sentence that may be quoted, without its stop, and what stands behind it."""

    text: str
    behind: str  # the interval of each number in it, and the number of blocks
    pairs: Sequence[Comparison] = ()  # what it rests on, where it names two backends
    # Over campaigns: the numbers behind it, of every label; the keys of those in the text, in its
    # order; and the text with other values for these.
    numbers: Sequence[Number] = ()
    quotes: Sequence[str] = ()
    say: Callable[[Sequence[float]], str] | None = None

    def __post_init__(self) -> None:
        check(self.text, self.pairs)


@dataclass(frozen=True)
class Answer:
    """What the records of a campaign say to a question. What is empty is not shown."""

    headline: Headline | None = None
    prose: str = ""  # Markdown: how it was measured, the cause, the command
    tables: Sequence[Table] = ()
    figures: Sequence[Figure] = ()
    compared: Sequence[Comparison] = ()  # verdicts besides those against the campaign's base
    warnings: Sequence[str] = ()  # what to know before you quote a number
    method: Sequence[str] = ()  # what the campaign says about its own method
    # Further findings: name -> headline and prose, or a paragraph of Markdown.
    details: Mapping[str, tuple[Headline, str] | str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        pairs = [*(self.headline.pairs if self.headline else ()), *self.compared]
        for figure in self.figures:
            check(figure.headline or "", pairs)

    @property
    def finding(self) -> str | None:
        """The headline in bold with its intervals, then the prose."""
        return paragraph(self.headline, self.prose) if self.headline else None

    def findings(self, question: str) -> dict[str, tuple[Headline | None, str]]:
        """All of its headlines with their prose; the first has the name of the question."""
        first = {question: (self.headline, self.prose)} if self.headline else {}
        details = {n: (None, it) if isinstance(it, str) else it for n, it in self.details.items()}
        return {**first, **details}


def paragraph(headline: Headline | None, prose: str) -> str:
    """A finding: the headline in bold, what stands behind it, and the prose."""
    return f"**{headline.text}** ({headline.behind}). {prose}".strip() if headline else prose


def numbers(measured: Measured, *keys: str) -> list[Number]:
    """These measures of every label, to be combined over campaigns."""
    return [
        Number(
            f"{key}/{label}",
            f"{label}: {measure.what}",
            measure.unit.symbol,
            spread,
            stalls=measure.unit is WAIT,
        )
        for key in keys
        for measure in [measured.measures[key]]
        for label in measured.values
        if (spread := measured.spread(label, key))
    ]


def of_ratio(compared: Comparison, what: str) -> list[Number]:
    """The ratio of a comparison, to be combined over campaigns; none where it means nothing."""
    spread = None if compared.ratio.verdict == OTHER_WORK else compared.ratio.spread
    key, words = ratio_key(compared), f"{compared.label} ÷ {compared.base}: {what}"
    return [Number(key, words, "×", spread)] if spread else []


def ratio_key(compared: Comparison) -> str:
    return f"{compared.metric.name}/{compared.point}/{compared.label}/{compared.base}"


RANGES: Final = "Ranges: lowest to highest block."


def bars(
    measured: Measured,
    head: Headline | None,
    name: str,
    title: str,
    subtitle: str,
    panels: Mapping[str, Sequence[str]],
    pair: tuple[str, str] = ("", ""),
    *,
    notes: Sequence[str] = (RANGES,),
    hollow: Collection[str] = (),
) -> Figure:
    """A chart of bars with their ranges: axis -> its measures, one bar for each or two.

    ``pair`` says what the first of two bars is, which is faint, and what the other. The number of
    blocks that are drawn is added to the subtitle. Without any it has no panel: nobody draws it.
    """
    hollow = [label for label in hollow if label in measured.values]
    blocks = measured.blocks([key for keys in panels.values() for key in keys])
    what = averaged(blocks, measured.average(key for keys in panels.values() for key in keys))
    what = f" {capital(what)}" if subtitle.endswith(".") else f"; {what}"
    return Figure(
        name=name,
        title=title,
        headline=head.text if head else None,
        subtitle=f"{subtitle}{what}",
        data=Bars(
            [measured.panel(axis, *keys, hollow=hollow) for axis, keys in panels.items() if blocks],
            *pair,
        ),
        notes=(*notes, *[BY_LOAD] * bool(hollow), *measured.notes),
    )


def forest(
    axis: str, labels: Iterable[str], ratios: Mapping[str, Ratio], floor: float | None
) -> Panel:
    """Marks of ratios with their intervals and blocks, over the noise floor if it is theirs."""
    shown = {label: ratios.get(label) for label in labels}
    return Panel(
        axis,
        {label: [ratio.spread if ratio else None] for label, ratio in shown.items()},
        TIMES,
        dots=True,
        around=floor or 0.0,
        said={label: cells.beside(ratio) for label, ratio in shown.items() if ratio},
        samples={label: [ratio.per_block] for label, ratio in shown.items() if ratio},
    )


def intervals(ratios: Iterable[Ratio], drawn: str = "; lines") -> str:
    """What lines or bars of ratios are, if one has any: ``; lines: 95 % intervals``."""
    return f"{drawn}: {AT_LEVEL} intervals" * any(ratio.low is not None for ratio in ratios)


class Question(Protocol):
    """A module of this package."""

    NAME: str
    """On the command line, in records, in names of files: ``churn``."""

    ASKS: str
    """``What does a new connection cost?``"""

    def answer(self, analysis: Analysis, /) -> Answer | None:
        """None where the campaign did not measure it."""


@runtime_checkable
class Across(Protocol):
    """A question that a campaign across interpreters answers too; no other mixes them."""

    ACROSS: bool


@runtime_checkable
class Compares(Protocol):
    """A question that compares backends by a metric, besides each of them with the base."""

    def pairs(self, records: Records, metric: Metric, /) -> Iterable[Pair]:
        """What it compares. The pairs of all questions are corrected as one family."""


def of_models(
    measured: Measured,
    key: str,
    costs: str,
    remedies: Sequence[str] = (),
    compared: Sequence[Comparison] | None = None,
) -> Headline | None:
    """The model with the most, and what has the least, if they differ: a model or what helps one.

    Of every two that can be compared, those that differ most; the correction is for all of them,
    because the two were chosen among them. ``compared`` is for a quantity with A/A pairs, from its
    family. With fewer than five blocks the sentence says how few, and has no interval: then two
    differ if their trials do not overlap.
    """
    if key not in measured.measures:
        return None
    words = measured.measures[key].unit.words
    two = [*combinations(measured.with_(key, (*MODELS, *remedies)), 2)]
    if compared is None:
        compared = measured.compared(key, two)
    pairs = [c for c in map(upright, compared) if c.label in MODELS]
    pair = strongest_of(pairs or compared)
    if pair is None:
        return None

    def say(values: Sequence[float]) -> str:
        most, least = (words(value) if value > 0 else "about nothing" for value in values)
        return f"{costs} {most} with {prose(pair.label)} and {least} with {prose(pair.base)}"

    every = numbers(measured, key)
    quotes = [f"{key}/{pair.label}", f"{key}/{pair.base}"]
    blocks = plural(pair.ratio.blocks, "block")
    alike = words(pair.averages[0]) == words(pair.averages[1])
    if (only := few(pair.ratio.blocks)) and apart(pair) and not alike:
        return Headline(f"{say(pair.averages)}{only}", "no interval", (), every, quotes, say)
    if pair.ratio.shown:
        # As drawn: of all its blocks, though the two are compared in those that both have.
        text = say([measured.value(side, key) for side in (pair.label, pair.base)])
        ranges = [from_to(lambda x, _: words(x), min(side), max(side)) for side in pair.paired]
        floor = "beyond the noise floor" if ABOVE in pair.ratio.reason else UNPAIRED
        tested = f"tested among {plural(pair.family, 'pair')}, {floor}"
        both = f"{' and '.join(ranges)}: lowest and highest of {blocks}"
        return Headline(text, f"{both}; {tested}", [pair], every, quotes, say)
    behind = pair.ratio.reason if only else f"{pair.ratio.reason}, {blocks}"
    if len(pairs) == len(two) and all(c.ratio.verdict == EQUIVALENT for c in pairs):
        return Headline(f"{costs} about as much with every model", behind, numbers=every)
    among = [c for c in pairs if c.base in MODELS]  # what helps one is none of the models
    if not among:
        return None
    least, most = min(c.averages[1] for c in among), max(c.averages[0] for c in among)
    ends = " to ".join(dict.fromkeys([words(least), words(most)]))
    # A model that was compared with none, as it had more processors, is in none of these numbers.
    judged = {label for c in among for label in (c.label, c.base)}
    left_out = [label for label in measured.with_(key, MODELS) if label not in judged]
    whom = "some of the models" if left_out else "the models"
    if len(left_out) == 1:
        whom = f"all models but {prose(left_out[0])}"
    text = f"{costs} {ends} with {whom}; no difference is shown"
    return Headline(text, behind, numbers=every)


def upright(compared: Comparison) -> Comparison:
    """The comparison with the larger side as its label."""
    return compared if compared.averages[0] >= compared.averages[1] else compared.inverse


def apart(compared: Comparison) -> bool:
    """Whether each of few trials of the label has more than any of the base; one always has."""
    label, base = compared.paired
    return min(label) > max(base) or len(label) == 1


def strongest_of(compared: Iterable[Comparison]) -> Comparison | None:
    """The two that differ most: those that are shown to first. Their correction is for all."""
    tested = [upright(c) for c in compared if c.ratio.blocks]

    def size(c: Comparison) -> tuple[bool, bool, float]:
        few_apart = c.ratio.blocks < MIN_BLOCKS and apart(c)
        return c.ratio.shown, few_apart, c.averages[0] - c.averages[1]

    return max(tested, key=size, default=None)


def every_two(point: str) -> list[Pair]:
    return [(point, base, label) for base, label in combinations(MODELS, 2)]


def contrast(compared: Comparison, verb: str, what: str, less: str = "less") -> Headline | None:
    """``Threads need 2.4 times as much processor time per page as callbacks``.

    None where the difference is not significant.
    """
    if not compared.ratio.shown or compared.ratio.low is None:
        return None
    ratio = compared.ratio

    def say(values: Sequence[float]) -> str:
        other = replace(compared, ratio=replace(ratio, value=values[0]))
        return sentence(f"{says(compared.label, verb)} {difference(other, what, less)}")

    return Headline(
        say([ratio.value or 1.0]),
        basis(compared),
        [compared],
        of_ratio(compared, what),
        [ratio_key(compared)],
        say,
    )


def stated(
    compared: Iterable[Comparison],
    drawn: Mapping[str, float],
    say: Callable[[Comparison], str],
) -> Headline | None:
    """The largest difference that is shown between two models, as the two values of a picture.

    ``drawn`` has what the picture shows. A base that it does not show, because it was measured
    beside a server that slept, is in no title.
    """
    drawn_pairs = (
        c
        for c in compared
        if {c.label, c.base} <= drawn.keys() & {*MODELS}
        and np.allclose(c.averages, (drawn[c.label], drawn[c.base]), rtol=0.005, atol=0)
    )
    best = strongest(drawn_pairs)
    return Headline(say(best), basis(best), [best]) if best else None


def interval_of(head: Headline) -> str:
    """Whose ratio the interval is of, for a note."""
    (pair,) = head.pairs
    return f"{pair.label} against {pair.base}: {head.behind}."


def few(blocks: int) -> str:
    """How few blocks stand behind a sentence; empty where they are enough for an interval."""
    if blocks >= MIN_BLOCKS:
        return ""
    return ", in one trial" if blocks == 1 else f", in {plural(blocks, 'trial')} each"
