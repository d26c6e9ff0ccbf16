"""Compares measurements with claims.

The interval of a reading lies inside the claim's bounds, outside them, or overlaps a
bound. The verdict follows from these positions alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from bench.analysis.analysis import Analysis
from bench.claims import records as experiments
from bench.claims.definition import Claim, Reading, load_all
from bench.claims.readings import Evidence, Missing, Number, read

Position = Literal["inside", "outside", "undecided", "missing"]
Ruling = Literal[
    "reproduced here",
    "reproduced here if",
    "not reproduced here",
    "undecided",
    "cannot be tested here",
    "not tried",
]


SECOND: Final[dict[Position, str]] = {
    "inside": "within the bounds",
    "outside": "outside them",
    "undecided": "undecided",
}
"""What a second reading says where the author's experiment was not tried."""


@dataclass(frozen=True, slots=True)
class Judged:
    """One reading: the number now, and its position relative to the bounds."""

    reading: Reading
    now: Number | Missing

    @property
    def position(self) -> Position:
        """Where the whole interval lies relative to the bounds."""
        low, high = self.reading.holds
        if isinstance(self.now, Missing):
            return "missing"
        if low <= self.now.low and self.now.high <= high:
            return "inside"
        if self.now.high < low or self.now.low > high:
            return "outside"
        return "undecided"


@dataclass(frozen=True, slots=True)
class Verdict:
    """A claim and the result of testing it."""

    claim: Claim
    judged: tuple[Judged, ...]

    @property
    def tried(self) -> bool:
        """Whether anything was measured that could give a number, even if it did not."""
        return any(
            not (isinstance(j.now, Missing) and (j.now.absent or j.now.untried))
            for j in self.judged
        )

    @property
    def untried(self) -> list[str]:
        """Why the author's experiment could not be tried; empty if it could, or there is none."""
        mine = [j.now for j in self.judged if j.reading.whose == "author"]
        reasons = [now.reason for now in mine if isinstance(now, Missing) and now.untried]
        return list(dict.fromkeys(reasons)) if len(reasons) == len(mine) else []

    def _meant(self, position: Position) -> list[str]:
        return [j.reading.meant for j in self.judged if j.position == position]

    @property
    def ruling(self) -> Ruling:
        """The verdict in a few words."""
        positions = {j.position for j in self.judged}
        if self.untried:
            return "not tried"
        if positions == {"missing"}:
            return "cannot be tested here"
        if positions == {"inside"}:
            return "reproduced here"
        if "inside" in positions:
            return "reproduced here if"
        return "not reproduced here" if "outside" in positions else "undecided"

    @property
    def words(self) -> str:
        """The verdict in a sentence."""
        inside, outside = self._meant("inside"), self._meant("outside")
        undecided, untested = self._meant("undecided"), self._meant("missing")
        match self.ruling:
            case "cannot be tested here":
                reasons = [j.now.reason for j in self.judged if isinstance(j.now, Missing)]
                return f"cannot be tested here because {'; '.join(dict.fromkeys(reasons))}"
            case "not tried":
                text = f"not tried because {'; '.join(self.untried)}"
                others = [j for j in self.judged if j.position in SECOND]
                seconds = [f"{SECOND[j.position]} if {j.reading.meant}" for j in others]
                return text + (f". Another experiment: {'; '.join(seconds)}" if seconds else "")
            case "undecided":
                text = "undecided: the interval overlaps a bound"
                if len(self.judged) > 1:
                    text += f" if {_or(undecided)}"
            case "reproduced here if":
                text = f"reproduced here if {_or(inside)}"
                if outside:
                    text += f"; not if {_or(outside)}"
            case "not reproduced here":
                text = "not reproduced here"
                if len(outside) < len(self.judged):
                    text += f" if {_or(outside)}"
            case _:
                return "reproduced here"
        if undecided and self.ruling != "undecided":
            text += f"; undecided if {_or(undecided)}"
        return text + (f"; not tested if {_or(untested)}" if untested else "")


def _or(words: Sequence[str]) -> str:
    return " or ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def judge(evidence: Sequence[Evidence], claims: Sequence[Claim] | None = None) -> list[Verdict]:
    """The verdicts on all claims, in the order of the page."""
    return [
        Verdict(claim, tuple(Judged(r, read(r, evidence)) for r in claim.reading))
        for claim in (load_all() if claims is None else claims)
    ]


def of_campaign(analysis: Analysis, folder: Path) -> list[Verdict]:
    """The verdicts from one campaign and the experiments in its folder.

    Leaves out claims for which nothing was measured; empty if there is no number at
    all. Raises :class:`bench.store.StoreError`.
    """
    evidence = Evidence(analysis.campaign.campaign, analysis, experiments.load(folder))
    tried = [verdict for verdict in judge([evidence]) if verdict.tried]
    return tried if any(v.ruling != "cannot be tested here" for v in tried) else []
