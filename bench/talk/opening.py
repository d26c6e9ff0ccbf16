"""The first slides: what was claimed, the crawler, what a connection takes, the claim tested."""

from __future__ import annotations

from typing import Final

from bench.analysis import stats
from bench.analysis.stats import MemoryFit
from bench.analysis.wording import prose
from bench.claims import ledger
from bench.claims.verdict import Judged
from bench.exhibits import excerpts, sidebyside
from bench.exhibits.models import all_metrics
from bench.report import findings
from bench.report.charts import memory
from bench.talk import sizes
from bench.talk.material import Material
from bench.talk.slides import Code, Gap, Grid, Quotes, TalkSlide, chart_slide
from bench.text import listing, plural, size_words
from crawlers.registry import MODELS

QUOTED: Final = ("thread-50k", "tens-of-thousands-of-threads", "coroutine-3k")
TESTED: Final = ("thread-50k", "coroutine-3k")
"""The claims of the first slide, and those whose numbers are tested later."""
TURNED: Final = "callbacks"
"""The model whose code does not read from top to bottom; it gets a column to itself."""
DIGITS: Final = 2
"""As many as in headlines, so that one number is not said in two ways."""


def claim(material: Material) -> TalkSlide:
    """What the chapter said of the memory of threads and coroutines."""
    quoted = [material.verdicts[name].claim for name in QUOTED]
    thread, coroutine = (_stated(material, name) for name in TESTED)
    first = quoted[0]
    return TalkSlide(
        name="claim",
        kicker="The claim",
        title=f"{first.date}: a thread costs {thread}, a coroutine {coroutine}",
        body=Quotes([one.sentence for one in quoted], first.source, first.url),
        notes=[
            "A chapter of “500 Lines or Less” builds a web crawler step by step: with threads, "
            "with callbacks, with generators, with coroutines. Its reason to leave threads is "
            "what a connection costs in memory.",
            f"The numbers were measured {first.conditions}. Nobody can check them on that system "
            "today. We can build the same crawler again and measure each model on one machine.",
        ],
        question="Why a crawler, and not an echo server?",
        answer="A crawler waits a lot and computes little, so it shows what waiting costs. It "
        "also does what programs really do: it parses, keeps a list of what to fetch, retries, "
        "and stops. An echo server has no page that could be wrong. Here every trial is checked: "
        "a trial whose pages differ from the site’s does not count.",
        sources=[f"{first.source}, {first.date}"],
    )


def _stated(material: Material, name: str) -> str:
    """The number that a claim gives: ``50 KiB``."""
    return ledger.all_stated(material.verdicts[name])


def code(material: Material) -> TalkSlide:
    """Where each model waits for an answer."""
    cells = {m: sidebyside.code_cell(m, excerpts.receiving(m)) for m in MODELS}
    columns = [[cells[m] for m in MODELS if m != TURNED], [cells[TURNED]]]
    counts = all_metrics()
    lines = listing([f"{prose(m)} {found.code_lines}" for m, found in counts.items()])
    turned, threads = counts[TURNED], counts["threads"]
    trials = material.analysis.records.trials
    usable = sum(trial.status == "ok" for trial in trials)
    return TalkSlide(
        name="code",
        kicker="The crawler",
        title="One crawler, written four times: only the waiting differs",
        body=Code(
            columns,
            sizes.largest(columns),
            "The lines that receive an answer. Marked: where the program waits.",
        ),
        notes=[
            "On the left the answer is received in a loop. A thread blocks in `recv`. A generator "
            "says `yield from`, a coroutine `await`. Otherwise the lines are the same.",
            f"On the right there is no loop to see. The function ends, and the event loop calls it "
            f"again when there is something to read. {prose(TURNED).capitalize()} leave the next "
            f"step to the loop in {plural(turned.hand_overs, 'place')} and carry "
            f"{plural(turned.state, 'field')} from step to step; a thread carries "
            f"{threads.state}.",
            f"Lines of code, without comments: {lines}.",
        ],
        question="Are these four equally well written?",
        answer="The files have the same sections in the same order, with the same names, so a "
        "diff between two of them shows only the model. HTTP, links and the list of URLs are "
        f"shared. Of the {plural(len(trials), 'trial')} of this campaign, {usable:,} gave every "
        "page right, and each page once. If you can write one of them better, send a patch.",
        sources=["counted in the model files of this version", material.campaign],
    )


def connection(material: Material) -> TalkSlide | Gap:
    """What an idle connection takes, by owner."""
    analysis = material.analysis
    said = findings.memory(analysis)
    return chart_slide(
        name="connection",
        kicker="The connection",
        design=memory.design(analysis),
        backends=analysis.backends,
        file="reference/charts/memory.svg",
        notes=[
            "The server holds back its answers until all connections are open. Then the memory is "
            "read from outside the process. The kernel’s part counts too: stacks, page tables, "
            "sockets.",
            said,
        ],
        question="Does a thread not take megabytes, for its stack?",
        answer=_stack(analysis.memory.get("threads")),
        sources=[material.campaign],
    )


def _stack(fit: MemoryFit | None) -> str:
    """What a thread's stack takes in truth, where it was measured."""
    text = (
        "A stack is only address space until it is touched, and an idle thread touches a few pages."
    )
    if fit is None:
        return text
    parts = {name: value for name, value in measured_parts(fit).items() if value > 0}
    told = [f"{name} {size_words(value, DIGITS)}" for name, value in parts.items()]
    return f"{text} Per connection of a thread: {listing(told)}." if told else text


def measured_parts(fit: MemoryFit) -> dict[str, float]:
    """Bytes per connection by part: slopes, or at the largest number of connections."""
    fitted = any(part.slope is not None for part in fit.parts.values())
    found = {
        name: fit.parts[name].slope if fitted else fit.at_highest[name]
        for name in stats.MEMORY_PARTS
    }
    return {name: max(value, 0.0) for name, value in found.items() if value is not None}


WORDS: Final = {"inside": "holds here", "outside": "does not", "undecided": "undecided"}


def tested(material: Material) -> TalkSlide | Gap:
    """The two numbers of the chapter, read in every way that was measured."""
    found = [(name, one) for name in TESTED for one in material.judged(name)]
    if not found:
        return Gap("tested", "The claim, tested", "no reading of the claims has a number")
    inside = sum(one.position == "inside" for _, one in found)
    rows, last = [], ""
    for name, one in found:
        title = material.verdicts[name].claim.title
        rows.append([title if title != last else "", *_reading(one)])
        last = title
    verdicts = [material.verdicts[name] for name in dict.fromkeys(name for name, _ in found)]
    return TalkSlide(
        name="tested",
        kicker="The claim, tested",
        title=f"Both numbers measured again: {inside} of {plural(len(found), 'reading')} "
        f"{'holds' if inside == 1 else 'hold'}",
        body=Grid(
            "In brackets: the interval, or the range of the repeats.",
            ["the chapter", "if", "then", "now", "verdict"],
            rows,
            strong=4,
        ),
        notes=[
            "A sentence such as “costs around fifty kilobytes” has more than one reading. Does "
            "the kernel’s memory count? Is a coroutine alone, or with its socket and buffers? "
            "Each reading has its own experiment, and bounds that were written down first.",
            *(f"**{one.claim.title}**: {one.words}." for one in verdicts),
        ],
        question="So was the chapter wrong?",
        answer="It was measured on another system, with another Python, and it does not say "
        "whether the kernel counts. Its argument is the order more than the numbers: "
        + _order(material)
        + " All other claims that we tested are in docs/claims.md.",
        sources=[material.campaign, *material.experiments],
    )


def _reading(one: Judged) -> list[str]:
    return [
        one.reading.meant.removeprefix("it is "),
        ledger.stated(one),
        ledger.now(one),
        WORDS[one.position],
    ]


def _order(material: Material) -> str:
    """Which model's connection takes more, in a sentence."""
    sums = {
        label: sum(measured_parts(fit).values())
        for label, fit in material.analysis.memory.items()
        if label in MODELS
    }
    if not sums:
        return "nothing here compares a thread and a coroutine with their connections."
    ordered = sorted(sums, key=lambda label: -sums[label])
    told = [f"{prose(label)} {size_words(sums[label], DIGITS)}" for label in ordered]
    return f"here a connection takes, the most first, {listing(told)}."
