"""What a question is: one thing that people ask, from its measurement to its headline.

A module of this package is a question. Report, summary, findings, cards and JSON go through
:data:`bench.questions.QUESTIONS` and know none of them by name.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from bench.analysis.analysis import Analysis
from bench.analysis.stats import MIN_BLOCKS
from bench.analysis.wording import prose
from bench.show.figures import Figure
from bench.show.measured import Measured
from bench.show.table import Table
from bench.text import plural
from crawlers.registry import MODELS


@dataclass(frozen=True, slots=True)
class Headline:
    """A sentence that may be quoted, without its stop, and what stands behind it."""

    text: str
    behind: str  # the interval of each number in it, and the number of blocks


@dataclass(frozen=True)
class Answer:
    """What the records of a campaign say to a question. What is empty is not shown."""

    measured: Measured
    headline: Headline | None = None
    prose: str = ""  # Markdown: how it was measured, the cause, the command
    tables: Sequence[Table] = ()
    figures: Sequence[Figure] = ()

    @property
    def finding(self) -> str | None:
        """The headline in bold with its intervals, then the prose."""
        if self.headline is None:
            return None
        return f"**{self.headline.text}** ({self.headline.behind}). {self.prose}".strip()


class Question(Protocol):
    """A module of this package."""

    NAME: str
    """On the command line, in records, in names of files: ``churn``."""

    ASKS: str
    """``What does a new connection cost?``"""

    def answer(self, analysis: Analysis, /) -> Answer | None:
        """None where the campaign did not measure it."""


def of_models(found: Measured, key: str, costs: str) -> Headline | None:
    """The models with the most and the least, if they differ.

    Five blocks make an interval: the lowest and the highest of them enclose the median of the
    population with a probability of 1 - 2 ** (1 - n), 94 % for five and 97 % for six. With fewer
    blocks the sentence says how few, and has no interval.
    """
    ranked = found.with_(key, MODELS)
    if len(ranked) < 2:
        return None
    most, least = ranked[0], ranked[-1]
    words = found.measures[key].unit.words
    ratio = found.compare(key, most, least)
    only = few(ratio.blocks)
    if not only and not ratio.shown:
        return Headline(
            f"{costs} about as much with every model", f"{plural(ratio.blocks, 'block')}"
        )
    text = (
        f"{costs} {words(found.median(most, key))} with {prose(most)} and "
        f"{words(found.median(least, key))} with {prose(least)}{only}"
    )
    if only:
        return Headline(text, "no interval")
    ranges = " and ".join(
        f"{words(spread.low)} to {words(spread.high)}"
        for label in (most, least)
        if (spread := found.spread(label, key))
    )
    return Headline(text, f"{ranges}: lowest and highest of {plural(ratio.blocks, 'block')}")


def few(blocks: int) -> str:
    """How few blocks stand behind a sentence; empty where they are enough for an interval."""
    if blocks >= MIN_BLOCKS:
        return ""
    return ", in one trial" if blocks == 1 else f", in {plural(blocks, 'trial')} each"
