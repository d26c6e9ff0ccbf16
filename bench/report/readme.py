"""Parts of documents made from a campaign: the gallery for newcomers, and its A/A pairs."""

from __future__ import annotations

import textwrap
from html import escape
from pathlib import Path

from bench.analysis import trust
from bench.analysis.analysis import Analysis
from bench.report.charts import ACROSS, CHARTS, Skip, file_name, interpreters, noise

#: In the order of the story.
SHOWN = ("throughput", "cpu", "memory", "summit", "hockey-stick", "omission")
NAME = "gallery"
"""Of the generated part of a Markdown file."""
DOUBTS = "pairs"
"""Of the part about one backend compared with itself."""


def markdown(analysis: Analysis, charts: str, folder: Path) -> str:
    """Pictures in light and dark, two in a row.

    ``charts`` is the address of the campaign's charts and ``folder`` where they lie:
    only what was drawn is shown.
    """
    several = analysis.releases is not None
    shown = (interpreters.NAME,) if several else SHOWN
    designs = {
        name: make(analysis) for name, make in (ACROSS if several else CHARTS) if name in shown
    }
    lines, width = [], "100%" if len(shown) == 1 else "49%"
    for name in shown:
        design = designs[name]
        light, dark = (file_name(name, "svg", theme, "wide") for theme in ("light", "dark"))
        if isinstance(design, Skip) or not (folder / light).is_file():
            continue
        source = (
            f'<source media="(prefers-color-scheme: dark)" srcset="{charts}/{dark}">'
            if (folder / dark).is_file()
            else ""
        )
        lines.append(
            f'<a href="{charts}/{light}"><picture>{source}'
            f'<img src="{charts}/{light}" width="{width}" alt="{escape(design.alt)}"></picture></a>'
        )
    return "\n".join(lines)


def doubts(analysis: Analysis, charts: str, folder: Path) -> str:
    """What the A/A pairs prove, with the chart."""
    campaign = analysis.campaign
    said = [
        f"From campaign `{campaign.campaign}`, profile {campaign.profile}.",
        *trust.pairs_lines(analysis),
    ]
    lines = [textwrap.fill(said[0], 100), ""]
    lines += [textwrap.fill(f"- {text}", 100, subsequent_indent="  ") for text in said[1:]]
    name = file_name(noise.NAME, "svg", "light", "wide")
    if (folder / name).is_file():
        lines += ["", f"![One backend compared with itself]({charts}/{name})"]
    return "\n".join(lines)
