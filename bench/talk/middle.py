"""The slides about a page: its price, counted and timed, a slow server, and too much load."""

from __future__ import annotations

from dataclasses import replace

from bench.analysis import crossover, stats
from bench.analysis.analysis import Analysis
from bench.analysis.wording import prose
from bench.costs import chart as costs_chart
from bench.costs.report import figure
from bench.costs.tasks import FLOOR
from bench.machine.instruments import ALLOCATIONS, SYSCALLS
from bench.plan.cast import MAIN_VARIANTS
from bench.report import findings
from bench.report.charts import cpu, hockey_stick, omission, slots
from bench.report.charts.design import Design, Skip
from bench.show.words import point_words
from bench.talk.material import Material
from bench.talk.slides import Gap, TalkSlide, chart_slide
from bench.text import listing
from crawlers.registry import MODELS


def page(material: Material) -> TalkSlide | Gap:
    """Processor time per page."""
    analysis = material.analysis
    fetched, crawled, _ = findings.QUESTIONS
    said = [findings.answer(analysis, question) for question in (fetched, crawled)]
    trust = findings.trust(analysis)
    return chart_slide(
        name="page",
        kicker="The page",
        design=cpu.design(analysis),
        backends=analysis.backends,
        file="reference/charts/cpu.svg",
        notes=[
            "Now the server answers at once, so the crawler never waits: this is the price of a "
            "model when it is busy. Processor time, not pages per second, because it does not "
            "depend on how fast the server is.",
            *(text and of_models(text) for text in said),
        ],
        question="How do you know that this is not noise?",
        answer=trust
        or "This campaign has too few comparisons of a backend with itself to say. The full "
        "profile has enough of them.",
        sources=[material.campaign],
    )


def of_models(finding: str) -> str:
    """A finding as far as it is about the models: what a speaker can say in one breath."""
    return finding.partition(" Variants: ")[0].partition(" HTTP stacks: ")[0]


def counted(material: Material) -> TalkSlide | Gap:
    """Instructions, which no busy neighbour changes."""
    if material.costs is None:
        return Gap("counted", "The page, counted", "no costs.jsonl beside the campaign")
    shown = [a for a in material.accounts if a.backend in (FLOOR, *MODELS, *MAIN_VARIANTS)]
    return chart_slide(
        name="counted",
        kicker="The page, counted",
        design=_spoken(costs_chart.design(material.costs, shown)),
        backends=list(dict.fromkeys(each.backend for each in shown)),
        file="costs/charts/costs.svg",
        notes=[
            "The same page, counted and not timed. For a single-threaded model a busy machine "
            "hardly changes these numbers, so a CI can watch them.",
            *_calls(material),
        ],
        question="Are instructions not a poor measure of speed?",
        answer="Yes, and they are no speed. Caches, branches and the kernel are not in them. They "
        "answer another question: how much work does a model add? Where count and time disagree, "
        "look for the reason in the kernel or in memory; docs/findings.md has such reasons.",
        sources=material.counted,
    )


def _spoken(design: Design | Skip) -> Design | Skip:
    """The design, with its backends named as people say them."""
    if isinstance(design, Skip) or design.finding is None:
        return design
    return replace(design, finding=prose(design.finding))


def _calls(material: Material) -> list[str]:
    """System calls and allocations of the models, where they were counted."""
    told = []
    for workload in costs_chart.HEADS:
        mine = [a for a in material.accounts if a.workload == workload and a.backend in MODELS]
        for key, what in ((SYSCALLS, "system calls"), (ALLOCATIONS, "allocations")):
            each = [f"`{a.backend}` {figure(a.costs[key].middle)}" for a in mine if key in a.costs]
            told += [f"{what} of {workload}: {listing(each)}"] if each else []
    return [f"Per page, {'; '.join(told)}."] if told else []


def wait(material: Material) -> TalkSlide | Gap:
    """A slow server: where the delay sets the rate, and where it does not."""
    analysis = material.analysis
    said = [findings.waiting(analysis), crossover.finding(analysis.crossover)]
    held = findings.memory(analysis)
    return chart_slide(
        name="wait",
        kicker="The wait",
        design=slots.waiting(analysis),
        backends=analysis.backends,
        file="reference/charts/waiting.svg",
        notes=[
            "Now the server is as slow as servers are. The rate is the number of slots divided by "
            "the delay, whatever waits. This is why many programs with threads are fine.",
            *(text and of_models(text) for text in said),
        ],
        question="Then why not always threads?",
        answer="With few connections to slow servers, use what you can read. With many, the memory "
        f"of each decides. {held or 'This campaign did not measure it.'}",
        sources=[material.campaign],
        title=_alike(analysis),
    )


def _alike(analysis: Analysis) -> str | None:
    """The title where the models are compared at the reference point, and none differs."""
    point = analysis.reference_point("waiting")
    found = [
        c
        for c in analysis.compare(stats.PAGES_PER_S)
        if c.point == point and c.label in MODELS and c.ratio.low is not None
    ]
    if not found or any(c.ratio.shown for c in found):
        return None
    trial = next(t for t in stats.trials_of(analysis.records) if t.point == point)
    base = prose(analysis.base)
    return f"Behind a slow server no model is shown to differ from {base} at {point_words(trial)}"


def overload(material: Material) -> TalkSlide | Gap:
    """Response times as the offered rate grows."""
    analysis = material.analysis
    missed = omission.design(analysis)
    return chart_slide(
        name="overload",
        kicker="Too much",
        design=hockey_stick.design(analysis),
        backends=analysis.backends,
        file="reference/charts/hockey-stick.svg",
        notes=[
            "So far the crawler set its own pace. Here requests are due on a schedule, whether it "
            "is ready or not, and a response time runs from the moment at which a request was "
            "due. Each line bends up where its model cannot keep the pace.",
        ],
        question="Why not simply measure the latency of the crawl?",
        answer="Because a crawl that is late asks late, and does not notice. That is called "
        "coordinated omission." + (f" {missed.headline}." if isinstance(missed, Design) else ""),
        sources=[material.campaign],
    )
