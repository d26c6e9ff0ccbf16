"""The summary of a campaign: all its tables, as Markdown and on the terminal."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Final

from rich.console import Console
from rich.text import Text

from bench.analysis import stats
from bench.analysis.analysis import Analysis
from bench.analysis.stats import Ratio
from bench.questions import answers
from bench.report.tables import section
from bench.report.tables import show as show_table
from bench.schema import TrialRecord
from bench.show import cells
from bench.show.table import Column, Row, Table, name, words
from bench.show.words import by_build, switches
from bench.store import Records
from bench.text import GIB, listing, markdown_text, plural


def tables(analysis: Analysis) -> list[Table]:
    """Every table that the campaign has data for, in the order of the summary and the page."""
    answered = [table for _, answer in answers(analysis) for table in answer.tables]
    if analysis.campaign.interpreters:
        return answered
    first = closed_loop(analysis)
    return [first] * bool(first.rows) + answered


def warnings(analysis: Analysis) -> list[str]:
    """What to know before you quote a number."""
    return [line for _, answer in answers(analysis) for line in answer.warnings]


def method(analysis: Analysis) -> list[str]:
    """What the campaign says about its own method."""
    return [line for _, answer in answers(analysis) for line in answer.method]


def to_markdown(analysis: Analysis) -> str:
    """The whole summary, for ``results/<campaign>/summary.md``."""
    lines = [f"# Campaign {markdown_text(analysis.campaign.campaign)}", ""]
    lines += _list("Warnings", warnings(analysis))
    for table in tables(analysis):
        lines += section(table)
    lines += _list("Can it be trusted?", method(analysis))
    pairs = environment(analysis.records)
    lines += _list("Environment", [f"{name}: {value}" for name, value in pairs])
    return "\n".join(lines).rstrip("\n") + "\n"


def _list(title: str, lines: list[str]) -> list[str]:
    return [f"## {title}", "", *(f"- {markdown_text(line)}" for line in lines), ""] if lines else []


def show(analysis: Analysis, console: Console) -> None:
    """Print its tables, and what speaks for the campaign."""
    for table in tables(analysis):
        show_table(table, console)
    for line in method(analysis):
        console.print(Text.assemble(("• ", "dim"), line))


def environment(records: Records) -> list[tuple[str, str]]:
    """Machine, system, Python and how trials left it, commit, campaign, packages and limits."""
    campaign = records.campaign
    machine = campaign.environment
    switched = switches(stats.trials_of(records))
    builds = [
        f"CPython {listing(n)}: {build}" for build, n in by_build(campaign.interpreters).items()
    ]
    python = "; ".join(builds) or f"{machine.python} ({_listed(machine.python_build)})"
    quota = "" if machine.cpu_quota is None else f", quota {machine.cpu_quota:g}"
    return [
        (
            "Machine",
            f"{machine.cpu_model or machine.machine}, {plural(machine.cpu_count, 'processor')}"
            f"{quota}, {machine.memory_total_bytes / GIB:.1f} GiB",
        ),
        ("System", f"{machine.os}, kernel {machine.kernel}"),
        ("Python", python),
        *([("Lock and JIT", " ".join(switched))] if switched else []),
        ("Commit", f"{machine.commit or 'unknown'}{' (dirty)' if machine.dirty else ''}"),
        (
            "Campaign",
            f"profile {campaign.profile}, {plural(campaign.blocks, 'block')}, "
            f"seed {campaign.seed}, {campaign.created}",
        ),
        *([("TLS", machine.openssl)] if machine.openssl else []),
        ("Packages", _listed(machine.packages)),
        ("Limits", _listed(machine.limits)),
    ]


def _listed(values: Mapping[str, object]) -> str:
    """What is known of them."""
    known = sorted((name, value) for name, value in values.items() if value is not None)
    return ", ".join(f"{name} {value}" for name, value in known)


CLOSED_LOOP: Final = (
    name("backend"),
    name("point"),
    Column("pages/s [min–max]"),
    Column(f"ratio [{stats.AT_LEVEL}]"),
    words("verdict"),
    words("why", drop=9),
    Column("CPU user ms / 1000 pages", drop=3),
    Column("CPU system ms / 1000 pages", drop=3),
    Column("of ceiling", drop=5),
    name("limiter", drop=2),
    Column("trials", drop=8),
)


def closed_loop(analysis: Analysis) -> Table:
    """Every backend at every point, grouped by point, in the campaign's order, twin included."""
    records = analysis.records
    ratios = {(c.point, c.label): c.ratio for c in analysis.compare(stats.PAGES_PER_S)}
    groups: dict[tuple[str, str], list[TrialRecord]] = defaultdict(list)
    for trial in records.trials:
        if trial.workload in stats.CLOSED:
            groups[trial.point, trial.label].append(trial)
    places = product(stats.points_of(records, status=None), stats.labels_of(records, twins=True))
    tools = sorted({c.tool for c in records.ceilings if c.requests_per_s is not None})
    ceiling = f" Ceiling: what {', '.join(tools)} reaches on the same server." if tools else ""
    return Table(
        "Closed loop: every backend at every point",
        CLOSED_LOOP,
        [_row(records, groups[x], ratios.get(x)) for x in places if x in groups],
        about=f"Ratios are to {analysis.base}, paired within blocks, with {stats.AT_LEVEL} "
        "intervals by Student. CPU is the crawler’s, per 1000 pages. ○: limited "
        f"by the server, so not the backend’s own speed.{ceiling}",
        notes=[analysis.places.words] if analysis.places else [],
        grouped=True,
    )


def _row(records: Records, every: Sequence[TrialRecord], ratio: Ratio | None) -> Row:
    """One label at one point of a closed loop, over the blocks; unusable trials are counted."""
    point, label = every[0].point, every[0].label
    trials = [trial for trial in every if trial.status == "ok"]
    cpu = [parts for trial in trials if (parts := stats.cpu_ms_per_1000(trial))]
    limiter, unusable = stats.limiter_of(trials), len(every) - len(trials)
    verdict, why = cells.verdict(ratio, limiter), cells.why(ratio)
    if not trials:
        verdict = "no valid trial"
    if "#" in label:
        verdict, why = "A/A twin", ""
    return [
        label,
        point,
        cells.spread(stats.spread(map(stats.pages_per_s, trials))),
        cells.ratio(ratio, base=label == records.campaign.base),
        verdict,
        why,
        cells.figure(stats.middle(user for user, _ in cpu)),
        cells.figure(stats.middle(system for _, system in cpu)),
        cells.share(stats.share_of_ceiling(trials)),
        cells.limiter(limiter),
        f"{len(trials)}" + (f" (+{unusable} unusable)" if unusable else ""),
    ]
