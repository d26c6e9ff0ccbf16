"""The files of a report: their names, and whether a campaign has all of them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bench import store
from bench.controls import CONTROLS
from bench.launch import program
from bench.schema import CampaignRecord
from bench.store import Records

CHARTS = "charts"
SUMMARY = "summary.md"
PAGE = "report.html"
CITATION = "citation.bib"
PLAIN_WIDTH = 140
"""Columns of a table where there is no terminal to ask."""

FAILED_SHARE = 0.01
"""A larger share of failed trials is a fault; a few that were recorded with a reason are not."""


DIRTY: Final = {
    "20261125-185833-cb81c2": "kept until results/interpreters is measured again",
}
"""The campaigns that are published although their code is in no commit, and why."""


@dataclass(frozen=True, slots=True)
class Checked:
    """What a check found, in lines for people."""

    faults: list[str]
    notes: list[str]


def check(folder: Path, *, drawn: bool = True) -> Checked:
    """Load, validate and check a campaign; raises :class:`bench.store.StoreError`.

    Without ``drawn`` only its records, from which charts and page can be made. A trial that is
    void for a reason is then a note like one that failed.
    """
    records = store.load(folder)
    failed, void = (
        [
            f"{status}: {trial.label} on {trial.point}: {trial.reason}"
            for trial in records.every_trial
            if trial.status == status
        ]
        for status in ("failed", "void")
    )
    faults = record_faults(records) + work_faults(records)
    campaign = records.campaign
    notes = [f"+dirty: {DIRTY[campaign.campaign]}"] if campaign.campaign in DIRTY else []
    if fault := unpublishable(campaign):
        (notes if drawn else faults).append(fault)
    if drawn:
        # PNG files may be missing: a repository keeps what its pages show.
        faults += void + ["no svg chart was drawn"] * (not [*(folder / CHARTS).glob("*.svg")])
        made = (folder / name for name in (PAGE, SUMMARY, CITATION))
        missing = [x.name for x in made if not (x.is_file() and x.stat().st_size)]
        faults += [f"no {name}; make it with: {program()} report" for name in missing]
    else:
        failed += void
    if len(failed) > FAILED_SHARE * len(records.trials):
        return Checked(faults + failed, notes)
    return Checked(faults, notes + failed)


def unpublishable(campaign: CampaignRecord) -> str | None:
    """Why nobody could measure this again: no commit has the code that ran. None if one has."""
    if not campaign.environment.dirty or campaign.campaign in DIRTY:
        return None
    return (
        "measured with uncommitted changes (+dirty): commit them, and measure again to publish it"
    )


def record_faults(records: Records) -> list[str]:
    """Trials that are missing, and why."""
    faults = [f"incomplete: {records.unfinished}"] if records.unfinished else []
    recorded = len(records.every_trial)
    if recorded != records.planned:
        faults.append(f"{recorded} trials recorded, {records.planned} planned")
    return faults if recorded else [*faults, "no trial was recorded"]


def work_faults(records: Records) -> list[str]:
    """Crawls that count as correct, and whose record says that they are not.

    A control fetches its list again and again, and an interrupted crawl has no whole digest.
    """
    return [
        f"ok, but not the site's pages, each once: {trial.label} on {trial.point}"
        for trial in records.trials
        if trial.status == "ok"
        and trial.label not in CONTROLS
        and trial.cancelled is None
        and (trial.digest != trial.digest_expected or (trial.ledger and trial.ledger.repeated))
    ]
