"""What the talk's template may ask for: charts, findings, claims, counts and a fleet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Final

from bench import store
from bench.analysis.analysis import Analysis
from bench.claims import ledger
from bench.claims.verdict import Evidence, Judged, Verdict, judge
from bench.costs import accounts as counts
from bench.costs import report as costs_report
from bench.costs.accounts import Counted
from bench.errors import BenchError
from bench.fleet import records as fleet_records
from bench.fleet import report as fleet_report
from bench.fleet.records import FleetTrial, sentence
from bench.launch import RESULTS
from bench.questions import analysis_in
from bench.report import charts, cite, findings
from bench.schema import Environment
from bench.show.figures import Figure
from bench.show.pictures import alt
from bench.study.record import Run
from bench.text import listing, plural, size_words

POSITIONS: Final = {"inside": "holds here", "outside": "does not", "undecided": "undecided"}
CHAPTER: Final = "a-web-crawler-with-asyncio-coroutines"
"""Part of the address of the text that the talk follows."""
MARKS: Final = ("Hatched", "Hollow")
"""Notes of a chart that begin so are under it; its other notes are the speaker's."""


class TalkError(BenchError):
    """There is no talk in these records."""


@dataclass(frozen=True, slots=True)
class Gap:
    """A slide that these records cannot fill, and why."""

    kicker: str
    reason: str


@dataclass
class Material:
    """The records of a talk, and what is computed from them when the template asks for it."""

    analysis: Analysis
    folder: Path  # of the campaign
    costs: Run[Counted] | None = None
    fleet: Run[FleetTrial] | None = None
    fleet_folder: Path | None = None
    gaps: list[Gap] = field(default_factory=list)
    # Charts that were asked for, or why there is none.
    designs: dict[str, Figure | str] = field(default_factory=dict)

    @classmethod
    def load(cls, campaign: Path, fleet: Path | None = None) -> Material:
        """Read a campaign, the experiments and counts in its folder, and a fleet.

        Raises :class:`bench.store.StoreError` for records that cannot be read, and
        :class:`TalkError` for a campaign that compares interpreters.
        """
        file = store.trials_file(campaign)
        folder, analysis = file.parent, analysis_in(file)
        if analysis.campaign.interpreters:
            raise TalkError(
                f"{folder}: the talk compares models, and this campaign compares interpreters; "
                "name a campaign of one interpreter"
            )
        counted = counts.STUDY.runs(folder.parent / costs_report.NAME)[-1:]
        return cls(
            analysis,
            folder,
            next(iter(counted), None),
            fleet_records.STUDY.last(fleet) if fleet else None,
            fleet,
        )

    def names(self) -> dict[str, Any]:
        """Everything that the template may name."""
        head, trials = self.analysis.campaign, self.analysis.records.trials
        beside: dict[str, list[str]] = {}
        heads = [run.head for run in self.evidence.measured[-1:]]
        heads += [self.evidence.tasks.head] if self.evidence.tasks else []
        for run_head in heads:
            beside.setdefault(machine(run_head.environment), []).append(run_head.run)
        return {
            "licence": cite.LICENCE,
            "campaign": f"campaign {head.campaign}, profile {head.profile}; "
            f"{machine(head.environment)}",
            "trials": len(trials),
            "usable": sum(trial.status == "ok" for trial in trials),
            "experiments": "; ".join(
                f"experiments {listing(runs)}; {where}" for where, runs in beside.items()
            ),
            "counted": self.costs
            and f"counted on {self.costs.head.created[:10]}; "
            f"{machine(self.costs.head.environment)}",
            "holding": self.fleet
            and f"fleet {self.fleet.head.run}; {machine(self.fleet.head.environment)}",
            "fleet": self.fleet and self.fleet.head.environment,
            "largest": fleet_records.largest(self.fleet) if self.fleet else [],
            "refused": self.fleet.faults() if self.fleet else [],
            "verdicts": self.verdicts,
            "judged": self.judged,
            "sentences": self.sentences(),
            "stated": ledger.stated,
            "now": ledger.now,
            "POSITIONS": POSITIONS,
            "MARKS": MARKS,
            "alt": alt,
            "chart": self.chart,
            "look": self.look,
            "missing": self.missing,
            "told": self.told,
            "sentence": sentence,
            "plural": plural,
            "size": partial(size_words, digits=2),
        }

    @cached_property
    def evidence(self) -> Evidence:
        """The campaign with the experiments in its folder, and waiting tasks beside it."""
        return Evidence.of(self.analysis.campaign.campaign, self.analysis, self.folder)

    @cached_property
    def verdicts(self) -> Mapping[str, Verdict]:
        """Every claim with what this campaign says of it, by its name."""
        return {verdict.claim.name: verdict for verdict in judge([self.evidence])}

    def judged(self, name: str) -> list[Judged]:
        """The readings of a claim that have a number."""
        return [reading for reading in self.verdicts[name].judged if reading.position != "missing"]

    def sentences(self) -> list[tuple[int, Verdict, Judged]]:
        """What the chapter says, by its steps, and the first reading of each with a number."""
        return [
            (step, verdict, next(it for it in verdict.judged if it.position != "missing"))
            for step, verdict, _ in ledger.by_step([self.evidence])
            if verdict.known and CHAPTER in verdict.claim.url
        ]

    def told(self, name: str, *, variants: bool = False) -> str:
        """A finding as far as it is about the models: what a speaker can say in one breath."""
        text = findings.named(self.analysis).get(name, "").partition(" HTTP stacks: ")[0]
        return text if variants else text.partition(" Variants: ")[0]

    # --- charts ---------------------------------------------------------------------------

    def chart(self, name: str, kicker: str) -> Figure | None:
        """A chart for a slide of its own; where there is none, the slide is a gap."""
        figure = self.look(name)
        if figure is None:
            self.missing(kicker, str(self.designs[name]))
        return figure

    def look(self, name: str) -> Figure | None:
        """A chart, if these records have it."""
        if name not in self.designs:
            self.designs[name] = self._design(name)
        design = self.designs[name]
        return design if isinstance(design, Figure) else None

    def _design(self, name: str) -> Figure | str:
        if name == costs_report.NAME:
            if self.costs is None:
                return "no counts beside the campaign, in ../costs"
            return costs_report.design(self.costs)
        if name == fleet_report.RAMP:
            if self.fleet is None:
                return "no fleet was named: add --fleet results/FLEET"
            return fleet_report.ramp(self.fleet)
        return charts.story(self.analysis).get(name, "this campaign did not measure it")

    def missing(self, kicker: str, reason: str) -> str:
        """Note a slide that is left out; there is nothing to show for it."""
        self.gaps.append(Gap(kicker, reason))
        return ""

    def file(self, name: str) -> Path:
        """Where a chart lies once it was drawn: with its own records."""
        folders = {
            costs_report.NAME: RESULTS / "costs",
            fleet_report.RAMP: self.fleet_folder or Path(),
        }
        return folders.get(name, self.folder) / "charts" / f"{name}.svg"

    def backends(self, name: str) -> Sequence[str]:
        """The backends in the order that decides on the colours of a chart."""
        if name == costs_report.NAME and self.costs:
            return list(dict.fromkeys(backend for backend, *_ in counts.crawled(self.costs)))
        if name == fleet_report.RAMP and self.fleet:
            return fleet_report.backends(self.fleet)
        return self.analysis.backends


def machine(environment: Environment) -> str:
    """Interpreter and machine in a few words."""
    processor = environment.cpu_model or environment.machine
    return f"{environment.python}, {processor}, {plural(environment.cpu_count, 'processor')}"
