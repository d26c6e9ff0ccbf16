"""A campaign across interpreters: who is compared with whom, and the table of it.

Interpreters are built differently, and that alone moves every figure. So a
backend is compared with itself on an earlier interpreter *of the same kind of
build*, and absolute figures always carry their build.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from itertools import pairwise

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
    words = [version[0] if version else known]
    words += [str(build["level"])] if build.get("level") else []
    words += flags or ["PGO and LTO not told"]
    return ", ".join([*words, "debug"] if build.get("debug") else words)


def by_build(found: Iterable[Interpreter]) -> dict[str, list[str]]:
    """Kind of build, in words -> names of its interpreters, in their order."""
    kinds: dict[str, list[str]] = {}
    for interpreter in found:
        kinds.setdefault(build_words(interpreter.build), []).append(interpreter.name)
    return kinds


def kinds(records: Records) -> dict[str, list[str]]:
    """Kind of build, in words -> names of its interpreters, oldest first."""
    return by_build(interpreters(records))


def differing_builds(found: Iterable[Interpreter]) -> str | None:
    """What to bear in mind when these are measured together; None when all are built alike."""
    kinds = by_build(found)
    if len(kinds) < 2:
        return None
    said = "; ".join(f"{', '.join(names)}: {build}" for build, names in kinds.items())
    return (
        f"These interpreters are built in {len(kinds)} ways ({said}). A build can change more than "
        "a release does: ratios are taken within a kind only, and figures of two kinds are not to "
        "be compared."
    )


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


def steps(records: Records) -> list[tuple[str, str]]:
    """Pairs of names of one kind of build, older first: what a release changed, or its lock.

    A release follows the one before it. A free-threaded build follows its own
    release with the lock, and has no step where that was not measured.
    """
    found: list[tuple[str, str]] = []
    for names in kinds(records).values():
        locked = [name for name in names if not name.endswith("t")]
        found += pairwise(locked)
        for name in [name for name in names if name.endswith("t")]:
            same = [other for other in locked if release(other) == release(name)]
            found += [(same[-1], name)] if same else []
    return found


def release(name: str) -> str:
    """The release of an interpreter without its micro version: "3.13" of "3.13.5t"."""
    return ".".join(name.split(".")[:2])


def step_bases(records: Records) -> dict[str, str]:
    """Label -> the same backend one step before."""
    return {
        f"{model}{AT}{name}": f"{model}{AT}{before}"
        for before, name in steps(records)
        for model in models(records)
    }


def comparisons(
    records: Records, metric: Metric, against: Mapping[str, str] | None = None
) -> dict[str, Comparison]:
    """Label -> comparison with its base, at the campaign's one point for this metric.

    ``against`` gives the base of each label, and defaults to :func:`bases`.
    """
    against = bases(records) if against is None else against
    return {c.label: c for c in stats.compare(records, metric, bases=against)}


def spreads(records: Records, metric: Metric) -> dict[str, stats.Spread]:
    """Label -> the metric over the blocks."""
    values: dict[str, list[float | None]] = {}
    for trial in stats.trials_of(records, *metric.workloads, twins=False):
        values.setdefault(trial.label, []).append(metric.value(trial))
    found = {label: stats.spread(mine) for label, mine in values.items()}
    return {label: spread for label, spread in found.items() if spread}


def lines(records: Records) -> list[str]:
    """Which interpreters, how they were built, and which are missing; in sentences."""
    found = [f"{', '.join(names)}: {build}." for build, names in kinds(records).items()]
    found.append(
        "Ratios stay within a kind of build: to its oldest interpreter, or a step: to the release "
        "before; for a free-threaded build (t), to the same release with the lock."
    )
    head = stats.campaign_of(records)
    missing = head.interpreters_missing if head else {}
    return found + [f"Not measured: CPython {name}: {why}." for name, why in missing.items()]
