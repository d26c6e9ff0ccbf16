"""Words that several charts share: headlines, captions, notes and footers."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from typing import Final

from bench.analysis import stats
from bench.analysis.analysis import Analysis
from bench.analysis.stats import Comparison, Metric, Spread
from bench.analysis.wording import against, change, interval, prose
from bench.plan.participants import Label
from bench.schema import Environment, TrialRecord
from bench.text import capital, count, listing, plural
from crawlers.catalogue import MODELS, OURS

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


def named(label: str) -> str:
    """A label as charts write it: ``aiohttp (stack)``, ``callbacks over TLS``."""
    parsed = Label.parse(label)
    under = {"tls": " over TLS", "asleep": ", server asleep"}.get(parsed.condition)
    return parsed.backend + under if under else f"{label}{' (stack)' * is_stack(label)}"


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
    parts += [f"within ±{100 * m:.0f} %: {listing(names)}" for m, names in sorted(same.items())]
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
    point where that shows none.
    """
    point = analysis.reference_point(workload)
    models = of_models(c for c in analysis.compare(metric) if c.workload == workload)
    return strongest(c for c in models if c.point == point) or strongest(models)


def silence(
    analysis: Analysis, metric: Metric, workload: str, point: str | None = None
) -> str | None:
    """Why the headline claims no difference; None where one is shown, or nothing compared."""
    models = of_models(
        c for c in analysis.compare(metric) if c.workload == workload and point in (None, c.point)
    )
    if not models or any(c.ratio.shown for c in models):
        return None
    return f"No difference is claimed: {listing(sorted({c.ratio.reason for c in models}))}."


def between(low: int, high: int, word: str) -> str:
    """``2 blocks`` where both are 2, else ``2 to 10 blocks``."""
    return plural(high, word) if low == high else f"{count(low)} to {plural(high, word)}"


def of_blocks(counts: Iterable[int], each: str = "") -> str:
    """``6 blocks``, ``2 blocks a rate (indicative)``: the blocks of the points that are drawn.

    Where points differ, both ends: ``2 to 10 blocks (indicative below 5)``. ``each`` names
    what has so many blocks, where a chart has several points to a line.
    """
    distinct = set(counts)
    low, high = min(distinct, default=0), max(distinct, default=0)
    words = f"one block{each}" if high == 1 else between(low, high, "block") + each
    if low >= stats.MIN_BLOCKS:
        return words
    below = "" if high < stats.MIN_BLOCKS else f" below {stats.MIN_BLOCKS}"
    return f"{words} (indicative{below})"


def blocks_words(spreads: Iterable[Spread], ranges: str = "bars", each: str = "") -> str:
    """``median of 6 blocks, bars from lowest to highest``, for the points that are drawn."""
    counts = {spread.count for spread in spreads}
    if counts == {1}:
        return f"{of_blocks(counts, each)}, no spread"
    return f"median of {of_blocks(counts, each)}, {ranges} from lowest to highest"


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
    return machine_words(head.environment, head.created), " · ".join(parts)
