"""The ledger as a Markdown page and as a table on the terminal, from verdicts alone."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from rich.console import Console
from rich.table import Table

from bench import stats
from bench.claims import records
from bench.claims.definition import TOPICS, bounds_words
from bench.claims.readings import Evidence, Missing, Number
from bench.claims.verdict import Judged, Stand, Verdict
from bench.schema import Environment

STANDS: dict[Stand, str] = {
    "inside": "[green]holds[/]",
    "outside": "[red]no longer holds[/]",
    "undecided": "[yellow]undecided[/]",
    "missing": "[dim]not tested[/]",
}
HEAD = """\
# Claims, then and now

<!-- Made by `{command}`: do not edit. A claim is a file in bench/claims/sentences/. -->

Famous sentences about Python concurrency, what was said then, and what is measured now. Every
number and verdict is computed from the records of a campaign and of small experiments beside it;
none is written by hand. A sentence **holds** where the whole interval of what is measured lies
within the bounds given for it, and **no longer holds** where it lies outside. Intervals are
95 %, or the whole range where values may be 0.
"""
FOOT = """\
## Add a claim

One file in `bench/claims/sentences/`, and nothing else: the sentence, its source and date, how it
is measured, and one reading or more, each with the bounds within which the sentence is called
true. A reading takes its number from a campaign (`kind` is `ratio`, `memory` or `barrier`) or from
an experiment in `bench/claims/experiments/`. Then `{command}` writes this page anew.
"""


def figure(value: float) -> str:
    """A number in three digits: 0.85, 21.1, 30,000."""
    if value == inf:
        return "∞"
    return f"{value:,.0f}" if abs(value) >= 999.5 else f"{value:.3g}"


def said(judged: Judged) -> str:
    """The number then."""
    then = judged.reading.then_range
    if then is None:
        return "–"
    return f"{'–'.join(figure(v) for v in dict.fromkeys(then))} {judged.reading.unit}"


def said_in_all(verdict: Verdict) -> str:
    """The numbers then of all readings, each once."""
    return ", ".join(dict.fromkeys(s for j in verdict.judged if (s := said(j)) != "–")) or "–"


def now(judged: Judged) -> str:
    """The number now, with its interval."""
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
    """The whole page; ``picture`` is the chart's address, seen from it."""
    lines = [HEAD.format(command=command)]
    if picture:
        lines += [f"![Famous numbers, then and now]({picture})\n"]
    lines += ["| claim | then | now | verdict |", "| --- | --- | --- | --- |"]
    for verdict in verdicts:
        claim = verdict.claim
        today = "<br>".join(s for j in verdict.judged if (s := now(j)) != "–")
        lines.append(
            f"| [{claim.title}](#{anchor(claim.title)}) | {said_in_all(verdict)} | {today or '–'} "
            f"| {verdict.call if verdict.call == 'cannot be tested here' else verdict.words} |"
        )
    topic = None
    for verdict in verdicts:
        if verdict.claim.topic != topic:
            topic = verdict.claim.topic
            lines.append(f"\n## {TOPICS[topic]}")
        lines += details(verdict)
    lines += ["", FOOT.format(command=command), "## What this rests on", ""]
    lines += [f"- {line}" for one in evidence for line in origin(one)]
    return "\n".join(lines) + "\n"


def anchor(title: str) -> str:
    """GitHub's anchor of a heading."""
    kept = "".join(c for c in title.lower() if c.isalnum() or c in " -")
    return kept.replace(" ", "-")


def details(verdict: Verdict) -> list[str]:
    """One claim: the quotation, how it is measured, its readings, the verdict."""
    claim = verdict.claim
    lines = [
        f"\n### {claim.title}\n",
        f"> {claim.sentence}\n>\n> [{claim.source}]({claim.url}), {claim.date}\n",
        " ".join(claim.measured.split()) + "\n",
        "| if | then | now | called true at | rests on |",
        "| --- | --- | --- | --- | --- |",
    ]
    for judged in verdict.judged:
        bounds = bounds_words(judged.reading.holds, judged.reading.unit)
        found = judged.now
        if isinstance(found, Number):
            basis = f"{found.basis}{'; ' + found.note if found.note else ''}"
        else:
            basis = found.reason
        lines.append(
            f"| {judged.reading.meant} | {said(judged)} | {now(judged)} | {bounds} | {basis} |"
        )
    return [*lines, f"\n**Verdict: {verdict.words}.**"]


def origin(evidence: Evidence) -> list[str]:
    """Where the numbers come from: the campaign, and the last run of the experiments."""
    head = stats.campaign_of(evidence.trials)
    lines = []
    if head is not None:
        lines.append(
            f"Campaign `{head.campaign}`, profile {head.profile}, {head.created[:10]}: "
            f"{machine(head.environment)}."
        )
    runs = records.runs(evidence.measured)
    lines += [
        f"Experiments `{run.run}` beside it, {run.repeats} repeats of {len(run.experiments)}, "
        f"{run.started[:10]}: {machine(run.environment)}."
        for run in runs[-1:]
    ]
    return lines


def machine(environment: Environment) -> str:
    """Machine, system, Python and commit in a line."""
    commit = (environment.commit or "unknown")[:10] + ("+dirty" if environment.dirty else "")
    return (
        f"{environment.cpu_model or environment.machine}, {environment.cpu_count} processors, "
        f"{environment.kernel}, {environment.python}, commit {commit}"
    )


def show(verdicts: Sequence[Verdict], console: Console) -> None:
    """The ledger on the terminal."""
    table = Table("claim", "if", "then", "now", "", title="Claims, then and now")
    for verdict in verdicts:
        for place, judged in enumerate(verdict.judged):
            table.add_row(
                verdict.claim.title if place == 0 else "",
                judged.reading.meant,
                said(judged),
                now(judged),
                STANDS[judged.stand],
                end_section=place == len(verdict.judged) - 1,
            )
    console.print(table)
