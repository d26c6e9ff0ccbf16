"""A campaign across interpreters: who is compared with whom, and the table of it.

Interpreters are built differently, and that alone moves every figure. So a
backend is compared with itself on the oldest interpreter *of the same kind of
build*, and absolute figures always carry their build.
"""

from __future__ import annotations

import re

from bench import stats
from bench.schema import Interpreter
from bench.stats import Comparison, Metric, Records
from bench.workloads import AT, model_of, on_each


def interpreters(records: Records) -> list[Interpreter]:
    """Those of the campaign, oldest first; none for a campaign on the harness's own."""
    head = stats.campaign_of(records)
    return list(head.interpreters) if head else []


def build_words(build: dict[str, str | bool | None]) -> str:
    """How an interpreter was built, as far as it tells: "GCC 12.2.0, no PGO, no LTO"."""
    known = str(build.get("compiler") or "unknown compiler")
    version = re.match(r"\S+ [\d.]+", known)
    told = [name for name in ("pgo", "lto") if build.get(name) is not None]
    flags = [("" if build[name] else "no ") + name.upper() for name in told]
    words = [version[0] if version else known, *(flags or ["PGO and LTO not told"])]
    return ", ".join([*words, "debug"] if build.get("debug") else words)


def kinds(records: Records) -> dict[str, list[str]]:
    """Kind of build, in words -> names of its interpreters, oldest first."""
    found: dict[str, list[str]] = {}
    for interpreter in interpreters(records):
        found.setdefault(build_words(interpreter.build), []).append(interpreter.name)
    return found


def models(records: Records) -> list[str]:
    """The backends that ran, without their interpreters, in the campaign's order."""
    head = stats.campaign_of(records)
    return list(dict.fromkeys(map(model_of, head.backends))) if head else []


def bases(records: Records) -> dict[str, str]:
    """Label -> the same backend on the oldest interpreter of the same kind of build."""
    return {
        label: f"{model_of(label)}{AT}{names[0]}"
        for names in kinds(records).values()
        for label in on_each(models(records), names)
    }


def comparisons(records: Records, metric: Metric) -> dict[str, Comparison]:
    """Label -> comparison with its base, at the campaign's one point for this metric."""
    return {c.label: c for c in stats.compare(records, metric, bases=bases(records))}


def spreads(records: Records, metric: Metric) -> dict[str, stats.Spread]:
    """Label -> the metric over the blocks."""
    values: dict[str, list[float | None]] = {}
    for trial in stats.trials_of(records, *metric.workloads, twins=False):
        values.setdefault(trial.label, []).append(metric.value(trial))
    found = {label: stats.spread(mine) for label, mine in values.items()}
    return {label: spread for label, spread in found.items() if spread}
