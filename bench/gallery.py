"""The gallery: a campaign's charts that a newcomer should see, with their words."""

from __future__ import annotations

from html import escape
from pathlib import Path

from bench import across
from bench.charts import ACROSS, CHARTS, Facts, Skip, file_name, interpreters
from bench.stats import Records

#: In the order of the story.
SHOWN = ("throughput", "cpu", "memory", "summit", "hockey-stick", "omission")
BEGIN, END = "<!-- gallery:begin -->", "<!-- gallery:end -->"


def markdown(records: Records, charts: str, folder: Path) -> str:
    """Pictures in light and dark, two in a row.

    ``charts`` is the address of the campaign's charts and ``folder`` where they lie:
    only what was drawn is shown.
    """
    facts = Facts(records)
    several = bool(across.interpreters(records))
    shown = (interpreters.NAME,) if several else SHOWN
    plans = {name: make(facts) for name, make in (ACROSS if several else CHARTS) if name in shown}
    lines, width = [], "100%" if len(shown) == 1 else "49%"
    for name in shown:
        plan = plans[name]
        light, dark = (file_name(name, "png", theme, "wide") for theme in ("light", "dark"))
        if isinstance(plan, Skip) or not (folder / light).is_file():
            continue
        source = (
            f'<source media="(prefers-color-scheme: dark)" srcset="{charts}/{dark}">'
            if (folder / dark).is_file()
            else ""
        )
        lines.append(
            f'<a href="{charts}/{light}"><picture>{source}'
            f'<img src="{charts}/{light}" width="{width}" alt="{escape(plan.alt)}"></picture></a>'
        )
    return "\n".join(lines)
