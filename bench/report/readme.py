"""Parts of documents made from a campaign: the gallery for newcomers, and what its method shows."""

from __future__ import annotations

import textwrap
from html import escape
from pathlib import Path

from bench.analysis.analysis import Analysis
from bench.report import summary
from bench.report.charts import story
from bench.report.page import shown_first

NAME = "gallery"
"""Of the generated part of a Markdown file."""
DOUBTS = "pairs"
"""Of the part about one backend compared with itself."""


def markdown(analysis: Analysis, charts: str, folder: Path) -> str:
    """Pictures, two in a row.

    ``charts`` is the address of the campaign's charts and ``folder`` where they lie:
    only what was drawn is shown.
    """
    told = story(analysis)
    drawn = [name for name in told if (folder / f"{name}.svg").is_file()]
    shown = shown_first(drawn)
    width = "100%" if len(shown) == 1 else "49%"
    return "\n".join(
        f'<a href="{address}"><img src="{address}" width="{width}" '
        f'alt="{escape(f"Chart: {told[name].headline}")}"></a>'
        for name in shown
        for address in [f"{charts}/{name}.svg"]
    )


def doubts(analysis: Analysis) -> str:
    """What the campaign says about its own method."""
    campaign = analysis.campaign
    said = [f"From campaign `{campaign.campaign}`, profile {campaign.profile}.", ""]
    for line in summary.method(analysis):
        said.append(textwrap.fill(f"- {line}", 100, subsequent_indent="  "))
    return "\n".join(said)
