"""Whether a campaign left what it should: for CI, and for a doubting reader."""

from __future__ import annotations

from pathlib import Path

from bench import output, store
from bench.store import Records

SVG_START, PNG_START = b"<?xml", b"\x89PNG\r\n\x1a\n"


def faults(folder: Path, records: Records) -> list[str]:
    """Everything that is wrong with a campaign's folder, one line each."""
    found = []
    if records.end is None:
        found.append("no end record: the campaign was broken off")
    elif not records.end.complete:
        found.append(f"incomplete: {records.end.reason}")
    if not records.trials:
        found.append("no trial was recorded")
    for trial in records.trials:
        if trial.status in ("failed", "void"):
            found.append(f"{trial.status}: {trial.label} on {trial.point}: {trial.reason}")
    planned = sum(entry.trials for entry in records.campaign.plan)
    if len(records.trials) != planned:
        found.append(f"{len(records.trials)} trials recorded, {planned} planned")
    return found + chart_faults(folder / output.CHARTS) + page_faults(folder)


def chart_faults(folder: Path) -> list[str]:
    """What is wrong with the charts: none, or one that is not what its name says."""
    found = []
    for kind, start in (("svg", SVG_START), ("png", PNG_START)):
        files = sorted(folder.glob(f"*.{kind}"))
        if not files:
            found.append(f"no {kind} chart was drawn")
        for file in files:
            with open(file, "rb") as opened:
                if opened.read(len(start)) != start:
                    found.append(f"charts/{file.name} is no {kind}")
    return found


def page_faults(folder: Path) -> list[str]:
    """Whether the page, the summary and the citation are there."""
    files = (folder / name for name in (output.PAGE, output.SUMMARY, output.CITATION))
    return [f"no {file.name}" for file in files if not (file.is_file() and file.stat().st_size)]


def check(folder: Path) -> list[str]:
    """Load, validate and check a campaign; raises :class:`bench.store.StoreError`."""
    return faults(folder, store.load(folder))
