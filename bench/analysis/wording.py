"""Backends, ratios and interpreters in sentences: "threads fetch", "35 % fewer"."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from bench.analysis.stats import AT_LEVEL, CPU_PER_1000, USER_PER_CONNECTION, Comparison
from bench.plan.participants import Label
from bench.schema import Interpreter, TrialRecord
from bench.text import KIB, count, listing, plural, significant, times
from crawlers.registry import MODELS

#: The unit of a metric for one page or connection, and how many of the metric's that is.
FOR_ONE: Final = {CPU_PER_1000.name: ("µs", 1.0), USER_PER_CONNECTION.name: ("KiB", float(KIB))}
#: Names that take a plural verb.
PLURALS: Final = frozenset({*MODELS, "processes", "subinterpreters"} - {"async_await"})
#: From this ratio up, people say "twice as much" and not "100 % more".
TIMES_FROM: Final = 1.995


def prose(label: str) -> str:
    """The name of a backend in a sentence: "async/await" for ``async_await``."""
    return re.sub(r"\basync_await\b", "async/await", label)


def says(label: str, verb: str) -> str:
    """A backend with its verb: "threads fetch", "async/await fetches"."""
    return f"{prose(label)} {conjugated(label, verb)}"


def conjugated(label: str, verb: str) -> str:
    """The verb of a backend, on whatever interpreter."""
    if Label.parse(label).name in PLURALS:
        return verb
    return f"{verb}{'es' if verb.endswith(('ch', 'o')) else 's'}"


def change(ratio: float, less: str = "less") -> str:
    """A ratio as a change: "35 % fewer", "52 % more", "3.3 times as much".

    ``less`` is "fewer" for what can be counted, which makes it "times as many".
    """
    if ratio >= TIMES_FROM:
        return f"{times(ratio)} times as {'many' if less == 'fewer' else 'much'}"
    if ratio < 1:
        return f"{percent(ratio)} % {less}"
    return f"{percent(ratio)} % more"


def against(ratio: float, less: str, what: str, base: str) -> str:
    """A ratio to a base: "35 % fewer pages than callbacks", "2.4 times as many pages as …"."""
    than = "as" if ratio >= TIMES_FROM else "than"
    return f"{change(ratio, less)} {what} {than} {base}"


def interval(compared: Comparison) -> str:
    """The interval that goes with :func:`change`: "14 to 51 %", "2.9 to 3.8"; "" without one."""
    ratio = compared.ratio
    if ratio.value is None or ratio.low is None or ratio.high is None:
        return ""
    return between(ratio.value, ratio.low, ratio.high)


def between(value: float, low: float, high: float) -> str:
    """The interval of a ratio in the form of :func:`change`."""
    if value >= TIMES_FROM:
        return f"{times(low)} to {times(high)}"
    near, far = sorted((low, high), key=lambda end: abs(end - 1))
    return f"{percent(near)} to {percent(far)} %"


def basis(compared: Comparison) -> str:
    """``2.9 to 3.8, 95 % interval of 5 blocks; medians 36.7 and 11.2 µs``: what a ratio rests on.

    A ratio is one within blocks, so it is not exactly that of the two medians.
    """
    blocks = plural(compared.ratio.blocks, "block")
    return f"{interval(compared)}, {AT_LEVEL} interval of {blocks}; medians {both(compared)}"


def both(compared: Comparison) -> str:
    """The two numbers of a comparison, the base last: ``36.7 and 11.2 µs``."""
    unit, scale = FOR_ONE.get(compared.metric.name, (compared.metric.unit, 1.0))
    label, base = (in_words(median / scale) for median in compared.medians)
    return f"{label} and {base} {unit}"


def bases(compared: Iterable[Comparison]) -> str:
    """What ratios are to: ``callbacks 11.2 µs, for threads 14.0 µs because their server slept``.

    At one point a base has one number, and another against a server that sleeps.
    """
    groups: dict[str, list[str]] = {}
    for comparison in compared:
        groups.setdefault(both(comparison).rpartition(" and ")[2], []).append(
            f"`{comparison.label}`"
        )
        name = f"`{Label.parse(comparison.base).name}`"
    (most, _), *others = sorted(groups.items(), key=lambda group: -len(group[1]))
    slept = [f", and {base} for {listing(labels)}, whose server slept" for base, labels in others]
    return f"{name} {most}{''.join(slept)}"


def in_words(value: float) -> str:
    return count(value) if abs(value) >= 1000 else significant(value, 3)


def percent(ratio: float) -> str:
    """How far a ratio is from 1 in percent: "35" for 0.65, "52" for 1.52, "0.4" for 1.004."""
    value = 100 * abs(ratio - 1)
    return f"{value:.0f}" if value >= 0.95 else f"{value:.1f}"


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
    interpreters: dict[str, list[str]] = {}
    for trial in trials:
        read = [(name, trial.mechanism.get(key)) for key, name in SWITCHES.items()]
        if words := ", ".join(f"{name} {state}" for name, state in read if state):
            interpreters.setdefault(words, []).append(Label.parse(trial.backend).interpreter)
    lines = []
    for words, names in sorted(interpreters.items()):
        on = listing(sorted({name for name in names if name}))
        where = f" on {on}" if on else ""
        lines.append(f"{words} when its trials ended{where}.")
    return lines
