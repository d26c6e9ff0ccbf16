"""Condense a campaign to what it said, so that a later one can be held against it.

The trials of a reference take megabytes and leave the repository when the next one
comes. Its verdicts take kilobytes, and they are what people read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import median
from typing import Final

from pydantic import TypeAdapter

from bench import store
from bench.analysis import findings, stats
from bench.analysis.analysis import Analysis
from bench.analysis.stats import Comparison, Metric
from bench.schema.past import PastCampaign, PastClaim, PastRatio

METRICS: Final = (stats.CPU_PER_1000, stats.PAGES_PER_S)
"""What verdicts are compared by; both are ratios within blocks."""
BUILD: Final = ("level", "pgo", "lto")
SPLIT: Final = ("fetch-100", "throughput-100", "ladder-100")
"""Points whose user and kernel time are kept."""
_PAST: Final[TypeAdapter[PastCampaign]] = TypeAdapter(PastCampaign)
_CLAIM: Final = re.compile(r"^\| \[(?P<title>[^]]+)]\(#[^)]*\) \|.*\| (?P<verdict>[^|]+) \|$", re.M)
"""A row of the first table of docs/claims.md."""


def condense(analysis: Analysis, documents: Mapping[str, str] | None = None) -> PastCampaign:
    """What a campaign said.

    ``documents`` are the texts published from it, by name: figures that stand in one of
    them, letter by letter, are marked.
    """
    documents = documents or {}
    campaign, trials = analysis.campaign, analysis.records.trials
    end = analysis.records.end
    environment = campaign.environment
    return PastCampaign(
        campaign=campaign.campaign,
        created=campaign.created,
        profile=campaign.profile,
        python=environment.python,
        build={k: str(v) for k in BUILD if (v := environment.python_build.get(k)) is not None},
        wall_s=end.wall_s if end else None,
        turns=any(trial.turns is not None for trial in trials),
        polls=any(trial.extra.get("server_polls") for trial in trials),
        machine=f"{environment.cpu_count} × {environment.cpu_model or environment.machine}",
        base=analysis.base,
        base_ms=costs_of(analysis, analysis.base),
        memory={
            name: round(fit.total) for name, fit in analysis.memory.items() if fit.total is not None
        },
        split={point: each for point in SPLIT if (each := split(analysis, point))},
        floors={metric.name: analysis.floor(metric).percent for metric in METRICS},
        described={rung.name: rung.summary for rung in campaign.rungs if rung.missing is None},
        ratios=[*_ratios(analysis, documents)],
        claims=[
            PastClaim(title=row["title"], verdict=row["verdict"])
            for text in documents.values()
            for row in _CLAIM.finditer(text.partition("\n## ")[0])
        ],
    )


def _ratios(analysis: Analysis, documents: Mapping[str, str]) -> Iterator[PastRatio]:
    faults = page_faults(analysis)
    for metric in METRICS:
        answered = answers(analysis, metric, documents)
        for found in analysis.family(metric).compared:
            ratio = found.ratio
            if ratio.value is None or ratio.low is None or ratio.high is None:
                continue
            told = {name for name, text in documents.items() if quotes(text, found)}
            if found.base == analysis.base:
                told |= answered.get(found.point, set())
            yield PastRatio(
                metric=metric.name,
                point=found.point,
                base=found.base,
                label=found.label,
                value=round(ratio.value, 4),
                low=round(ratio.low, 4),
                high=round(ratio.high, 4),
                verdict=ratio.verdict,
                faults=faults.get((found.point, found.label)),
                published=sorted(told),
            )


def costs_of(analysis: Analysis, label: str) -> dict[str, float]:
    """Point -> what a backend takes for 1000 pages in ms of processor time, the median."""
    metric = stats.CPU_PER_1000
    values = stats.block_values(
        stats.trials_of(analysis.records, *metric.workloads, twins=False), metric
    )
    return {
        point: round(median(blocks.values()), 1)
        for (point, mine), blocks in values.items()
        if mine == label
    }


def split(analysis: Analysis, point: str) -> dict[str, tuple[float, float]]:
    """Backend -> user and kernel time of the client in ms per 1000 pages, medians over trials."""
    found: dict[str, list[tuple[float, float]]] = {}
    for trial in stats.trials_of(analysis.records, twins=False):
        if trial.point == point and trial.cpu is not None and trial.pages:
            scale = 1e6 / trial.pages
            found.setdefault(trial.label, []).append(
                (trial.cpu.client_user_s * scale, trial.cpu.client_system_s * scale)
            )
    return {
        label: (
            round(median(user for user, _ in each), 2),
            round(median(kernel for _, kernel in each), 2),
        )
        for label, each in found.items()
    }


def answers(
    analysis: Analysis, metric: Metric, documents: Mapping[str, str]
) -> dict[str, set[str]]:
    """Point -> the documents that quote the finding about it word by word."""
    found: dict[str, set[str]] = {}
    for question in findings.QUESTIONS:
        if question.metric is metric and (told := findings.answer(analysis, question)):
            names = {name for name, text in documents.items() if told in text}
            found.setdefault(question.point, set()).update(names)
    return found


def quotes(text: str, found: Comparison) -> bool:
    """Whether a paragraph of a document has this ratio, and names both sides of it."""
    sides = (f"`{found.label}`", f"`{found.base}`")
    forms = figures(found)
    return any(form in text for form in forms) and any(
        any(form in part for form in forms) and all(side in part for side in sides)
        for part in text.split("\n\n")
    )


def figures(found: Comparison) -> list[str]:
    """The forms in which documents write this ratio."""
    ratio = found.ratio
    value, low, high = ratio.value or 0.0, ratio.low or 0.0, ratio.high or 0.0
    return [f"{value:.2f} [{low:.2f}{dash}{high:.2f}]" for dash in ("–", ", ")]


def page_faults(analysis: Analysis) -> dict[tuple[str, str], float]:
    """(point, label) -> page faults of the client per page, the median of the trials."""
    found: dict[tuple[str, str], list[float]] = {}
    for trial in stats.trials_of(analysis.records, twins=False):
        if (each := stats.page_faults_per_page(trial)) is not None:
            found.setdefault((trial.point, trial.label), []).append(each)
    return {key: round(median(values), 3) for key, values in found.items()}


def load(file: Path) -> PastCampaign:
    """Read a condensed campaign.

    Raises :class:`bench.store.StoreError`.
    """
    return store.parse(store.read_bytes(file), str(file), _PAST)


def dump(past: PastCampaign) -> str:
    """A condensed campaign as JSON: a line for each ratio, so that a diff shows what differs."""
    text = past.model_dump_json(exclude_defaults=True, exclude={"kind", "schema_version"})
    head = f'{{"kind":"past","schema_version":{past.schema_version},'
    return (
        head + text[1:].replace('{"metric"', '\n{"metric"').replace('{"title"', '\n{"title"') + "\n"
    )
