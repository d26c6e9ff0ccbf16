"""Costs in a campaign's report: a section of the page and a chart, from a record beside it."""

from __future__ import annotations

from pathlib import Path

from markupsafe import Markup

from bench.analysis.analysis import Analysis
from bench.costs import account, chart, opening, record, report
from bench.report import markup
from bench.report.extension import Extension, Extra, Section


def extra(analysis: Analysis, folder: Path) -> Extra:
    """The section and the chart; nothing without a record in the campaign's folder.

    The costs have a machine, a time and pages of their own, which the section names.
    """
    file = folder / record.FILE_NAME
    if not file.exists():
        return Extra()
    costs = record.load(file)
    made = account.accounts(costs)
    templates = markup.templates(__name__)
    body = templates.get_template("section.html").render(
        header=costs.header,
        seeds=record.seed_words(costs),
        tables=[table for table in report.tables(made) if table.rows],
        lost=report.lost(costs, made),
    )
    section = Section(
        anchor="costs",
        link="Exact costs",
        title="What a page takes, counted",
        body=Markup(body),  # nosec B704: the template escapes all text
    )
    drawings = [chart.design(costs, made)]
    if opening.openings(made):
        drawings.append(opening.design(costs, made))
    return Extra([section], drawings)


COSTS = Extension({record.FILE_NAME: "counts of instructions, calls and allocations"}, extra)
