"""The campaign in numbers: typed rows, a Markdown page and a terminal table.

Every row is computed from the records alone. "No difference shown" is a result
and is printed like any other.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from bench import across, ladder, naive, regime, stats
from bench.schema import CampaignRecord, Limiter, TrialRecord
from bench.stats import Comparison, Ratio, Records, Spread
from bench.workloads import interpreter_of, model_of

KIB: Final = 1024.0
MIB: Final = 1024.0**2
#: A noise floor above this is called too noisy for small differences.
NOISY_FLOOR_PERCENT: Final = 5.0
#: A host probe whose 95th percentile is this far above its median is unsteady.
UNSTEADY_PROBE: Final = 1.15
#: Stolen time beyond this share of the trials' time is worth a warning.
STEAL_SHARE: Final = 0.01
#: The sum of the memory parts must lie this near to the drop in free memory.
AGREEMENT: Final = (0.8, 1.25)


@dataclass(frozen=True, slots=True)
class SummaryRow:
    """One label at one workload point, over the blocks."""

    workload: str
    point: str
    label: str
    trials: int  # valid ones
    unusable: int  # void, failed or refused
    pages_per_s: Spread | None
    ratio: Ratio | None  # against the base; None for the base itself
    cpu_user_ms: float | None  # client, per 1000 pages, median
    cpu_system_ms: float | None
    service_p50_ms: float | None
    service_p99_ms: float | None
    response_p50_ms: float | None  # open loop only
    response_p99_ms: float | None
    offered_per_s: float | None
    achieved_per_s: Spread | None
    late_starts: int | None
    ceiling_share: Spread | None  # of the server's ceiling, by requests/s
    limiter: Limiter | None


@dataclass(frozen=True, slots=True)
class MemoryRow:
    """One backend's memory per connection in KiB, with its fixed part in MiB."""

    label: str
    parts: dict[str, float | None]  # one for each of stats.MEMORY_PARTS, in their order
    total: float | None
    user_interval: tuple[float, float] | None
    fixed_mib: float | None
    server_sockets: float | None  # the other end, never charged to the client
    highest: int  # the largest N
    user_at_highest: float | None  # (held - before) / N at that N
    agreement: float | None  # sum of parts over the drop in free memory
    fitted: bool  # False: too few connection counts, columns are those of the largest N
    reasons: tuple[str, ...]


def _middle(values: Sequence[float | None]) -> float | None:
    found = stats.spread(values)
    return found.median if found else None


def summary_rows(records: Records) -> list[SummaryRow]:
    """One row per workload point and label, in the campaign's order, twin included."""
    ratios: dict[tuple[str, str], Ratio] = {
        (c.point, c.label): c.ratio for c in stats.compare(records, stats.PAGES_PER_S)
    }
    groups: dict[tuple[str, str], list[TrialRecord]] = defaultdict(list)
    for trial in stats.trials_of(records, status=None):
        groups[trial.point, trial.label].append(trial)
    rows: list[SummaryRow] = []
    for point in stats.points_of(records, status=None):
        for label in stats.labels_of(records, twins=True):
            everything = groups.get((point, label), [])
            if not everything:
                continue
            trials = [t for t in everything if t.status == "ok"]
            cpu = [p for t in trials if (p := stats.cpu_ms_per_1000(t))]
            service = [t.service_time for t in trials if t.service_time]
            response = [t.response_time for t in trials if t.response_time]
            late = [t.late_starts for t in trials if t.late_starts is not None]
            closed = everything[0].workload in stats.CLOSED
            rows.append(
                SummaryRow(
                    workload=everything[0].workload,
                    point=point,
                    label=label,
                    trials=len(trials),
                    unusable=len(everything) - len(trials),
                    pages_per_s=stats.spread(t.pages_per_s for t in trials),
                    ratio=ratios.get((point, label)),
                    cpu_user_ms=_middle([u for u, _ in cpu]),
                    cpu_system_ms=_middle([s for _, s in cpu]),
                    service_p50_ms=_middle([x.p50_ms for x in service]),
                    service_p99_ms=_middle(
                        [x.p99_ms for x in service if x.count >= 100 * stats.MIN_BEYOND]
                    ),
                    response_p50_ms=_middle([x.p50_ms for x in response]),
                    response_p99_ms=_middle(
                        [x.p99_ms for x in response if x.count >= 100 * stats.MIN_BEYOND]
                    ),
                    offered_per_s=_middle([t.offered_per_s for t in trials]),
                    achieved_per_s=stats.spread(t.achieved_per_s for t in trials),
                    late_starts=sum(late) if late else None,
                    ceiling_share=stats.share_of_ceiling(records, trials) if closed else None,
                    limiter=stats.limiter_of(trials),
                )
            )
    return rows


def memory_rows(records: Records) -> list[MemoryRow]:
    """One row per backend with barrier trials."""
    rows: list[MemoryRow] = []
    for label, fit in stats.fit_memory(records).items():
        fitted = any(p.slope is not None for p in fit.parts.values())

        def part(name: str, fit: stats.MemoryFit = fit, fitted: bool = fitted) -> float | None:
            value = fit.parts[name].slope if fitted else fit.at_highest[name]
            return None if value is None else value / KIB

        values = {name: part(name) for name in stats.MEMORY_PARTS}
        known = [v for v in values.values() if v is not None]
        user = fit.parts["user"]
        user_top = fit.at_highest["user"]
        server = fit.server.slope if fitted else fit.at_highest["server sockets"]
        interval = (
            (user.low / KIB, user.high / KIB)
            if user.low is not None and user.high is not None
            else None
        )
        rows.append(
            MemoryRow(
                label=label,
                parts=values,
                total=sum(known) if len(known) == len(values) else None,
                user_interval=interval,
                fixed_mib=fit.fixed / MIB if fit.fixed is not None else None,
                server_sockets=server / KIB if server is not None else None,
                highest=fit.connections[-1],
                user_at_highest=user_top / KIB if user_top is not None else None,
                agreement=fit.agreement,
                fitted=fitted,
                reasons=tuple(
                    f"{p.name}: {p.reason}"
                    for p in [*fit.parts.values(), fit.server]
                    if p.reason is not None
                ),
            )
        )
    return rows


def wrk_share_rows(records: Records) -> list[tuple[str, Spread]]:
    """(label, share of the server's ceiling) at the point nearest to 64 slots."""
    slots = {
        t.point: stats.number_param(t, "slots") or 0.0
        for t in stats.trials_of(records, "throughput")
    }
    if not slots:
        return []
    point = min(slots, key=lambda p: abs(slots[p] - 64))
    rows: list[tuple[str, Spread]] = []
    for label in stats.labels_of(records):
        mine = [t for t in stats.trials_of(records) if t.point == point and t.label == label]
        share = stats.share_of_ceiling(records, mine)
        if share:
            rows.append((label, share))
    return rows


def warnings(records: Records) -> list[str]:
    """What a reader must know before quoting a number, most important first."""
    found: list[str] = []
    head, end = stats.campaign_of(records), stats.end_of(records)
    everything = stats.trials_of(records, status=None)
    bad = [t for t in everything if t.status != "ok"]
    if bad:
        reasons = Counter((t.status, t.label, t.point, t.reason or "no reason given") for t in bad)
        found += [
            f"{status}: {label} at {point}{f' ({n} trials)' if n > 1 else ''}: {reason}"
            for (status, label, point, reason), n in reasons.most_common(20)
        ]
        if len(reasons) > 20:
            found.append(f"... and {len(reasons) - 20} more kinds of unusable trials")
    if head is not None:
        if differing := across.differing_builds(head.interpreters):
            found.append(differing)
        if head.environment.dirty:
            found.append("The working tree was dirty: the commit does not name this code exactly.")
        blocks = len({t.block for t in everything})
        if blocks < stats.MIN_BLOCKS:
            found.append(
                f"{blocks} block{'s' if blocks != 1 else ''}: fewer than {stats.MIN_BLOCKS}, so no "
                "ratio has an interval and no difference is claimed."
            )
    floor = stats.aa_noise_floor(records)
    if floor.percent is not None and floor.percent > NOISY_FLOOR_PERCENT:
        found.append(
            f"This machine is too noisy for small differences: below "
            f"{stats.floor_words(floor.log or 0.0)} nothing is claimed."
        )
    host = stats.host_spread(records)
    if host and host.probe_p95_over_median > UNSTEADY_PROBE:
        found.append(
            "Unsteady host: the fixed loop around the trials took up to "
            f"{100 * (host.probe_p95_over_median - 1):.0f} % longer than usual (95th percentile)."
        )
    if host and host.steal_share is not None and host.steal_share > STEAL_SHARE:
        found.append(f"{100 * host.steal_share:.1f} % of the time was stolen by other guests.")
    balance = stats.position_balance(records)
    if balance and not balance.balanced:
        found.append(balance.words)
    parity = stats.parity(records)
    if parity.rows and not parity.equal:
        found.append(parity.words)
    for row in memory_rows(records):
        if row.agreement is not None and not AGREEMENT[0] <= row.agreement <= AGREEMENT[1]:
            found.append(
                f"Memory of {row.label}: the sum of the parts is {100 * row.agreement:.0f} % of "
                "the drop in free memory; the two methods do not agree."
            )
    unpinned = {str(t.pinning["reason"]) for t in everything if t.pinning.get("reason") is not None}
    found += [f"Not pinned to processors: {reason}" for reason in sorted(unpinned)]
    limited = {t.label for t in stats.trials_of(records, *stats.CLOSED) if t.limiter == "server"}
    if limited:
        found.append(
            f"Limited by the server at some points: {', '.join(sorted(limited))}. Those figures "
            "are the server’s, the backend is at least that fast."
        )
    resumes = stats.resumes_of(records)
    if resumes:
        found.append(f"The campaign was broken off and resumed {len(resumes)} time(s).")
    if head is not None and end is None:
        found.append("The campaign has no end record: it is still running or was broken off.")
    elif end is not None and not end.complete:
        found.append(f"The campaign is incomplete: {end.reason or 'no reason given'}.")
    return found


# --- words for cells -------------------------------------------------------------------


def _num(value: float | None, digits: int = 3) -> str:
    if value is None:
        return "–"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    text = f"{value:.{digits}g}"
    return text if "e" not in text else f"{value:.3f}"


def _kib(value: float | None) -> str:
    return "–" if value is None else f"{value:.1f}"


def _spread(spread: Spread | None) -> str:
    if spread is None:
        return "–"
    if spread.count == 1:
        return f"{_num(spread.median)} (one trial)"
    return f"{_num(spread.median)} [{_num(spread.low)}–{_num(spread.high)}]"


def _share(spread: Spread | None) -> str:
    return "–" if spread is None else f"{100 * spread.median:.0f} %"


def ratio_cell(ratio: Ratio | None, *, base: bool = False) -> str:
    """``1.53 [1.48–1.55]``, or what there is of it."""
    if ratio is None or ratio.value is None:
        return "1 (base)" if base else "–"
    if ratio.low is None or ratio.high is None:
        return f"{ratio.value:.2f}"
    return f"{ratio.value:.2f} [{ratio.low:.2f}–{ratio.high:.2f}]"


def verdict_cell(ratio: Ratio | None, limiter: Limiter | None = None) -> str:
    """The verdict in words, with the reason when it is a refusal.

    A backend that the server held back and that still was faster is "at least"
    that much faster.
    """
    if ratio is None:
        return ""
    if limiter == "server" and ratio.shown and (ratio.value or 0.0) > 1:
        return f"{ratio.verdict}, at least"
    if ratio.verdict == stats.TOO_FEW:
        return f"{ratio.verdict} ({ratio.reason})"
    if ratio.verdict == stats.NO_DIFFERENCE and not ratio.reason.startswith("the interval"):
        return f"{ratio.verdict}: {ratio.reason}"
    return ratio.verdict


def _limiter_cell(limiter: Limiter | None) -> str:
    return {None: "–", "server": "server ○"}.get(limiter, str(limiter))


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    # Names to the left, numbers to the right.
    marks = [
        "---" if i < 1 or name in ("verdict", "limiter", "what it changes") else "---:"
        for i, name in enumerate(header)
    ]

    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(c.replace("|", "\\|").replace("\n", " ") for c in cells) + " |"

    return [line(header), line(marks), *(line(r) for r in rows), ""]


CLOSED_HEADER: Final = (
    "backend",
    "pages/s, median [min–max]",
    "ratio [95 %]",
    "verdict",
    "CPU user ms",
    "CPU system ms",
    "p50 ms",
    "p99 ms",
    "of ceiling",
    "limiter",
    "trials",
)


def closed_cells(row: SummaryRow, base: str) -> list[str]:
    """Cells below :data:`CLOSED_HEADER`."""
    return [
        row.label,
        _spread(row.pages_per_s),
        ratio_cell(row.ratio, base=row.label == base),
        "A/A twin" if "#" in row.label else verdict_cell(row.ratio, row.limiter),
        _num(row.cpu_user_ms),
        _num(row.cpu_system_ms),
        _num(row.service_p50_ms),
        _num(row.service_p99_ms),
        _share(row.ceiling_share),
        _limiter_cell(row.limiter),
        str(row.trials) + (f" (+{row.unusable} unusable)" if row.unusable else ""),
    ]


MEMORY_HEADER: Final = (
    "backend",
    *stats.MEMORY_PARTS,
    "total",
    "fixed MiB",
    "server side",
    "user at highest N",
    "parts / free memory",
)


def memory_cells(row: MemoryRow) -> list[str]:
    """Cells below :data:`MEMORY_HEADER`."""
    parts = {name: _kib(value) for name, value in row.parts.items()}
    if row.user_interval:
        parts["user"] += f" [{row.user_interval[0]:.1f}–{row.user_interval[1]:.1f}]"
    return [
        row.label,
        *parts.values(),
        _kib(row.total),
        _kib(row.fixed_mib),
        _kib(row.server_sockets),
        _kib(row.user_at_highest),
        "–" if row.agreement is None else f"{row.agreement:.2f}",
    ]


OPEN_HEADER: Final = (
    "backend",
    "offered/s",
    "achieved/s, median [min–max]",
    "response p50 ms",
    "response p99 ms",
    "service p99 ms",
    "late starts",
    "limiter",
)


def open_cells(row: SummaryRow) -> list[str]:
    """Cells below :data:`OPEN_HEADER`."""
    return [
        row.label,
        _num(row.offered_per_s),
        _spread(row.achieved_per_s),
        _num(row.response_p50_ms),
        _num(row.response_p99_ms),
        _num(row.service_p99_ms),
        "–" if row.late_starts is None else f"{row.late_starts:,}",
        _limiter_cell(row.limiter),
    ]


LADDER_HEADER: Final = (
    "backend",
    "what it changes",
    "CPU ms",
    "CPU ratio [95 %]",
    "KiB per connection",
    "memory ratio [95 %]",
)


def ladder_rows(found: ladder.Ladder) -> list[Sequence[str]]:
    """Every backend against the one it changes: cells below :data:`LADDER_HEADER`."""
    return [
        (
            step.rung.name,
            step.rung.changes,
            _num(step.cpu.median if step.cpu else None),
            _step(step.cpu_ratio),
            _kib(step.memory.median / KIB) if step.memory else step.memory_missing or "–",
            _step(step.memory_ratio),
        )
        for step in found.steps
    ]


def ladder_notes(found: ladder.Ladder) -> list[str]:
    """How the ladder is read, and which backends did not run."""
    held = "" if found.connections is None else f" at {found.connections:,} connections"
    return [
        f"Each backend against the one that it names. CPU is per 1000 pages, at {found.point}; "
        f"memory is per connection{held}, its ratio paired over all numbers of connections from "
        f"{ladder.PAIRED_FROM:,}. HTTP stacks are no models.",
        *(f"Not run: {name}: {reason}" for name, reason in sorted(found.missing.items())),
    ]


def ladder_lines(records: Records) -> list[str]:
    """The ladder as Markdown."""
    found = ladder.ladder(records)
    if found is None:
        return []
    how, *missing = ladder_notes(found)
    rows = _table(LADDER_HEADER, ladder_rows(found))
    return ["## The ladder", "", how, "", *rows, *(f"- {line}" for line in missing), ""]


def _step(ratio: Ratio | None) -> str:
    if ratio is None:
        return "–"
    return ratio_cell(ratio) if ratio.shown else f"{ratio_cell(ratio)} {verdict_cell(ratio)}"


REGIME_HEADER: Final = ("regime", "most pages/s", "least CPU per page")
REGIME_NOTE: Final = "The model that beats each of the other three, with its lead on the next."


def regime_rows(records: Records) -> list[Sequence[str]]:
    """Which model wins in each cell; none where no regime was measured."""
    if not stats.trials_of(records, "regime"):
        return []
    by_cpu = {c.point: c for c in regime.cells(records, stats.CPU_PER_1000)}
    return [
        (f"{c.slots:,} slots, {c.delay_ms:g} ms", _winner(c), _winner(by_cpu.get(c.point)))
        for c in regime.cells(records, stats.PAGES_PER_S)
    ]


def regime_lines(records: Records) -> list[str]:
    """The map of regimes as Markdown."""
    rows = regime_rows(records)
    return (
        ["## Which model wins", "", REGIME_NOTE, "", *_table(REGIME_HEADER, rows)] if rows else []
    )


def _winner(cell: regime.Cell | None) -> str:
    if cell is None or not cell.enough:
        return stats.TOO_FEW
    if cell.lead is None:
        return f"{stats.NO_DIFFERENCE} between {', '.join(cell.best)}"
    return f"{cell.best[0]} × {cell.lead:.2f}" + (" ○" if cell.server_limited else "")


FAIRNESS_HEADER: Final = (
    "backend",
    "least served slot ÷ median slot",
    "longest wait, s",
    "Jain’s index",
)


def fairness_rows(records: Records) -> list[Sequence[str]]:
    """How evenly the slots got on; none where it was not measured."""
    rows: list[Sequence[str]] = []
    for label in stats.labels_of(records):
        runs = [
            t.fairness
            for t in stats.trials_of(records, "fairness")
            if t.label == label and t.fairness
        ]
        if runs:
            least = stats.spread(stats.least_served(run) for run in runs)
            gap = stats.spread(run.longest_gap_s[-1] for run in runs)
            jain = stats.spread(run.jain for run in runs)
            rows.append((label, _spread(least), _spread(gap), _spread(jain)))
    return rows


def fairness_lines(records: Records) -> list[str]:
    """The fairness between slots as Markdown."""
    rows = fairness_rows(records)
    return ["## Fairness between slots", "", *_table(FAIRNESS_HEADER, rows)] if rows else []


def by_point(rows: Sequence[SummaryRow], workloads: Sequence[str]) -> dict[str, list[SummaryRow]]:
    """The rows of some workloads, by point."""
    found: dict[str, list[SummaryRow]] = {}
    for row in rows:
        if row.workload in workloads:
            found.setdefault(row.point, []).append(row)
    return found


def method_lines(records: Records) -> list[str]:
    """Noise floor, A/A, naive claims, order, parity and recorder's cost, each in a sentence."""
    lines = [stats.aa_noise_floor(records).words]
    aa = stats.aa_check(records)
    if aa.comparisons:
        lines.append(aa.words)
        lines.append(naive.naive_claims(records, ours=aa).words)
    balance = stats.position_balance(records)
    if balance:
        lines.append(balance.words)
    parity = stats.parity(records)
    if parity.rows:
        lines.append(parity.words)
    for label, cost in stats.recorder_cost(records).items():
        if cost.value is None:
            continue
        percent = 100 * (1 - cost.value)
        interval = (
            f" [{100 * (1 - cost.high):+.1f} to {100 * (1 - cost.low):+.1f} %]"
            if cost.low is not None and cost.high is not None
            else f" ({cost.reason}: no interval)"
        )
        lines.append(f"Keeping the times costs {label} {percent:+.1f} % of throughput{interval}.")
    end = stats.end_of(records)
    if end and end.wall_s > 0:
        lines.append(
            f"The harness took {100 * (1 - end.trial_wall_s / end.wall_s):.0f} % of "
            f"{end.wall_s:.0f} s for itself."
        )
    return lines


ACROSS_HEADER: Final = (
    "backend",
    "interpreter",
    "CPU ms per 1000 pages",
    "× oldest",
    "× step",
    "user KiB per connection",
    "× oldest",
    "× step",
)


def across_rows(records: Records) -> list[list[str]]:
    """A row for each backend on each interpreter: what it costs, absolutely and as ratios."""
    scales = {stats.CPU_PER_1000: 1.0, stats.USER_PER_CONNECTION: 1024.0}
    oldest, steps = across.bases(records), across.step_bases(records)
    spreads = {metric: across.spreads(records, metric) for metric in scales}
    ratios = {
        metric: [across.comparisons(records, metric, against) for against in (oldest, steps)]
        for metric in scales
    }
    rows = []
    for label, base in oldest.items():
        row = [model_of(label), interpreter_of(label)]
        for metric, scale in scales.items():
            spread = spreads[metric].get(label)
            row.append(_num(spread.median / scale) if spread else "–")
            for mine in ratios[metric]:
                found = mine.get(label)
                row.append(ratio_cell(found.ratio if found else None, base=label == base))
        rows.append(row)
    return rows


def environment_rows(head: CampaignRecord) -> list[tuple[str, str]]:
    """What the campaign ran on, by name."""
    env = head.environment
    quota = "" if env.cpu_quota is None else f", quota {env.cpu_quota:g}"
    build = ", ".join(f"{k} {v}" for k, v in sorted(env.python_build.items()))
    return [
        (
            "Machine",
            f"{env.cpu_model or env.machine}, {env.cpu_count} processors{quota}, "
            f"{env.memory_total_bytes / 1024**3:.1f} GiB",
        ),
        ("System", f"{env.os}, kernel {env.kernel}"),
        ("Python", f"{env.python} ({build})"),
        ("Commit", f"{env.commit or 'unknown'}{' (dirty)' if env.dirty else ''}"),
        (
            "Campaign",
            f"profile {head.profile}, {head.blocks} blocks, seed {head.seed}, {head.created}",
        ),
        ("Packages", ", ".join(f"{k} {v}" for k, v in sorted(env.packages.items()))),
        ("Limits", ", ".join(f"{k} {v}" for k, v in sorted(env.limits.items()))),
    ]


def to_markdown(records: Records) -> str:
    """The whole summary as Markdown, for ``results/<campaign>/summary.md``."""
    head = stats.campaign_of(records)
    several = bool(across.interpreters(records))
    rows = [] if several else summary_rows(records)
    base = head.base if head else ""
    out: list[str] = [f"# Campaign {head.campaign if head else '(unknown)'}", ""]
    alarms = warnings(records)
    if alarms:
        out += ["## Warnings", "", *(f"- {line}" for line in alarms), ""]
    if several:
        out += ["## Across interpreters", "", *(f"- {line}" for line in across.lines(records)), ""]
        out += _table(ACROSS_HEADER, across_rows(records))
    closed = by_point(rows, stats.CLOSED)
    if closed:
        out += [
            "## Throughput",
            "",
            f"Ratios are against `{base}`, paired within blocks, with 95 % expanded percentile "
            "bootstrap intervals. CPU is the crawler’s, per 1000 pages. p50 and p99 are of the "
            "service time. ○: limited by the server, not the backend’s own speed.",
            "",
        ]
        for point, mine in closed.items():
            out += [
                f"### {point}",
                "",
                *_table(CLOSED_HEADER, [closed_cells(r, base) for r in mine]),
            ]
    shares = wrk_share_rows(records)
    if shares:
        tools = sorted({c.tool for c in stats.ceilings_of(records)})
        out += [
            "## Share of the server’s ceiling",
            "",
            f"Requests/s as a share of {', '.join(tools)} on the same server in this campaign.",
            "",
            *_table(
                ("backend", "share, median", "min", "max"),
                [(label, *(f"{x:.2f}" for x in (s.median, s.low, s.high))) for label, s in shares],
            ),
        ]
    memory = [] if several else memory_rows(records)
    if memory:
        how = (
            "Slope of a Theil–Sen line over the connection counts"
            if all(r.fitted for r in memory)
            else "Per connection at the highest N where there are too few counts for a slope"
        )
        out += [
            "## Memory per connection (KiB)",
            "",
            f"{how}; user with its 95 % interval; highest N "
            f"{max(r.highest for r in memory):,}. The server’s side of the sockets stands apart "
            "and is not in the total.",
            "",
            *_table(MEMORY_HEADER, [memory_cells(r) for r in memory]),
        ]
        reasons = sorted({reason for r in memory for reason in r.reasons})
        out += [f"- Missing: {reason}" for reason in reasons] + ([""] if reasons else [])
        sources: dict[str, str] = {}
        for fit in stats.fit_memory(records).values():
            sources.update(fit.sources)
        if sources:
            out += [
                "Sources: " + "; ".join(f"{k}: {v}" for k, v in sorted(sources.items())) + ".",
                "",
            ]
    out += [*ladder_lines(records), *regime_lines(records), *fairness_lines(records)]
    opened = by_point(rows, ("openloop",))
    if opened:
        out += ["## Open loop", "", "Response time runs from the intended start.", ""]
        out += _table(OPEN_HEADER, [open_cells(r) for mine in opened.values() for r in mine])
    out += ["## Can it be trusted?", "", *(f"- {line}" for line in method_lines(records)), ""]
    if head:
        lines = (f"- {name}: {value}" for name, value in environment_rows(head))
        out += ["## Environment", "", *lines, ""]
    return "\n".join(out)


# --- terminal ---------------------------------------------------------------------------

_VERDICT_STYLES: Final = {"faster": "green", "slower": "red"}


def print_table(records: Records, console: Console) -> None:
    """Print the summary: throughput per point, memory, open loop, trust, warnings."""
    head = stats.campaign_of(records)
    base = head.base if head else ""
    several = bool(across.interpreters(records))
    rows = [] if several else summary_rows(records)
    if several:
        table = Table(title="Across interpreters", title_justify="left", pad_edge=False)
        for i, name in enumerate(ACROSS_HEADER):
            table.add_column(name, justify="left" if i < 2 else "right")
        for cells in across_rows(records):
            table.add_row(*(escape(cell) for cell in cells))
        console.print(table)
        for line in across.lines(records):
            console.print(f"[dim]•[/dim] {escape(line)}")
    closed = by_point(rows, stats.CLOSED)
    if closed:
        # On a narrow terminal the columns that a reader misses least go first.
        narrow = console.width < 118
        table = Table(title="Throughput", title_justify="left", pad_edge=False)
        table.add_column("point / backend", no_wrap=True)
        table.add_column("pages/s" if narrow else "pages/s [min–max]", justify="right")
        table.add_column(f"× {base} [95 %]", justify="right")
        table.add_column("verdict")
        if not narrow:
            table.add_column("CPU ms/1000\nuser + sys", justify="right")
            table.add_column("p50 / p99 ms", justify="right")
            table.add_column("of\nceiling", justify="right")
        table.add_column("limiter")
        for point, mine in closed.items():
            table.add_row(f"[bold]{escape(point)}[/bold]")
            for row in mine:
                if "#" in row.label:
                    continue
                verdict = "base" if row.label == base else "–"
                if row.ratio:
                    verdict = row.ratio.verdict
                    if verdict in ("faster", "slower"):
                        verdict = verdict_cell(row.ratio, row.limiter)
                if not row.trials:
                    verdict = "no valid trial"
                tone = _VERDICT_STYLES.get(verdict.partition(",")[0], "dim")
                speed = row.pages_per_s
                cells = [
                    f"  {escape(row.label)}",
                    _num(speed.median if speed else None) if narrow else escape(_spread(speed)),
                    escape(ratio_cell(row.ratio)),
                    f"[{tone}]{escape(verdict)}[/{tone}]",
                ]
                if not narrow:
                    cells += [
                        f"{_num(row.cpu_user_ms)} + {_num(row.cpu_system_ms)}",
                        f"{_num(row.service_p50_ms)} / {_num(row.service_p99_ms)}",
                        _share(row.ceiling_share),
                    ]
                table.add_row(*cells, _limiter_cell(row.limiter))
        console.print(table)
    memory = [] if several else memory_rows(records)
    if memory:
        table = Table(title="Memory per connection, KiB", title_justify="left", pad_edge=False)
        shown = len(MEMORY_HEADER) if console.width >= 118 else 8
        for i, name in enumerate(MEMORY_HEADER[:shown]):
            table.add_column(name, justify="left" if i == 0 else "right")
        for memory_row in memory:
            cells = memory_cells(memory_row)[:shown]
            if shown < len(MEMORY_HEADER):
                cells[1] = cells[1].partition(" ")[0]  # no room for the interval
            table.add_row(*(escape(c) for c in cells))
        console.print(table)
    opened = by_point(rows, ("openloop",))
    if opened:
        table = Table(title="Open loop", title_justify="left", pad_edge=False)
        columns = range(len(OPEN_HEADER)) if console.width >= 118 else (0, 1, 2, 4, 7)
        for i in columns:
            name = OPEN_HEADER[i] if console.width >= 118 else OPEN_HEADER[i].partition(",")[0]
            table.add_column(name, justify="left" if i in (0, 7) else "right")
        for mine in opened.values():
            for row in mine:
                if "#" in row.label:
                    continue
                cells = open_cells(row)
                if console.width < 118:
                    cells[2] = cells[2].partition(" ")[0]
                table.add_row(*(escape(cells[i]) for i in columns))
        console.print(table)
    for line in method_lines(records):
        console.print(f"[dim]•[/dim] {escape(line)}")
    for line in warnings(records):
        console.print(f"[yellow]![/yellow] {escape(line)}")


__all__ = [
    "Comparison",
    "MemoryRow",
    "SummaryRow",
    "environment_rows",
    "memory_rows",
    "method_lines",
    "print_table",
    "summary_rows",
    "to_markdown",
    "warnings",
    "wrk_share_rows",
]
