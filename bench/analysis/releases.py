"""A campaign across interpreters: what each CPython release changed.

Interpreters are built differently, and the build alone changes every figure. A
backend is therefore compared only with itself on an earlier interpreter *of the
same kind of build*, and absolute figures always carry their build.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cached_property
from itertools import pairwise
from typing import Final

from bench.analysis import stats
from bench.analysis.stats import Comparison, Metric, Spread
from bench.plan.labels import Label, on_each
from bench.schema import Interpreter, TrialRecord
from bench.store import Records
from bench.text import listing, plural

SWITCHES: Final = {"gil": "Interpreter lock", "jit": "JIT"}
"""What a trial's mechanism says of its interpreter when it ends, and how a page calls it."""


def build_words(build: dict[str, str | bool | None]) -> str:
    """How an interpreter was built, as far as it tells: "GCC 12.2.0, no PGO, no LTO"."""
    compiler = str(build.get("compiler") or "unknown compiler")
    version = re.match(r"\S+ [\d.]+", compiler)
    known = [name for name in ("pgo", "lto") if build.get(name) is not None]
    flags = [("" if build[name] else "no ") + name.upper() for name in known]
    words = [version[0] if version else compiler]
    words += [str(build["level"])] if build.get("level") else []
    words += flags or ["PGO and LTO unknown"]
    return ", ".join([*words, "debug"] if build.get("debug") else words)


def by_build(interpreters: Iterable[Interpreter]) -> dict[str, list[str]]:
    """Kind of build, in words -> names of its interpreters, in the order given."""
    kinds: dict[str, list[str]] = {}
    for interpreter in interpreters:
        kinds.setdefault(build_words(interpreter.build), []).append(interpreter.name)
    return kinds


def differing_builds(interpreters: Iterable[Interpreter]) -> str | None:
    """A warning where interpreters are built in several ways; None when all are built alike."""
    kinds = by_build(interpreters)
    if len(kinds) < 2:
        return None
    listed = "; ".join(f"{', '.join(names)}: {build}" for build, names in kinds.items())
    return (
        f"These interpreters are built in {len(kinds)} ways ({listed}). A build can change more "
        "than a release does, so ratios stay within one kind of build. Do not compare figures of "
        "two kinds."
    )


def switches(trials: Iterable[TrialRecord]) -> list[str]:
    """How the trials left the interpreter's lock and JIT, which each reads when it ends."""
    found: dict[str, list[str]] = {}
    for trial in trials:
        # Old records say nothing of a JIT.
        read = [(name, trial.mechanism.get(key)) for key, name in SWITCHES.items()]
        if words := ", ".join(f"{name} {state}" for name, state in read if state):
            found.setdefault(words, []).append(Label.parse(trial.backend).interpreter)
    lines = []
    for words, names in sorted(found.items()):
        on = listing(sorted({name for name in names if name}))
        where = f" on {on}" if on else ""
        lines.append(f"{words} at the end of {plural(len(names), 'trial')}{where}.")
    return lines


class Releases:
    """The interpreters of one campaign, and how the backends compare between them."""

    def __init__(self, records: Records) -> None:
        """Take the records of a campaign that names its interpreters."""
        self.records = records
        self.interpreters = records.campaign.interpreters  # oldest first
        self.kinds = by_build(self.interpreters)
        #: The backends that ran, without their interpreters, in the campaign's order.
        self.models = list(dict.fromkeys(Label.parse(b).name for b in records.campaign.backends))
        self._compared: dict[tuple[str, str], dict[str, Comparison]] = {}

    @cached_property
    def oldest(self) -> dict[str, str]:
        """Label -> the same backend on the oldest interpreter of the same kind of build."""
        return {
            label: Label(Label.parse(label).name, names[0]).backend
            for names in self.kinds.values()
            for label in on_each(self.models, names)
        }

    @cached_property
    def steps(self) -> list[tuple[str, str]]:
        """Pairs of interpreters of one kind of build, the older first.

        A release is paired with the release before it. A free-threaded build (t) is
        paired with the same release that has the lock, and one with its JIT on (j) with
        itself with it off, or with nothing where that was not measured.
        """
        found: list[tuple[str, str]] = []
        for names in self.kinds.values():
            plain = [name for name in names if name[-1].isdigit()]
            found += pairwise(plain)
            found += [(name[:-1], name) for name in names if name[:-1] in plain]
        return found

    @cached_property
    def previous(self) -> dict[str, str]:
        """Label -> the same backend one step before."""
        return {
            Label(model, name).backend: Label(model, before).backend
            for before, name in self.steps
            for model in self.models
        }

    def to_oldest(self, metric: Metric) -> dict[str, Comparison]:
        """Label -> its comparison with :attr:`oldest`."""
        return self._compare("oldest", metric, self.oldest)

    def to_previous(self, metric: Metric) -> dict[str, Comparison]:
        """Label -> its comparison with :attr:`previous`."""
        return self._compare("previous", metric, self.previous)

    def _compare(self, key: str, metric: Metric, bases: Mapping[str, str]) -> dict[str, Comparison]:
        if (key, metric.name) not in self._compared:
            found = stats.compare(self.records, metric, bases=bases)
            self._compared[key, metric.name] = {c.label: c for c in found}
        return self._compared[key, metric.name]

    def spreads(self, metric: Metric) -> dict[str, Spread]:
        """Label -> the metric over the blocks."""
        values: dict[str, list[float | None]] = {}
        for trial in stats.trials_of(self.records, *metric.workloads, twins=False):
            values.setdefault(trial.label, []).append(metric.value(trial))
        found = {label: stats.spread(mine) for label, mine in values.items()}
        return {label: spread for label, spread in found.items() if spread}

    @property
    def lines(self) -> list[str]:
        """Which interpreters, how they were built, and which are missing, in sentences."""
        missing = self.records.campaign.interpreters_missing
        return [
            *(f"{', '.join(names)}: {build}." for build, names in self.kinds.items()),
            *switches(stats.trials_of(self.records)),
            "Ratios stay within a kind of build: to its oldest interpreter, or one step: to the "
            "release before, for a free-threaded build (t) to the same release with the lock, and "
            "with the JIT on (j) to the same with it off.",
            *(f"Not measured: CPython {name}: {why}." for name, why in missing.items()),
        ]
