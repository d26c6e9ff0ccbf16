"""Words that questions, charts and pages share.

Backends, ratios and interpreters in sentences: "threads fetch", "35 % fewer". Headlines, captions,
notes and footers of charts.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Collection, Iterable, Sequence
from typing import Final

from bench.analysis import stats
from bench.analysis.analysis import Analysis
from bench.analysis.stats import (
    AT_LEVEL,
    CPU_PER_1000,
    MARGINS,
    NO_FLOOR,
    USER_PER_CONNECTION,
    Average,
    Comparison,
    Metric,
    Spread,
)
from bench.plan.participants import Label
from bench.schema import CampaignRecord, Environment, Interpreter, TrialRecord
from bench.text import (
    KIB,
    capital,
    count,
    from_to,
    in_percent,
    listing,
    plural,
    significant,
    times,
)
from crawlers.catalogue import MODELS, OURS
from crawlers.registry import LOOP

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
        return from_to(times, low, high)
    near, far = sorted((low, high), key=lambda end: abs(end - 1))
    return f"{from_to(percent, near, far)} %"


def basis(compared: Comparison) -> str:
    """``2.9 to 3.8, 95 % interval of 5 blocks; 36.7 and 11.2 µs``: what a ratio rests on.

    A difference that no A/A pair speaks for says so, and one of rates of which the server set one.
    """
    blocks = plural(compared.ratio.blocks, "block")
    text = f"{interval(compared)}, {AT_LEVEL} interval of {blocks}; {both(compared)}"
    text += f", {UNPAIRED}" * (NO_FLOOR in compared.ratio.reason)
    return text + f", {BY_SERVER_TOO}" * compared.server_limited


BY_SERVER_TOO: Final = "at least one limited by the server"
"""What a difference of rates is that says little about the backends."""
UNPAIRED: Final = "without an A/A pair"
"""What a difference is that exceeds no noise floor, because none is known."""


def both(compared: Comparison) -> str:
    """The two numbers of a comparison, the base last: ``36.7 and 11.2 µs``."""
    unit, scale = FOR_ONE.get(compared.metric.name, (compared.metric.unit, 1.0))
    label, base = (in_words(value / scale) for value in compared.averages)
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


def percent(ratio: float, finer: int = 0) -> str:
    """How far a ratio is from 1 in percent: "35" for 0.65, "52" for 1.52, "0.4" for 1.004."""
    value = 100 * abs(ratio - 1)
    return f"{value:.{finer + (value < 0.95)}f}"


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


WHOLE: Final = frozenset(
    {*(name for name, backend in OURS.items() if backend.family == "stack"), "httpx_tuned"}
)
"""The names of whole HTTP stacks: they stand apart from models and variants in every chart.

``httpx_tuned`` is in records only.
"""


BY_SERVER: Final = "Hollow: limited by the fixture server, so the crawler may be faster."
BY_LOAD: Final = "Hollow: the load was slower than this server."
"""The note of bars whose server waited for its clients."""


def is_stack(label: str) -> bool:
    return Label.parse(label).name in WHOLE


LONGEST: Final = 20
"""Characters of a loop of the user's in a chart: its module's name may be longer than a slide."""


def named(label: str) -> str:
    """A label as charts write it: ``aiohttp (stack)``, ``callbacks over TLS``, ``…ops:make``."""
    parsed = Label.parse(label)
    under = {"tls": " over TLS", "asleep": ", server asleep"}.get(parsed.condition)
    name = parsed.backend + under if under else f"{label}{' (stack)' * is_stack(label)}"
    return f"…{name[1 - LONGEST :]}" if LOOP in label and len(name) > LONGEST else name


def sentence(text: str) -> str:
    """The text with a capital, unless it starts with the name of a library."""
    starts = tuple(prose(model) + " " for model in MODELS)
    return capital(text) if text.startswith(starts) else text


def difference(compared: Comparison, what: str, less: str = "less") -> str:
    """``35 % fewer pages than callbacks``, ``2.4 times as many pages as callbacks``."""
    value = compared.ratio.value or 1.0
    least = "at least " if compared.server_limited and value > 1 else ""
    return f"{least}{against(value, less, what, prose(compared.base))}"


def differences(comparisons: Iterable[Comparison], less: str) -> str | None:
    """Each backend's difference with its interval, the least first; then those without one."""
    shown: list[str] = []
    same: dict[float, list[str]] = {}
    others: list[str] = []
    for compared in sorted(comparisons, key=lambda c: c.ratio.value or 0.0):
        if compared.ratio.low is None or compared.ratio.high is None:
            continue
        name = f"`{Label.parse(compared.label).name}`"
        if compared.ratio.shown:
            shown.append(
                f"{name} {change(compared.ratio.value or 0.0, less)} ({interval(compared)})"
            )
        elif compared.ratio.margin is not None:
            same.setdefault(compared.ratio.margin, []).append(name)
        else:
            others.append(name)
    parts = [", ".join(shown)] if shown else []
    parts += [f"within ±{in_percent(m)}: {listing(names)}" for m, names in sorted(same.items())]
    if others:
        parts.append(f"undecided for {listing(others)}")
    return "; ".join(parts) or None


def of_models(comparisons: Iterable[Comparison]) -> list[Comparison]:
    """The comparisons between the four models, or all where there are none."""
    everything = list(comparisons)
    models = [c for c in everything if c.label in MODELS and c.base in MODELS]
    return models or everything


def strongest(comparisons: Iterable[Comparison]) -> Comparison | None:
    """The largest difference shown, by the near end of its interval.

    Comparisons that the server limited come last, as they only say "at least".
    """

    def size(c: Comparison) -> tuple[bool, float]:
        low, high = c.ratio.low or 1.0, c.ratio.high or 1.0
        return not c.server_limited, max(low, 1 / high)

    return max((c for c in comparisons if c.ratio.shown), key=size, default=None)


def leading(analysis: Analysis, metric: Metric, workload: str) -> Comparison | None:
    """What the headline of a workload's chart is about.

    The largest difference between models at the workload's reference point, or at any
    point where that shows none, or one so small that it would be called equivalent.
    """
    point = analysis.reference_point(workload)
    models = of_models(c for c in analysis.compare(metric) if c.workload == workload)
    here = strongest(c for c in models if c.point == point)
    return strongest(models) if here is None or tiny(here) else here


def tiny(compared: Comparison) -> bool:
    """Whether the interval lies within the narrowest margin of those that are equivalent."""
    low, high = compared.ratio.low or 1.0, compared.ratio.high or 1.0
    return max(high, 1 / low) <= 1 + MARGINS[0]


def silence(
    analysis: Analysis, metric: Metric, workload: str, point: str | None = None
) -> str | None:
    """Why the headline claims no difference; None where one is shown, or nothing compared."""
    models = of_models(
        c for c in analysis.compare(metric) if c.workload == workload and point in (None, c.point)
    )
    if not models or any(c.ratio.shown for c in models):
        return None
    among = " between models" * any({c.label, c.base} <= {*MODELS} for c in models)
    # What lies within ±2 % lies within ±5 % too.
    widest = max(c.ratio.margin or 0.0 for c in models)
    reasons = {c.ratio.reason for c in models if c.ratio.margin in (None, widest)}
    return f"No difference{among} is claimed: {listing(sorted(reasons))}."


def of_blocks(counts: Iterable[int], each: str = "") -> str:
    """``6 blocks``, ``2 blocks a rate (indicative)``: the blocks of the points that are drawn.

    Where points differ, both ends: ``2 to 10 blocks (indicative below 5)``. ``each`` names
    what has so many blocks, where a chart has several points to a line.
    """
    distinct = set(counts)
    low, high = min(distinct, default=0), max(distinct, default=0)
    several = plural(high, "block") if low == high else f"{count(low)} to {plural(high, 'block')}"
    words = f"one block{each}" if high == 1 else several + each
    if low >= stats.MIN_BLOCKS:
        return words
    below = "" if high < stats.MIN_BLOCKS else f" below {stats.MIN_BLOCKS}"
    return f"{words} (indicative{below})"


def averaged(counts: Iterable[int], average: str = "geometric mean", each: str = "") -> str:
    """``geometric mean of 6 blocks``, ``one block (indicative)``: what stands for all blocks."""
    distinct = set(counts)
    words = of_blocks(distinct, each)
    return words if distinct == {1} else f"{average} of {words}"


def blocks_words(
    spreads: Iterable[Spread],
    average: Average = "geometric mean",
    ranges: str = "bars",
    each: str = "",
) -> str:
    """The same of the points that are drawn, with ``bars from lowest to highest``."""
    counts = {spread.count for spread in spreads}
    ends = "no spread" if counts == {1} else f"{ranges} from lowest to highest"
    return f"{averaged(counts, average, each)}, {ends}"


def not_drawn(why: str, labels: Iterable[str], drawn: Collection[str]) -> list[str]:
    """A note for a chart that some of these are not in; none where all are."""
    absent = [label for label in labels if label not in drawn]
    return [f"Not drawn, as {why}: {listing(absent)}."] if absent else []


def listed(trials: Sequence[TrialRecord]) -> tuple[str, ...]:
    """A note for a chart whose crawls fetch a list, if all of them do."""
    if trials and all(t.params.get("urls") for t in trials):
        return ("These crawls fetch a list of URLs, so they extract no links from the pages.",)
    return ()


def point_words(trial: TrialRecord) -> str:
    """How a point is named in a sentence: ``100 slots``, ``10,000 connections``."""
    for name, unit in (("rate", "requests/s"), ("connections", "connection"), ("slots", "slot")):
        value = stats.number_param(trial, name)
        if value is not None:
            return f"{count(value)} {unit}" if name == "rate" else plural(int(value), unit)
    return trial.point


def machine_words(environment: Environment, created: str) -> str:
    """Where and when the numbers were taken."""
    model, quota = environment.cpu_model or environment.machine, environment.cpu_quota
    processors = plural(environment.cpu_count, "core")
    processors += f" (quota {quota:g})" if quota is not None else ""
    processors += f" of {environment.virtual}" if environment.virtual else ""
    linux = "Linux " if environment.kernel[:1].isdigit() else ""
    system = f"{environment.os}, {linux}{environment.kernel}"
    parts = [textwrap.shorten(model, 48, placeholder=" …"), processors, system, environment.python]
    return " · ".join([*parts, created[:10]])


def commit_words(environment: Environment) -> str:
    """The commit that ran, with a mark when the tree had changes."""
    return (environment.commit or "unknown")[:10] + ("+dirty" if environment.dirty else "")


def environment_of(campaign: CampaignRecord) -> Environment:
    """That of a campaign, with every interpreter that it measured."""
    if not campaign.interpreters:
        return campaign.environment
    python = f"CPython {listing([interpreter.name for interpreter in campaign.interpreters])}"
    return campaign.environment.model_copy(update={"python": python})


def footer(analysis: Analysis) -> tuple[str, ...]:
    """Machine, Python, date, campaign, commit, noise, and what the charts leave out."""
    head = analysis.campaign
    unusable = sum(t.status != "ok" for t in stats.trials_of(analysis.records, status=None))
    done = len({t.block for t in stats.trials_of(analysis.records)})
    parts = [
        f"campaign {head.campaign}",
        f"commit {commit_words(head.environment)}",
        f"profile {head.profile}",
        plural(done, "block") + (f" of {head.blocks}" if done < head.blocks else ""),
    ]
    floors = (analysis.floor(metric).log for metric in (stats.PAGES_PER_S, stats.CPU_PER_1000))
    if known := [floor for floor in floors if floor]:
        parts.append(f"noise floor up to {stats.floor_words(max(known))}")
    if unusable:
        parts.append(f"{plural(unusable, 'trial')} void, failed or refused: not drawn")
    if analysis.records.resumes:
        parts.append("resumed")
    return machine_words(environment_of(head), head.created), " · ".join(parts)
