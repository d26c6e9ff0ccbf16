"""Is any slot left behind?

Many slots, no delay: every slot could fetch all the time. Where a slot completes far less than
the median slot, the model starves it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from bench.analysis.analysis import Analysis
from bench.questions.columns import Columns, Read
from bench.questions.question import RANGES, Headline, few
from bench.schema import TrialRecord
from bench.show.figures import Unit
from bench.show.measured import WAIT, Measured
from bench.show.words import PLURALS, listed, prose, sentence
from bench.text import count, in_percent, listing, plural

NAME: Final = "fairness"
ASKS: Final = "Is any slot left behind?"
STARVED: Final = 0.5
"""A slot with less than this share of the median slot's completions is starved."""


def least_served(trial: TrialRecord) -> float | None:
    """Completions of the least served slot over those of the median slot."""
    if trial.fairness is None:
        return None
    completions = trial.fairness.completions
    middle = completions[len(trial.fairness.quantiles) // 2]
    return completions[0] / middle if middle else 0.0


class Starving(Columns):
    def facts(self, analysis: Analysis, _: Measured) -> Mapping[str, str]:
        trials = self.trials(analysis)
        slots = next(trial.fairness.slots for trial in trials if trial.fairness)
        return {"slots": count(slots), "listed": " ".join(listed(trials))}

    def headline(self, analysis: Analysis, measured: Measured) -> Headline | None:
        """A count of blocks; nothing is said where some starve and others do not."""
        slots = self.facts(analysis, measured)["slots"]
        starved = {
            label: [share < STARVED for share in row[self.head].values()]
            for label, row in measured.values.items()
        }
        blocks = min(map(len, starved.values()))
        always = [label for label, starving in starved.items() if all(starving)]
        if always:
            verb = "starve" if len(always) > 1 or always[0] in PLURALS else "starves"
            where = "one trial" if blocks == 1 else f"all {blocks} trials"
            who = listing([prose(label) for label in always])
            worst = max(
                spread.high for label in always if (spread := measured.spread(label, self.head))
            )
            return Headline(
                sentence(f"{who} {verb} some of {slots} slots in {where}"),
                f"the least served slot completes at most {in_percent(worst)} of the median slot’s "
                "pages",
            )
        if any(map(any, starved.values())):
            return None
        least = min(
            spread.low for label in starved if (spread := measured.spread(label, self.head))
        )
        return Headline(
            f"No backend starves any of {slots} slots{few(blocks)}",
            f"every slot completes at least {in_percent(least)} of the median slot’s pages, "
            f"{plural(blocks, 'block')}",
        )


COLUMNS: Final = Starving(
    workloads=[NAME],
    columns={
        "least": Read(
            "least served slot",
            "pages of the least served slot, of those of the median slot",
            Unit("share", in_percent, in_percent, "median"),
            least_served,
        ),
        "wait": Read(
            "longest wait of a slot",
            "longest wait of any slot",
            WAIT,
            lambda trial: 1000 * trial.fairness.longest_gap_s[-1] if trial.fairness else None,
        ),
    },
    head="least",
    paired=False,  # a slot is compared with the others of its crawl
    caption="Fairness between slots",
    about="{slots} slots, no delay. The share is of what the median slot completes.",
    title="The slot that completes least, and the one that waits longest",
    subtitle="{slots} slots, no delay",
    panels={
        "pages of the least served slot ÷ median slot": ("least",),
        "longest wait of any slot": ("wait",),
    },
    notes=[
        f"A slot is starved when it completes less than {in_percent(STARVED)} of what the median "
        f"slot completes before the list of URLs runs out. {RANGES}",
        "{listed}",
    ],
    prose=f"A slot is starved when it completes less than {in_percent(STARVED)} of what the median "
    "slot completes before the list of URLs runs out. Nothing delays an answer, so every slot "
    "could fetch all the time. To measure it: "
    "`python -m bench run --profile full --only fairness`.",
)
measured, answer = COLUMNS.measured, COLUMNS.answer
