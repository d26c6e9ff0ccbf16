"""Parts of documents made from a campaign: the gallery for newcomers, and what its method shows."""

from __future__ import annotations

import textwrap
from html import escape
from pathlib import Path
from typing import Final

from bench.analysis.analysis import Analysis
from bench.questions import answers
from bench.report.charts import file_name, story

SHOWN: Final = 6
"""Charts in the gallery: the first ones of the story."""

NAME = "gallery"
"""Of the generated part of a Markdown file."""
DOUBTS = "pairs"
"""Of the part about one backend compared with itself."""


def markdown(analysis: Analysis, charts: str, folder: Path) -> str:
    """Pictures in light and dark, two in a row.

    ``charts`` is the address of the campaign's charts and ``folder`` where they lie:
    only what was drawn is shown.
    """
    pictures: list[tuple[str, str, str]] = []
    for name, design in story(analysis).items():
        light, dark = (file_name(name, "svg", theme) for theme in ("light", "dark"))
        if len(pictures) == SHOWN or not (folder / light).is_file():
            continue
        source = (
            f'<source media="(prefers-color-scheme: dark)" srcset="{charts}/{dark}">'
            if (folder / dark).is_file()
            else ""
        )
        pictures.append((light, source, escape(f"Chart: {design.headline}")))
    width = "100%" if len(pictures) == 1 else "49%"
    return "\n".join(
        f'<a href="{charts}/{light}"><picture>{source}'
        f'<img src="{charts}/{light}" width="{width}" alt="{alt}"></picture></a>'
        for light, source, alt in pictures
    )


def doubts(analysis: Analysis) -> str:
    """What the campaign says about its own method."""
    campaign = analysis.campaign
    parts = [f"From campaign `{campaign.campaign}`, profile {campaign.profile}.", ""]
    for _, answer in answers(analysis):
        for line in answer.method:
            parts.append(textwrap.fill(f"- {line}", 100, subsequent_indent="  "))
    return "\n".join(parts)
