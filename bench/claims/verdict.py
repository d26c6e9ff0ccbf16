"""Hold what was measured against what was said.

A reading's interval lies inside the claim's bounds, outside them, or reaches
over one; the verdict is put together from those and from nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from bench import store
from bench.claims import records as experiments
from bench.claims.definition import Claim, Reading, load_all
from bench.claims.readings import Evidence, Missing, Number, read

Stand = Literal["inside", "outside", "undecided", "missing"]
Call = Literal["holds", "holds if", "no longer holds", "undecided", "cannot be tested here"]


@dataclass(frozen=True, slots=True)
class Judged:
    """One reading: the number now, and where it stands to the bounds."""

    reading: Reading
    now: Number | Missing

    @property
    def stand(self) -> Stand:
        """Where the whole interval lies."""
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
    """A claim and what became of it."""

    claim: Claim
    judged: tuple[Judged, ...]

    @property
    def tried(self) -> bool:
        """Whether anything was measured that could give a number, even if it gave none."""
        return any(not (isinstance(j.now, Missing) and j.now.absent) for j in self.judged)

    def _meant(self, stand: Stand) -> list[str]:
        return [j.reading.meant for j in self.judged if j.stand == stand]

    @property
    def call(self) -> Call:
        """The verdict in two or three words."""
        stands = {j.stand for j in self.judged}
        if stands == {"missing"}:
            return "cannot be tested here"
        if stands == {"inside"}:
            return "holds"
        if "inside" in stands:
            return "holds if"
        return "no longer holds" if "outside" in stands else "undecided"

    @property
    def words(self) -> str:
        """The verdict in a sentence."""
        inside, outside = self._meant("inside"), self._meant("outside")
        undecided, untested = self._meant("undecided"), self._meant("missing")
        match self.call:
            case "cannot be tested here":
                reasons = [j.now.reason for j in self.judged if isinstance(j.now, Missing)]
                return f"cannot be tested here because {'; '.join(dict.fromkeys(reasons))}"
            case "undecided":
                text = "undecided: the interval reaches over the bound"
                if len(self.judged) > 1:
                    text += f" if {_or(undecided)}"
            case "holds if":
                text = f"holds if {_or(inside)}"
                if outside:
                    text += f"; not if {_or(outside)}"
            case "no longer holds":
                text = "no longer holds"
                if len(outside) < len(self.judged):
                    text += f" if {_or(outside)}"
            case _:
                return "holds"
        if undecided and self.call != "undecided":
            text += f"; undecided if {_or(undecided)}"
        return text + (f"; not tested if {_or(untested)}" if untested else "")


def _or(words: Sequence[str]) -> str:
    return " or ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def judge(evidence: Sequence[Evidence], claims: Sequence[Claim] | None = None) -> list[Verdict]:
    """The verdict on every claim, in the page's order."""
    return [
        Verdict(claim, tuple(Judged(r, read(r, evidence)) for r in claim.reading))
        for claim in (load_all() if claims is None else claims)
    ]


def of_campaign(records: store.Records, folder: Path) -> list[Verdict]:
    """The verdicts of one campaign and of the experiments kept in its folder.

    Claims for which nothing was measured are left out; there are none at all
    where no number was found. Raises :class:`bench.store.StoreError`.
    """
    evidence = Evidence(records.campaign.campaign, records.all, experiments.load(folder))
    tried = [verdict for verdict in judge([evidence]) if verdict.tried]
    return tried if any(v.call != "cannot be tested here" for v in tried) else []
