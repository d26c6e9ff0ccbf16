"""Claims in a campaign's report: a section of the page, and a chart."""

from __future__ import annotations

from pathlib import Path

from markupsafe import Markup

from bench.analysis.analysis import Analysis
from bench.claims import chart, ledger, records, verdict
from bench.report import markup
from bench.report.extension import Extension, Extra, Section


def extra(analysis: Analysis, folder: Path) -> Extra:
    """The verdicts of one campaign and of the experiments kept in its folder, if there are any."""
    verdicts = verdict.of_campaign(analysis, folder)
    if not verdicts:
        return Extra()
    templates = markup.templates(__name__)
    body = templates.get_template("section.html").render(
        claims=verdicts, then=ledger.all_stated, now=ledger.now
    )
    section = Section(
        anchor="claims",
        link="Then and now",
        title="Well-known claims, then and now",
        body=Markup(body),  # nosec B704: the template escapes all text
    )
    return Extra([section], [chart.design(verdicts)])


CLAIMS = Extension({records.FILE_NAME: "raw records of the experiments for the claims"}, extra)
