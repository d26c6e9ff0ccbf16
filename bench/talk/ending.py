"""The last slides: HTTPS, a million connections, a traceback, and what to choose."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from bench.analysis import encryption_words, stats
from bench.analysis.analysis import Analysis
from bench.analysis.ladder import STACK
from bench.analysis.stats import Comparison
from bench.analysis.wording import change, prose
from bench.capacity.advice import Advice
from bench.capacity.advice import Row as Advised
from bench.exhibits import sidebyside
from bench.fleet.charts import ramp
from bench.fleet.report import largest
from bench.fleet.sentence import BUDGET, per_connection, sentence
from bench.fleet.store import FleetRecords
from bench.questions import finding, tls
from bench.report import findings
from bench.report.charts import tls_memory
from bench.report.charts.design import Skip
from bench.report.findings import Question
from bench.show.words import point_words
from bench.talk import sizes
from bench.talk.material import Material
from bench.talk.middle import of_models
from bench.talk.opening import DIGITS, measured_parts
from bench.talk.slides import Code, Gap, Grid, TalkSlide, chart_slide
from bench.text import GIB, capital, count, duration, listing, plural, size_words
from crawlers.registry import MODELS

SHOWN: Final = ("callbacks", "async_await")
"""The tracebacks on the slide."""
MILLION: Final = 10**6


def https(material: Material) -> TalkSlide | Gap:
    """Memory per connection over TLS."""
    analysis = material.analysis
    said = [encryption_words.memory(analysis), finding(analysis, tls.NAME)]
    question, answer = _asked(analysis)
    return chart_slide(
        name="https",
        kicker="HTTPS turns it over" if _turned(analysis) else "HTTPS",
        design=tls_memory.design(analysis),
        backends=analysis.backends,
        file="reference/charts/tls-memory.svg",
        notes=[
            "The web of the chapter was HTTP. The web of today is not. The upper bar of each "
            "backend is the one that we know; the lower bar is the same connection over TLS.",
            *said,
        ],
        question=question,
        answer=answer,
        sources=[material.campaign],
    )


def _asked(analysis: Analysis) -> tuple[str, str]:
    """About the buffer where it shows, otherwise about handshakes."""
    if not encryption_words.buffer_shown(analysis):
        pages = finding(analysis, tls.NAME)
        return (
            "Is the handshake not the expensive part?",
            pages or "This campaign did not measure pages over TLS; the full profile does.",
        )
    answer = (
        "The buffer belongs to asyncio’s TLS, not to coroutines. It is no setting, so a program "
        "has to replace a private attribute, or use another loop."
    )
    held = analysis.encryption
    stream, small = held.of(encryption_words.STREAMS), held.of(encryption_words.SMALL)
    if stream and small:
        answer += (
            f" With a small buffer a connection takes {size_words(small.total, DIGITS)} in place "
            f"of {size_words(stream.total, DIGITS)}."
        )
    return "Can asyncio be told to use less?", answer


def _turned(analysis: Analysis) -> bool:
    """Whether the model that takes most over TLS takes less than another on plain HTTP."""
    rows = [row for row in tls_memory.charted(analysis) if row.label in MODELS]
    rows = [row for row in rows if row.plain_total is not None]
    if not rows:
        return False
    most = max(rows, key=lambda row: row.total)
    return any((row.plain_total or 0.0) > (most.plain_total or 0.0) for row in rows)


def million(material: Material) -> TalkSlide | Gap:
    """As many connections as a machine holds."""
    if material.fleet is None:
        return Gap("million", "A million", "no fleet was named: add --fleet results/FLEET")
    records = material.fleet
    design = ramp.design(records)
    if isinstance(design, Skip):
        return Gap("million", "A million", design.reason)
    top = max(trial.connections for trial in ramp.summits(records).values())
    environment = records.fleet.environment
    most = list(largest(records.ok("hold")).values())
    return chart_slide(
        name="million",
        kicker="A million" if top >= MILLION else "Many at once",
        design=design,
        backends=list(dict.fromkeys(trial.backend for trial in records.trials)),
        file="fleet/charts/fleet-ramp.svg",
        notes=[
            "One process has too few descriptors and ports for this, so many processes hold a "
            "part each, and the servers count.",
            *(f"{capital(prose(sentence(trial)))}." for trial in most),
            *_refused(records),
        ],
        question="On how large a cluster?",
        answer=f"On {plural(len({h.machine for h in records.fleet.hosts}), 'machine')} with "
        f"{plural(environment.cpu_count, 'processor')} and "
        f"{environment.memory_total_bytes / GIB:.0f} GiB, clients and servers together."
        + _budget(records),
        sources=material.held,
    )


def _refused(records: FleetRecords) -> list[str]:
    """What did not fit, and why."""
    return [f"{capital(sentence(trial))}." for trial in records.trials if trial.status == "refused"]


def _budget(records: FleetRecords) -> str:
    """What a connection takes at both ends, where the kernel's part was measured."""
    parts = tuple(name for _, names in BUDGET for name in names)
    told = []
    for trial in largest(records.ok("hold")).values():
        each = per_connection(trial, parts)
        if each is not None:
            told.append(f"{prose(trial.told)} {size_words(each, DIGITS)}")
    return f" A connection with both its ends takes: {listing(told)}." if told else ""


def traceback(material: Material) -> TalkSlide:
    """What an error shows of the way to it."""
    ripped = {one.model: one for one in material.ripped}
    shown = [[sidebyside.traceback_cell(ripped[model])] for model in SHOWN]
    callers = {model: one.callers for model, one in ripped.items()}
    lost = [prose(model) for model, left in callers.items() if left < max(callers.values())]
    each = listing([f"`{model}` {left}" for model, left in callers.items()])
    return TalkSlide(
        name="traceback",
        kicker="The price on no chart",
        title=f"After an error, {listing(lost)} no longer know who asked for the page"
        if lost
        else "After an error, every model still knows who asked for the page",
        body=Code(
            shown,
            sizes.largest(shown),
            "The same parse error. Marked: frames that know which page was fetched.",
            page="stack-ripping.md",
        ),
        notes=[
            "One page has a status line that is no HTTP, and the parser’s error is let through. "
            "This is what Python prints. The chapter calls it stack ripping.",
            f"Callers of the slot that are left in the traceback: {each}.",
            "What is cheap to run may be expensive to keep. No chart shows this.",
        ],
        question="Does a debugger not show it?",
        answer=f"A breakpoint stops in `{ripped[SHOWN[0]].breakpoint.function}`. Above it is the "
        "loop, as in the traceback. What led there is in fields, if the author put it there.",
        sources=["raised in a crawl by the models of this version"],
    )


def choice(material: Material) -> TalkSlide | Gap:
    """What each of the slides said, as a table of what you have and what it takes."""
    analysis = material.analysis
    rows = [row for row in _choices(material) if row]
    if not rows:
        return Gap("choice", "What to choose", "this campaign compares no two models")
    per_page = findings.answer(analysis, findings.QUESTIONS[0])
    return TalkSlide(
        name="choice",
        kicker="What to choose",
        title="What to choose depends on what you have much of",
        body=Grid(
            "The ends of what this campaign shows; no difference is named that it does not show.",
            ["if this matters", "best", "worst"],
            rows,
            strong=1,
        ),
        notes=[
            "Read the table by rows. Nobody has all of its rows: first find out which of them is "
            "yours. Most programs wait for few slow servers, and may choose what reads best.",
            *_advised(material.advice),
            "If a row is yours, and its ends are far apart, this is a reason. If no difference is "
            "shown, it is none.",
        ],
        question="I use asyncio already. Should I leave?",
        answer="Not for a page that you wait for. "
        + (f"{of_models(per_page)} " if per_page else "")
        + "Describe your load to `python -m bench advise`: it calculates what each backend needs. "
        "Or measure your own case: `nox -s bench`, and then "
        "`python -m bench talk results/CAMPAIGN` makes these slides with your numbers.",
        sources=[material.campaign],
    )


Row = list[str] | None


def _choices(material: Material) -> list[Row]:
    analysis = material.analysis
    fetched, crawled, _ = findings.QUESTIONS
    plain = {
        label: sum(parts.values())
        for label, fit in analysis.memory.items()
        if label in MODELS and (parts := measured_parts(fit))
    }
    tls = {r.label: r.total for r in tls_memory.charted(analysis) if r.label in MODELS}
    return [
        _extremes("memory of an idle connection", plain),
        _extremes("the same, over TLS", tls),
        _program(material.advice),
        _compared(analysis, "processor time, pages without links", fetched),
        _compared(analysis, "processor time, pages with links", crawled),
        *(_compared(analysis, None, question) for question in findings.WAITING),
        _stacks(analysis, fetched),
        _callers(material),
    ]


def _program(advice: Advice | None) -> Row:
    """The models with the least and the most memory for a program with connections as above."""
    rows = _carrying(advice)
    if advice is None or len(rows) < 2:
        return None
    ordered = sorted(rows, key=_memory)
    ends = ordered[0], ordered[-1]
    return [
        f"memory of a program with {count(advice.need.connections)} of them",
        *(f"{prose(row.name)}: {size_words(_memory(row), DIGITS)}" for row in ends),
    ]


def _advised(advice: Advice | None) -> list[str]:
    """What the advice is for, what it comes to, and who is left out."""
    rows = _carrying(advice)
    if advice is None or len(rows) < 2:
        return []
    need = advice.need
    work = f" and {duration(1e3 * need.work_s)} of work for each" if need.work_s else ""
    each = [f"`{r.name}` {_processes(r)}, {size_words(_memory(r), DIGITS)}" for r in rows]
    left = [
        f"`{row.name}` is left out: {row.reason[:1].lower()}{row.reason[1:]}"
        for row in advice.rows
        if row not in rows
    ]
    return [
        "The memory of a program is calculated by `python -m bench advise`, for "
        f"{plural(need.connections, 'connection')}{' over TLS' if need.tls else ''}, "
        f"{count(need.rate or 0)} pages per second behind {duration(1e3 * need.delay_s)}{work}: "
        f"{listing(each)}. {' '.join(left)}".rstrip()
    ]


def _carrying(advice: Advice | None) -> list[Advised]:
    """The models that carry the load, and whose memory is known."""
    rows = advice.rows if advice else ()
    return [row for row in rows if row.can == "yes" and row.user_bytes is not None]


def _processes(row: Advised) -> str:
    found = row.processes or 0
    return f"{count(found)} process{'' if found == 1 else 'es'}"


def _memory(row: Advised) -> float:
    return (row.user_bytes or 0.0) + (row.kernel_bytes or 0.0)


def _extremes(what: str, sizes: Mapping[str, float]) -> Row:
    """The models with the least and the most memory."""
    if len(sizes) < 2:
        return None
    low, high = (pick(sizes, key=lambda label: sizes[label]) for pick in (min, max))
    return [what, *(f"{prose(label)}: {size_words(sizes[label], DIGITS)}" for label in (low, high))]


def _compared(analysis: Analysis, what: str | None, question: Question) -> Row:
    """The models at a point: those at the ends that are shown to differ from the base."""
    found = [
        c
        for c in analysis.compare(question.metric)
        if c.point == question.point and c.label in MODELS and c.ratio.low is not None
    ]
    if not found:
        return None
    trial = next(t for t in stats.trials_of(analysis.records) if t.point == question.point)
    what = what or f"{question.what}, slow server, {point_words(trial)}"
    shown = [c for c in found if c.ratio.shown]
    if not shown:
        return [what, "no difference shown", "no difference shown"]
    base = found[0].base
    ends: dict[str, float] = {base: 1.0, **{c.label: _value(c) for c in shown}}
    ordered = sorted(ends, key=lambda label: ends[label], reverse=question.less == "fewer")
    return [
        what,
        *(_told(label, ends[label], base, question) for label in ordered[:: len(ends) - 1]),
    ]


def _told(label: str, value: float, base: str, question: Question) -> str:
    if label == base:
        return prose(label)
    return f"{prose(label)}: {change(value, question.less)}"


def _value(found: Comparison) -> float:
    return found.ratio.value or 1.0


def _stacks(analysis: Analysis, question: Question) -> Row:
    """Whole HTTP stacks, which do more than a model."""
    names = {rung.name for rung in analysis.campaign.rungs if rung.family == STACK}
    found = {
        c.label: _value(c)
        for c in analysis.compare(question.metric)
        if c.point == question.point and c.label in names and c.ratio.shown
    }
    if not found:
        return None
    low, high = (pick(found, key=lambda label: found[label]) for pick in (min, max))
    told = [_told(label, found[label], "", question) for label in (low, high)]
    what = f"processor time, a whole HTTP stack against {prose(analysis.base)}"
    return [what, told[0], told[1] if low != high else "–"]


def _callers(material: Material) -> Row:
    """Tracebacks: fewer is worse, and it is a count."""
    callers = {one.model: one.callers for one in material.ripped}
    ends = sorted(set(callers.values()))
    if len(ends) < 2:
        return None
    told = [
        f"{listing([prose(m) for m, left in callers.items() if left == end])}: {count(end)}"
        for end in (ends[-1], ends[0])
    ]
    return ["callers left in a traceback", *told]
