"""The findings of a campaign in a few sentences, for the README and for talks.

Every figure comes from the records, by the same functions that draw the charts;
a difference that the statistics do not show is not mentioned as one.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import log

from bench import across, naive, stats
from bench.stats import Comparison, Records
from bench.workloads import MODELS, interpreter_of, model_of

KIB = 1024.0
POINT = "throughput-100"
WAITING = "waiting-100"
ACROSS = {
    stats.CPU_PER_1000: "Processor time per page",
    stats.USER_PER_CONNECTION: "User memory per connection",
}
"""What is said of each step from one interpreter to the next."""
WHERE = "At 100 slots"
BEGIN, END = "<!-- findings:begin -->", "<!-- findings:end -->"


def findings(records: Records) -> list[str]:
    """One Markdown sentence or two for each finding that the records bear out."""
    if across.interpreters(records):
        return [*_across(records), *filter(None, [_trust(records)])]
    found = [
        _memory(records),
        _ratios(records, POINT, stats.CPU_PER_1000, "takes", "processor time per page"),
        _ratios(records, POINT, stats.PAGES_PER_S, "fetches", "pages per second"),
        _ratios(
            records,
            WAITING,
            stats.PAGES_PER_S,
            "fetches",
            "pages per second behind a delay of 50 ms",
        ),
        _trust(records),
    ]
    return [sentence for sentence in found if sentence]


def markdown(records: Records) -> str:
    """The findings as a list, with the campaign they are from."""
    campaign = stats.campaign_of(records)
    lines = [f"- {sentence}" for sentence in findings(records)]
    if campaign is not None:
        machine = campaign.environment
        python, base = f", {machine.python}", f"to `{campaign.base}`"
        if campaign.interpreters:
            python, base = "", "to the interpreter before the arrow"
        lines.append(
            f"\nCampaign `{campaign.campaign}`, profile {campaign.profile}, on "
            f"{machine.cpu_model or 'an unknown processor'} ({machine.cpu_count} processors)"
            f"{python}. Ratios are {base}, with 95 % intervals."
        )
    return "\n".join(lines)


def block_of(text: str, begin: str = BEGIN, end: str = END) -> str:
    """What stands between the marks in a README; raises ValueError without them."""
    return text[text.index(begin) + len(begin) : text.index(end)].strip()


def with_block(text: str, block: str, begin: str = BEGIN, end: str = END) -> str:
    """The README with another block between the marks; raises ValueError without them."""
    start = text.index(begin) + len(begin)
    return f"{text[:start]}\n{block}\n{text[text.index(end, start) :]}"


def _memory(records: Records) -> str | None:
    """What a waiting connection costs each model, dearest first."""
    costs = []
    for label, fit in stats.fit_memory(records).items():
        user = fit.parts["user"].slope
        if label in MODELS and fit.total is not None and user is not None:
            costs.append((fit.total / KIB, user / KIB, label))
    if not costs:
        return None
    costs.sort(reverse=True)
    ends = [costs[0], costs[-1]] if len(costs) > 1 else costs
    head = " and ".join(f"`{label}` {total:.1f} KiB" for total, _, label in ends)
    said = ", ".join(f"`{label}` {total:.1f} ({user:.1f})" for total, user, label in costs)
    return (
        f"**A connection that waits costs {head}.** In KiB, the client's side, user space and "
        f"kernel (user space alone): {said}."
    )


def _ratios(records: Records, point: str, metric: stats.Metric, verb: str, what: str) -> str | None:
    """Each backend against the base at one point.

    The headline is of the models that differ, the one that differs most first.
    """
    found = [c for c in stats.compare(records, metric) if c.point == point]
    said = _each(found)
    if said is None:
        return None
    models = [c for c in found if c.ratio.shown and c.label in MODELS]
    models.sort(key=lambda c: -abs(log(_value(c))))
    head = what.capitalize()
    if any(c.label in MODELS for c in found):
        head += f": no model is shown to differ from `{found[0].base}`"
    if models:
        first, *others = models
        head = f"`{first.label}` {verb} {_value(first):.2f} times the {what} of `{first.base}`"
        head += "".join(f", `{c.label}` {_value(c):.2f} times" for c in others)
    return f"**{head}.** {WHERE}: {said}."


def _each(comparisons: Iterable[Comparison]) -> str | None:
    """Each backend's ratio with its interval, least first; silence is said too."""
    shown, silent = [], []
    for found in sorted(comparisons, key=_value):
        if found.ratio.low is None or found.ratio.high is None:
            continue
        name, ratio = f"`{model_of(found.label)}`", found.ratio
        if ratio.shown:
            shown.append(f"{name} × {ratio.value:.2f} [{ratio.low:.2f}, {ratio.high:.2f}]")
        else:
            silent.append(name)
    parts = [", ".join(shown)] if shown else []
    if silent:
        parts.append(f"no difference shown for {', '.join(silent)}")
    return "; ".join(parts) or None


def _across(records: Records) -> list[str]:
    """What each step from one interpreter to the next changed; then who was measured."""
    said = []
    against = across.step_bases(records)
    for metric, what in ACROSS.items():
        found = across.comparisons(records, metric, against).values()
        for before, name in across.steps(records):
            mine = _each(c for c in found if interpreter_of(c.label) == name)
            said += [f"**{what}, {before} → {name}**: {mine}."] if mine else []
    return said + across.lines(records)


def _value(found: Comparison) -> float:
    return found.ratio.value or 0.0


def _trust(records: Records) -> str | None:
    """What the campaign says of its own trustworthiness."""
    ours, plain = stats.aa_check(records), naive.naive_claims(records)
    floor = stats.aa_noise_floor(records)
    if not ours.tested or floor.percent is None:
        return None
    return (
        f"**One backend against itself**: {ours.alarms} false alarms in {ours.tested} comparisons "
        f"(noise floor ±{floor.percent:.1f} %). A naive harness (fixed order, mean of three, 5 % "
        f"counts) would have claimed {plain.by_threshold} differences in {plain.tested}."
    )
