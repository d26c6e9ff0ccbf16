"""Is any slot left behind?

Many slots, no delay: every slot could fetch all the time. Where a slot completes far less than
the median slot, the model starves it.
"""

from __future__ import annotations

from typing import Final

from bench.analysis import stats
from bench.analysis.analysis import Analysis
from bench.analysis.wording import PLURALS, prose
from bench.questions.question import RANGES, Answer, Headline, bars, few
from bench.schema import Fairness
from bench.show.figures import Unit
from bench.show.measured import MS, Measure, Measured, Value, by_label
from bench.show.words import listed, sentence
from bench.text import count, listing, plural

NAME: Final = "fairness"
ASKS: Final = "Is any slot left behind?"
STARVED: Final = 0.5
"""A slot with less than this share of the median slot's completions is starved."""

LEAST, WAIT, JAIN = "least", "wait", "jain"
PROSE: Final = (
    f"A slot is starved when it completes less than {STARVED:.0%} of what the median slot "
    "completes before the list of URLs runs out. Nothing delays an answer, so every slot could "
    "fetch all the time. To measure it: `python -m bench run --profile full --only fairness`."
)


def _percent(share: float) -> str:
    return f"{share:.0%}"


def _index(value: float) -> str:
    return f"{value:.3g}"


MEASURES: Final = {
    LEAST: Measure(
        "least served slot",
        "pages of the least served slot, of those of the median slot",
        Unit("share", _percent, _percent),
    ),
    WAIT: Measure("longest wait of a slot", "longest wait of any slot", MS),
    JAIN: Measure("Jain’s", "Jain’s fairness of the slots", Unit("index", _index, _index)),
}


VALUES: Final[dict[str, Value]] = {
    LEAST: lambda trial: stats.least_served(trial.fairness) if trial.fairness else None,
    WAIT: lambda trial: 1000 * trial.fairness.longest_gap_s[-1] if trial.fairness else None,
    JAIN: lambda trial: trial.fairness.jain if trial.fairness else None,
}


def measured(analysis: Analysis) -> tuple[Measured, list[Fairness]]:
    trials = stats.trials_of(analysis.records, NAME, twins=False)
    runs = [run for trial in trials if (run := trial.fairness)]
    return Measured(MEASURES, by_label(trials, analysis.labels, VALUES)), runs


def answer(analysis: Analysis) -> Answer | None:
    found, runs = measured(analysis)
    if not runs:
        return None
    slots = runs[0].slots
    head = headline(found, slots)
    return Answer(
        found,
        head,
        PROSE,
        tables=[
            found.table(
                "Fairness between slots",
                f"{count(slots)} slots, no delay. The share is of what the median slot completes. "
                "Jain’s index is 1 where all slots complete as much.",
            )
        ],
        figures=[
            bars(
                found,
                head,
                NAME,
                "The slot that completes least, and the one that waits longest",
                f"{count(slots)} slots, no delay",
                {
                    "pages of the least served slot ÷ median slot": (LEAST,),
                    "longest wait of any slot": (WAIT,),
                },
                notes=[
                    f"A slot is starved when it completes less than {STARVED:.0%} of what the "
                    "median slot completes before the list of URLs runs out. " + RANGES,
                    *listed(stats.trials_of(analysis.records, NAME)),
                ],
            )
        ],
    )


def headline(found: Measured, slots: int) -> Headline | None:
    """A count of blocks; nothing is said where some starve and others do not."""
    starved = {
        label: [share < STARVED for share in row[LEAST].values()]
        for label, row in found.values.items()
    }
    blocks = min(map(len, starved.values()))
    always = [label for label, each in starved.items() if all(each)]
    if always:
        verb = "starve" if len(always) > 1 or always[0] in PLURALS else "starves"
        where = "one trial" if blocks == 1 else f"all {blocks} trials"
        who = listing([prose(label) for label in always])
        worst = max(spread.high for label in always if (spread := found.spread(label, LEAST)))
        return Headline(
            sentence(f"{who} {verb} some of {count(slots)} slots in {where}"),
            f"the least served slot completes at most {worst:.0%} of the median slot’s pages",
        )
    if any(map(any, starved.values())):
        return None
    least = min(spread.low for label in starved if (spread := found.spread(label, LEAST)))
    return Headline(
        f"No backend starves any of {count(slots)} slots{few(blocks)}",
        f"every slot completes at least {least:.0%} of the median slot’s pages, "
        f"{plural(blocks, 'block')}",
    )
