"""The ledger as a Markdown page and as a table on the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

from bench.claims import records
from bench.claims.definition import TOPICS, Claim, Topic, bounds_words
from bench.claims.readings import Evidence, Missing, Number
from bench.claims.verdict import Judged, Position, Ruling, Verdict
from bench.schema import Environment

POSITIONS: dict[Position, tuple[str, str]] = {
    "inside": ("reproduced", "green"),
    "outside": ("not reproduced", "red"),
    "undecided": ("undecided", "yellow"),
    "missing": ("not tested", "dim"),
}
UNJUDGED: frozenset[Ruling] = frozenset({"cannot be tested here", "not tried"})
"""Rulings whose reasons are long, and stand with the claim."""
TODAY: Final[Topic] = "today"
WHOSE: Final = {"author": "its author's, or the closest", "suite": "ours"}
OWNERS: Final = {"author": "its author's experiment", "suite": "another experiment"}
HEAD = """\
# Claims, then and now

<!-- Made by `{command}`: do not edit. A claim is a file in bench/claims/sentences/. -->

Well-known claims about Python concurrency, tested on one current machine. Every number and
verdict is computed from the records of campaigns and of small experiments; none is written by
hand. Most claims were made about other systems, so they are paraphrased here with their
conditions, and a link to the place. Where an author made an experiment, that experiment or the
closest one is the first reading, and a crawl the second.

A claim is **reproduced here** if the whole interval of the measurement lies within the bounds given
for the claim, and **not reproduced here** if it lies outside. Both say something of this machine
and these versions, not of the author's. What needs a system or a CPython that cannot be had here is
**not tried**. Intervals are 95 %, or the whole range where values may be 0.
"""
FOOT = """\
## Add a claim

Add one file to `bench/claims/sentences/`: the claim, its source, date and conditions, how it is
measured, and one or more readings, each with the bounds within which the claim counts as true. A
reading takes its number from a campaign (`kind` is `ratio`, `memory` or `barrier`) or from an
experiment in `bench/claims/experiments/`. Then run `{command}` to rebuild this page.
"""


def figure(value: float) -> str:
    """A number with three digits: 0.85, 21.1, 30,000."""
    if value == inf:
        return "∞"
    return f"{value:,.0f}" if abs(value) >= 999.5 else f"{value:.3g}"


def stated(judged: Judged) -> str:
    """The number that was given."""
    then = judged.reading.then_range
    if then is None:
        return "–"
    return f"{'–'.join(figure(v) for v in dict.fromkeys(then))} {judged.reading.unit}"


def all_stated(verdict: Verdict) -> str:
    """The numbers that were given for all readings, each once."""
    return ", ".join(dict.fromkeys(s for j in verdict.judged if (s := stated(j)) != "–")) or "–"


def now(judged: Judged) -> str:
    """The measured number, with its interval."""
    found = judged.now
    if isinstance(found, Missing):
        return "–"
    text = f"{figure(found.value)} {judged.reading.unit}"
    if found.low == found.high:
        return text
    return f"{text} [{figure(found.low)}, {figure(found.high)}]"


def markdown(
    verdicts: Sequence[Verdict], evidence: Sequence[Evidence], command: str, picture: str | None
) -> str:
    """The whole page; ``picture`` is the chart's address relative to it."""
    lines = [HEAD.format(command=command)]
    if picture:
        lines += [f"![Well-known numbers, then and now]({picture})\n"]
    lines += ["| claim | then | now | verdict |", "| --- | --- | --- | --- |"]
    for verdict in verdicts:
        claim = verdict.claim
        today = "<br>".join(s for j in verdict.judged if (s := now(j)) != "–")
        lines.append(
            f"| [{claim.title}](#{anchor(claim.title)}) | {all_stated(verdict)} | {today or '–'} "
            f"| {verdict.ruling if verdict.ruling in UNJUDGED else verdict.words} |"
        )
    topic = None
    for verdict in verdicts:
        if verdict.claim.topic != topic:
            topic = verdict.claim.topic
            lines.append(f"\n## {TOPICS[topic]}")
            if topic == TODAY:
                lines += side_by_side([v for v in verdicts if v.claim.topic == TODAY])
        lines += details(verdict)
    lines += ["", FOOT.format(command=command), "## Sources of the numbers", ""]
    lines += [f"- {line}" for one in evidence for line in origin(one)]
    return "\n".join(lines) + "\n"


def side_by_side(verdicts: Sequence[Verdict]) -> list[str]:
    """Numbers that are quoted today: ours, theirs, and the conditions of theirs."""
    lines = [
        "\nNumbers that release notes, READMEs and issues give now. *Ours* comes from the "
        "experiment closest to theirs that was run here.\n",
        "| claim | theirs | their conditions | ours | ours was |",
        "| --- | --- | --- | --- | --- |",
    ]
    for verdict in verdicts:
        claim = verdict.claim
        known = next((j for j in verdict.judged if isinstance(j.now, Number)), None)
        ours = now(known) if known else verdict.ruling
        lines.append(
            f"| [{claim.title}](#{anchor(claim.title)}) | {all_stated(verdict)} "
            f"| {claim.conditions or '–'} ({claim.date}) | {ours} "
            f"| {OWNERS[known.reading.whose] if known else '–'} |"
        )
    return lines


def anchor(title: str) -> str:
    """GitHub's anchor of a heading."""
    kept = "".join(c for c in title.lower() if c.isalnum() or c in " -_")
    return kept.replace(" ", "-")


def details(verdict: Verdict) -> list[str]:
    """One claim: its words, how it is measured, its readings, and the verdict."""
    claim = verdict.claim
    lines = [
        f"\n### {claim.title}\n",
        f"> {claim.sentence}\n>\n> {origin_of(claim)}\n",
        " ".join(claim.measured.split()) + "\n",
        "| if | experiment | then | now | true within | based on |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for judged in verdict.judged:
        bounds = bounds_words(judged.reading.holds, judged.reading.unit)
        found = judged.now
        if isinstance(found, Number):
            basis = f"{found.basis}{'; ' + found.note if found.note else ''}"
        else:
            basis = f"not tried: {found.reason}" if found.untried else found.reason
        lines.append(
            f"| {judged.reading.meant} | {WHOSE[judged.reading.whose]} | {stated(judged)} "
            f"| {now(judged)} | {bounds} | {basis} |"
        )
    return [*lines, f"\n**Verdict: {verdict.words}.**"]


def origin_of(claim: Claim) -> str:
    """Source and date of a claim, its conditions, and whether the words are its author's."""
    words = "" if claim.quote else "Paraphrase of "
    place = f", “{claim.place}”" if claim.place else ""
    text = f"{words}[{claim.source}]({claim.url}){place}, {claim.date}"
    return f"{text}. Conditions: {claim.conditions}." if claim.conditions else text


def origin(evidence: Evidence) -> list[str]:
    """The sources of the numbers: the campaign, and the last run of the experiments."""
    head = evidence.analysis.campaign
    lines = [
        f"Campaign `{head.campaign}`, profile {head.profile}, {head.created[:10]}: "
        f"{machine(head.environment)}."
    ]
    runs = records.runs(evidence.measured)
    lines += [
        f"Experiments `{run.run}` beside it, {run.repeats} repeats of {len(run.experiments)}, "
        f"{run.started[:10]}: {machine(run.environment)}."
        for run in runs[-1:]
    ]
    return lines


def machine(environment: Environment) -> str:
    """Machine, system, Python and commit in one line."""
    commit = (environment.commit or "unknown")[:10] + ("+dirty" if environment.dirty else "")
    return (
        f"{environment.cpu_model or environment.machine}, {environment.cpu_count} processors, "
        f"{environment.kernel}, {environment.python}, commit {commit}"
    )


def show(verdicts: Sequence[Verdict], console: Console) -> None:
    """Print the ledger on the terminal."""
    table = Table("claim", "if", "then", "now", "", title="Claims, then and now")
    for verdict in verdicts:
        for place, judged in enumerate(verdict.judged):
            table.add_row(
                verdict.claim.title if place == 0 else "",
                judged.reading.meant,
                stated(judged),
                now(judged),
                Text(*POSITIONS[judged.position]),
                end_section=place == len(verdict.judged) - 1,
            )
    console.print(table)
