"""The findings of a campaign in a few sentences, for the README and for talks.

A finding is a sentence that the records support. All numbers come from the same
analysis as the charts, and only differences that the statistics show are called
differences. The four models come first; variants follow, and whole HTTP stacks,
which do more than a model, stand apart.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import log
from typing import Final

from bench.analysis import (
    crossover,
    encryption_words,
    mixed_words,
    processors,
    stats,
    timeouts_words,
)
from bench.analysis.analysis import Analysis
from bench.analysis.ladder import STACK
from bench.analysis.releases import Releases
from bench.analysis.stats import Comparison, Metric
from bench.analysis.wording import against, change, interval, prose, says
from bench.plan.cast import FREE, MAPPED
from bench.plan.labels import Label
from bench.plan.workloads import mean_delay_s
from bench.questions import answers, receive
from bench.text import KIB, capital, count, listing, plural, significant
from crawlers.registry import MODELS

NAME: Final = "findings"
"""The generated part of a Markdown file that holds the findings."""

HEADLINE: Final = re.compile(r"\*\*(.+?)\*\*")
HEADLINES: Final = "headlines"
"""The one that holds only the first, bold words of each."""


@dataclass(frozen=True, slots=True)
class Question:
    """What a finding compares, and the words for it: "threads *fetch* 35 % *fewer* …"."""

    point: str
    where: str
    metric: Metric
    verb: str
    less: str
    what: str


QUESTIONS: Final = (
    Question(
        "fetch-100",
        "A list of pages without links, at 100 slots",
        stats.CPU_PER_1000,
        "need",
        "less",
        "processor time per fetched page",
    ),
    Question(
        "throughput-100",
        "A crawl, at 100 slots",
        stats.CPU_PER_1000,
        "need",
        "less",
        "processor time per crawled page",
    ),
    Question(
        "throughput-100",
        "A crawl, at 100 slots",
        stats.PAGES_PER_S,
        "crawl",
        "fewer",
        "pages per second",
    ),
)
WAITING: Final = tuple(
    Question(
        f"waiting-{slots}",
        f"at {count(slots)} slots",
        stats.PAGES_PER_S,
        "fetch",
        "fewer",
        "pages per second",
    )
    for slots in (100, 1000)
)
"""One finding about a slow server answers both: where the delay sets the rate, and where not."""
ACROSS: Final = {
    stats.CPU_PER_1000: "Processor time per page",
    stats.USER_PER_CONNECTION: "User memory per connection",
}
"""What a step from one interpreter to the next is measured by."""


def findings(analysis: Analysis) -> list[str]:
    """The findings that the records support, each one or two sentences of Markdown."""
    found: list[str | None]
    if analysis.releases:
        found = [*_steps(analysis.releases), *analysis.releases.lines]
    else:
        pairs = (answer(analysis, question) for question in QUESTIONS)
        held = encryption_words.memory(analysis)
        asked = {question.NAME: one.finding for question, one in answers(analysis)}
        found = [asked.pop(receive.NAME, None)]
        found += [memory(analysis), held, *pairs, waiting(analysis)]
        found += [crossover.finding(analysis.crossover), *asked.values()]
        found += [timeouts_words.finding(analysis)]
        found += [mixed_words.finding(analysis.mixed)]
    found += [processors.finding(analysis.processors), trust(analysis)]
    return [sentence for sentence in found if sentence]


def markdown(analysis: Analysis) -> str:
    """The findings as a list, with the campaign they come from."""
    return _listed(analysis, findings(analysis), "; 95 % intervals are in parentheses")


def headlines(analysis: Analysis) -> str:
    """The findings' first, bold words as a list, with the campaign they come from."""
    bold = [found[1] for each in findings(analysis) if (found := HEADLINE.match(each))]
    return _listed(analysis, [f"{each.removesuffix('.')}." for each in bold])


def _listed(analysis: Analysis, sentences: Iterable[str], further: str = "") -> str:
    campaign, machine = analysis.campaign, analysis.campaign.environment
    python, base = f", {machine.python}", f"`{campaign.base}`"
    if campaign.interpreters:
        python, base = "", "the interpreter before the arrow"
    elif FREE in analysis.labels and analysis.places is None:
        further += "; threads had one processor, as every client here, and cost more on several"
    return "\n".join(
        [
            *(f"- {sentence}" for sentence in sentences),
            f"\nCampaign `{campaign.campaign}`, profile {campaign.profile}, on "
            f"{machine.cpu_model or 'an unknown processor'} ({machine.cpu_count} processors)"
            f"{python}. Every difference is to {base}{further}.",
        ]
    )


def memory(analysis: Analysis) -> str | None:
    """What an idle connection takes in each model, the most first."""
    costs = sorted(
        (
            (fit.total, user, label)
            for label, fit in analysis.memory.items()
            if label in MODELS
            and fit.total is not None
            and (user := fit.parts["user"].slope) is not None
        ),
        reverse=True,
    )
    if not costs:
        return None
    ends = [costs[0], costs[-1]] if len(costs) > 1 else costs
    head = listing([f"{_kib(total)} KiB with {prose(label)}" for total, _, label in ends])
    each = [f"`{label}` {total / KIB:.1f} ({user / KIB:.1f})" for total, user, label in costs]
    return (
        f"**An idle connection takes {head}.** The client's side in KiB, user space and kernel "
        f"together (user space alone): {', '.join(each)}.{_calculated(analysis, costs)}"
    )


def _calculated(analysis: Analysis, costs: Sequence[tuple[float, float, str]]) -> str:
    """How much of the totals was not read."""
    fits = analysis.memory
    found = [
        f"{_kib(fits[label].calculated_bytes)} of the {_kib(total)} KiB of "
        f"`{label}` ({listing(list(fits[label].calculated))})"
        for total, _, label in costs
        if fits[label].calculated_bytes >= KIB / 10
    ]
    return f" Calculated from the number of threads, not read: {', '.join(found)}." * bool(found)


def _kib(value: float) -> str:
    return significant(value / KIB, 2)


def answer(analysis: Analysis, question: Question) -> str | None:
    """Each backend against the base at one point: the models first, the others apart."""
    models = _models(analysis, question)
    if not models:
        return None
    sentences = [f"**{_headline(models, question)}{_mapped(analysis, question)}.**"]
    if any(c.ratio.shown for c in models):
        sentences.append(f"{question.where}: {_each(models, question.less)}.")
    return " ".join(
        [*sentences, *_others(analysis, question), *_other_work(analysis, question.point)]
    )


def _mapped(analysis: Analysis, question: Question) -> str:
    """async/await in the other state of malloc, where both were measured."""
    found = {c.label: c for c in analysis.compare(question.metric) if c.point == question.point}
    kept, mapped = found.get("async_await"), found.get(MAPPED[0])
    if kept is None or mapped is None or not mapped.ratio.shown:
        return ""
    much = change(_value(mapped), question.less)
    return f"; async/await {much} where malloc maps every receive"


def _other_work(analysis: Analysis, point: str) -> list[str]:
    """The models without a verdict, because malloc was in another state."""
    return [
        f"No verdict for `{c.label}`: {c.ratio.reason}."
        for c in analysis.compare(stats.CPU_PER_1000)
        if c.point == point and c.label in MODELS and c.ratio.verdict == stats.OTHER_WORK
    ]


def _models(analysis: Analysis, question: Question) -> list[Comparison]:
    """The models at the point of a question, with an interval."""
    return [
        c
        for c in analysis.compare(question.metric)
        if c.point == question.point and c.label in MODELS and c.ratio.low is not None
    ]


def _others(analysis: Analysis, question: Question) -> list[str]:
    """The variants and, apart from them, the HTTP stacks: a sentence each."""
    found = [c for c in analysis.compare(question.metric) if c.point == question.point]
    stacks = {rung.name for rung in analysis.campaign.rungs if rung.family == STACK}
    others = (
        ("Variants", [c for c in found if c.label not in MODELS and c.label not in stacks]),
        ("HTTP stacks", [c for c in found if c.label in stacks]),
    )
    return [f"{kind}: {each}." for kind, mine in others if (each := _each(mine, question.less))]


def waiting(analysis: Analysis) -> str | None:
    """A slow server at few and at many slots, with the delay as it was.

    Told together: where the delay sets the rate, no model can differ.
    """
    answered = [(q, models) for q in WAITING if (models := _models(analysis, q))]
    if not answered:
        return None
    heads, details = [], []
    for question, models in answered:
        head = _headline(models, question)
        if any(c.ratio.shown for c in models):
            where = capital(question.where)
            head = f"{question.where} {head[0].lower()}{head[1:]}"
            details.append(f"{where}: {_each(models, question.less)}.")
            details += _others(analysis, question)
            details += _other_work(analysis, question.point)
        elif limited := _set_by_the_delay(analysis, question.point):
            details.append(limited)
        heads.append(head)
    text = "; ".join(heads)
    delay = _delay(analysis, answered[0][0].point)
    return " ".join([f"**{delay}, {text}.**", *details])


def _delay(analysis: Analysis, point: str) -> str:
    """``Behind a delay with a median of 50 ms (mean 57 ms)``, from the records."""
    spec = next(
        str(t.params.get("delay")) for t in stats.trials_of(analysis.records) if t.point == point
    )
    mean = 1000 * mean_delay_s(spec)
    kind, _, rest = spec.partition(":")
    if kind != "lognormal":
        return f"Behind a delay with a mean of {mean:.0f} ms"
    return f"Behind a delay with a median of {rest.partition(':')[0]} ms (mean {mean:.0f} ms)"


def _set_by_the_delay(analysis: Analysis, point: str) -> str | None:
    """Says so where slots ÷ delay limited every model, and no difference could show."""
    mine = [t for t in stats.trials_of(analysis.records) if t.point == point and t.label in MODELS]
    if stats.limiter_of(mine) != "schedule":
        return None
    slots = count(stats.number_param(mine[0], "slots") or 0)
    return f"With {slots} slots, slots ÷ delay sets the rate of every model."


def _headline(models: Sequence[Comparison], question: Question) -> str:
    """The models that differ, the largest difference first."""
    base = prose(models[0].base)
    shown = sorted((c for c in models if c.ratio.shown), key=lambda c: -abs(log(_value(c))))
    if not shown:
        where = question.where if question in WAITING else f"{question.where},"
        return f"{where} no model is shown to differ from {base} in {question.what}"
    first, *others = shown
    much = against(_value(first), question.less, question.what, base)
    head = f"{says(first.label, question.verb)} {much}"
    further = [f"{prose(c.label)} {change(_value(c), question.less)}" for c in others]
    sentence = ", ".join([head, *further])
    return capital(sentence)


def _each(comparisons: Iterable[Comparison], less: str) -> str | None:
    """Each backend's difference with its interval, the least first; then those without one."""
    shown: list[str] = []
    same: dict[float, list[str]] = {}
    others: list[str] = []
    for found in sorted(comparisons, key=_value):
        if found.ratio.low is None or found.ratio.high is None:
            continue
        name = f"`{Label.parse(found.label).name}`"
        if found.ratio.shown:
            shown.append(f"{name} {change(_value(found), less)} ({interval(found)})")
        elif found.ratio.margin is not None:
            same.setdefault(found.ratio.margin, []).append(name)
        else:
            others.append(name)
    parts = [", ".join(shown)] if shown else []
    parts += [
        f"within ±{100 * margin:.0f} %: {listing(names)}" for margin, names in sorted(same.items())
    ]
    if others:
        parts.append(f"undecided for {listing(others)}")
    return "; ".join(parts) or None


def _steps(releases: Releases) -> list[str]:
    """What each step from one interpreter to the next changed."""
    sentences = []
    for metric, what in ACROSS.items():
        found = releases.to_previous(metric).values()
        for before, name in releases.steps:
            mine = _each((c for c in found if Label.parse(c.label).interpreter == name), "less")
            sentences += [f"**{what}, {before} → {name}**: {mine}."] if mine else []
    return sentences


def _value(found: Comparison) -> float:
    return found.ratio.value or 0.0


def trust(analysis: Analysis) -> str | None:
    """How often this suite sees a difference where there is none."""
    ours, floor = analysis.aa, analysis.floor()
    if not ours.tested or floor.percent is None:
        return None
    return (
        f"**One backend compared with itself: {plural(ours.alarms, 'false alarm')} in "
        f"{ours.tested} comparisons** of {plural(ours.pairs, 'independent pair')} (noise floor "
        f"±{floor.percent:.1f} %; at most {100 * (ours.bound or 0):.0f} % of such pairs raise an "
        "alarm, by the 95 % bound)."
    )
