"""What the record of :mod:`tools.turn_cost` says: tables and sentences for docs/decisions.md."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from textwrap import fill
from typing import Final

from bench.analysis import stats
from bench.analysis.analysis import Analysis
from bench.plan.cast import BASE
from bench.text import listing, markdown_table
from tools.turn_cost_record import (
    ITSELF,
    ONE,
    OTHERS,
    PAUSE,
    SERVER_SWEPT,
    SUITE_MS,
    SWEPT,
    WHOLE_PAGES,
    Block,
    Figure,
    Head,
    after_itself,
    compared,
    figure,
    fit,
    in_turns,
    marginal,
    over,
    predicted,
    steady,
    together,
    whole,
)

POINTS: Final = ("fetch-100", "throughput-100")
"""The points of a campaign whose turns are looked at."""
QUIET: Final = 1.5
"""With a load average above this, other programs ran: the figures are provisional."""


def text(recorded: tuple[Head, Sequence[Block]] | None, campaign: Analysis | None = None) -> str:
    """All tables with what they say; ``campaign`` adds what its own turns and trials say."""
    parts = []
    if campaign is not None and any(log.point in POINTS for log in campaign.turns):
        parts += [
            f"In campaign `{campaign.campaign.campaign}`, at {listing(POINTS)}: how much more a "
            "page costs in a turn that follows another label's than in one that follows the "
            "label's own, where the order of a round turns:",
            "\n".join(alike(campaign)),
        ]
    if recorded is None:
        return wrapped([*parts, "`python -m tools.turn_cost` was not run yet."])
    head, blocks = recorded
    parts += [
        f"`python -m tools.turn_cost`: {conditions(head, blocks)}",
        "What each explanation adds to the cost of a page, the mean over all backends:",
        "\n".join(causes(head, blocks)),
        verdict(head, blocks),
        "By the length of the turns, after all other crawls: what a page costs, in per cent "
        "above its steady cost, and the fit of `steady + refill / pages of the turn`:",
        "\n".join(by_length(head, blocks)),
        f"By what happened before a turn of {SUITE_MS} ms, in per cent above the steady cost:",
        "\n".join(by_cause(head, blocks)),
        "By the time since the turn began, after all other crawls, in per cent above the steady "
        "cost: what the pages cost that a longer turn has and the next shorter one has not:",
        "\n".join(within(head, blocks)),
        f"How much turns of {SUITE_MS} ms change the ratio to `{BASE}`, in per cent; what the "
        "start of a crawl adds to a page of a whole trial; what follows from both; and what the "
        "campaign found:",
        "\n".join(ratios(head, blocks, campaign)),
    ]
    return wrapped(parts)


def wrapped(parts: Sequence[str]) -> str:
    """Paragraphs as the documents have them; tables are left alone."""
    return "\n\n".join(
        part if part.startswith("|") else fill(part, 100, break_on_hyphens=False) for part in parts
    )


def conditions(head: Head, blocks: Sequence[Block]) -> str:
    """Where and when, and whether that was quiet."""
    loads = [block.load1 for block in blocks if block.load1 is not None]
    seconds = sum(block.wall_s for block in blocks)
    where = (
        f"{len(blocks)} blocks, {len(head.labels)} crawls alive in each, {seconds:.0f} s, "
        f"{head.environment.python}, {head.environment.cpu_count} processors. "
    )
    out = sorted({label for block in blocks for label in block.out_of_work})
    if out:
        where += f"In some blocks {listing(out)} ran out of pages before the end. "
    if bad := {f"{label} ({why})" for b in blocks for label, why in b.bad.items()}:
        where += f"Left out: {listing(sorted(bad))}. "
    # The experiment itself keeps one processor busy, and the servers that poll a second one.
    if not loads:
        return where + "The load of the machine is not known."
    first = loads[0]
    if first > QUIET:
        return where + (
            f"**Provisional:** other programs kept the load at {first:.1f} when it began."
        )
    return where + f"The load was {first:.1f} when it began."


def labels_of(head: Head, blocks: Sequence[Block]) -> list[str]:
    """The labels with a steady cost."""
    return [label for label in head.labels if steady(blocks, label)]


def cell(found: Figure | None) -> str:
    """A change, or a dash."""
    return "–" if found is None else found.change


def by_length(head: Head, blocks: Sequence[Block]) -> list[str]:
    """One row for each label: lengths, and the fit."""
    lengths = sorted({c.turn_ms for b in blocks for c in b.cells if c.before == OTHERS})
    rows = []
    for label in labels_of(head, blocks):
        base, found = steady(blocks, label), fit(blocks, label)
        middle = figure(base)
        assert middle is not None, "labels_of asks for it"
        error = "" if found is None or found.error_us is None else f" ± {found.error_us:.0f}"
        rows.append(
            [
                f"`{label}`",
                f"{middle.value:.1f}",
                *(cell(figure(over(in_turns(blocks, label, OTHERS, ms), base))) for ms in lengths),
                "–" if found is None else f"{found.refill_us:.0f}{error}",
                "–" if found is None else f"{100 * found.misfit:.1f}",
            ]
        )
    shown = [f"{ms} ms" for ms in lengths]
    header = ["backend", "steady, µs", *shown, "refill, µs a turn", "misfit, %"]
    return markdown_table(header, rows, right=len(header) - 1)


CAUSES: Final = {
    ITSELF: "itself",
    PAUSE: "a pause",
    ONE: "one other",
    OTHERS: "all others",
    SWEPT: "a sweep",
    SERVER_SWEPT: "a sweep of the server's processor",
}


def caused(blocks: Sequence[Block], label: str, before: str) -> Figure | None:
    """The cost of turns of :data:`SUITE_MS` in one condition, over the steady cost."""
    return figure(over(in_turns(blocks, label, before, SUITE_MS), steady(blocks, label)))


def by_cause(head: Head, blocks: Sequence[Block]) -> list[str]:
    """One row for each label, one column for each thing that may come before a turn."""
    rows = [
        [f"`{label}`", *(cell(caused(blocks, label, before)) for before in CAUSES)]
        for label in labels_of(head, blocks)
    ]
    return markdown_table(["backend", *CAUSES.values()], rows, right=len(CAUSES))


def within(head: Head, blocks: Sequence[Block]) -> list[str]:
    """One row for each label: what the pages cost that a longer turn has and a shorter has not."""
    lengths = sorted({c.turn_ms for b in blocks for c in b.cells if c.before == OTHERS})
    parts = list(pairwise([0, *lengths]))
    rows = []
    for label in labels_of(head, blocks):
        base = steady(blocks, label)
        found = [figure(over(marginal(blocks, label, *part), base)) for part in parts]
        rows.append([f"`{label}`", *map(cell, found)])
    heads = [f"{start}–{end} ms" for start, end in parts]
    return markdown_table(["backend", *heads], rows, right=len(heads))


def campaigns(analysis: Analysis | None) -> dict[str, Figure]:
    """Label -> ratio to the base in turns over that in whole trials, by CPU, in a campaign."""
    found = {}
    for row in analysis.validity.by(stats.CPU_PER_1000) if analysis and analysis.validity else ():
        one = row.agreement
        if one is not None and one.value is not None:
            found[row.label] = Figure(one.value, one.low, one.high)
    return found


def ratios(head: Head, blocks: Sequence[Block], campaign: Analysis | None) -> list[str]:
    """One row for each label but the base."""
    known = campaigns(campaign)
    rows = []
    for label in labels_of(head, blocks):
        if label != BASE:
            mine = compared(blocks, label, SUITE_MS)
            start, guess = figure(whole(blocks, label)), predicted(blocks, label)
            rows.append([f"`{label}`", *map(cell, (mine, start, guess, known.get(label)))])
    name = campaign.campaign.campaign if campaign else "a campaign"
    heads = [
        "turns over steady, against the base",
        f"start, over {WHOLE_PAGES:,} pages",
        "predicted: turns over whole trials",
        f"found: turns over whole trials, `{name}`",
    ]
    return markdown_table(["backend", *heads], rows, right=len(heads))


CONTRASTS: Final = (
    ("steady", ITSELF, "stopping and resuming, with nobody in between"),
    (ITSELF, PAUSE, "the time for which it is stopped"),
    (PAUSE, SERVER_SWEPT, "a server whose processor did something else"),
    (PAUSE, SWEPT, "caches that another program filled with data"),
    (ITSELF, ONE, "one other crawl in between"),
    (ONE, OTHERS, "all other crawls instead of one"),
)


def contrast(
    blocks: Sequence[Block], labels: Sequence[str], first: str, then: str
) -> Figure | None:
    """The cost of a page after ``then`` over that after ``first``: the mean of all labels."""

    def of(label: str, before: str) -> dict[int, float]:
        if before == "steady":
            return steady(blocks, label)
        return in_turns(blocks, label, before, SUITE_MS)

    return figure(together(over(of(label, then), of(label, first)) for label in labels))


def causes(head: Head, blocks: Sequence[Block]) -> list[str]:
    """One row for each explanation: what it adds to the cost of a page, over all backends."""
    labels = labels_of(head, blocks)
    rows = []
    for first, then, what in CONTRASTS:
        found = contrast(blocks, labels, first, then)
        rows.append([what, CAUSES.get(then, then), CAUSES.get(first, first), cell(found)])
    return markdown_table(["what is added", "after", "against", "per cent"], rows, right=1)


def verdict(head: Head, blocks: Sequence[Block]) -> str:
    """Which explanations show a cost and which do not, in a sentence."""
    labels = labels_of(head, blocks)
    costs, nothing = [], []
    for first, then, what in CONTRASTS:
        found = contrast(blocks, labels, first, then)
        if found is None or found.low is None or found.high is None:
            continue
        if found.low > 1:
            costs.append(f"{what} ({100 * (found.value - 1):+.1f} %)")
        else:
            nothing.append(f"{what} (at most {100 * (found.high - 1):+.1f} %)")
    found_lines = []
    if costs:
        found_lines.append(f"A cost is shown of {'; '.join(costs)}.")
    if nothing:
        found_lines.append(f"None is shown of {'; '.join(nothing)}.")
    if not found_lines:
        return f"Fewer than {stats.MIN_BLOCKS} blocks: no interval, so nothing is concluded."
    return " ".join(found_lines)


def alike(campaign: Analysis) -> list[str]:
    """What a campaign's own log of turns says: turns after another label's, or after its own."""
    logs = [log for log in campaign.turns if log.point in POINTS]
    found = after_itself(logs)
    rows = [[f"`{label}`", cell(found[label])] for label in sorted(found)]
    return markdown_table(["backend", "after another label's turn, per cent"], rows, right=1)
