"""What a talk is made from: a campaign, and what lies beside it or was named."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from bench import store
from bench.analysis.analysis import Analysis
from bench.capacity import fixture, report
from bench.capacity.advice import Advice, advise
from bench.capacity.validation import validation
from bench.claims import records as experiments
from bench.claims.readings import Evidence
from bench.claims.verdict import Judged, Verdict, judge
from bench.costs import account
from bench.costs import record as costs_record
from bench.costs.account import Account
from bench.costs.record import Costs
from bench.errors import BenchError
from bench.exhibits import stack_ripping
from bench.exhibits.stack_ripping import Ripped
from bench.fleet import store as fleet_store
from bench.fleet.store import FleetRecords
from bench.schema import Environment
from bench.text import plural
from crawlers.registry import MODELS


class TalkError(BenchError):
    """There is no talk in these records."""


@dataclass(slots=True)
class Inputs:
    """All records of a talk: the campaign's, and further ones where there are any."""

    analysis: Analysis
    measured: list[experiments.AnyLine]
    costs: Costs | None = None
    fleet: FleetRecords | None = None


class Material:
    """The records of a talk, and what is computed from them when a slide asks for it."""

    def __init__(self, inputs: Inputs) -> None:
        self.analysis = inputs.analysis
        self.measured = inputs.measured
        self.costs = inputs.costs
        self.fleet = inputs.fleet

    @classmethod
    def load(cls, campaign: Path, fleet: Path | None = None) -> Material:
        """Read a campaign, the experiments and counts in its folder, and a fleet.

        Raises :class:`bench.store.StoreError` for records that cannot be read, and
        :class:`TalkError` for a campaign that compares interpreters.
        """
        file = store.trials_file(campaign)
        folder, analysis = file.parent, Analysis.load(file)
        if analysis.releases:
            raise TalkError(
                f"{folder}: the talk compares models, and this campaign compares interpreters; "
                "name a campaign of one interpreter"
            )
        counted = folder / costs_record.FILE_NAME
        return cls(
            Inputs(
                analysis,
                experiments.load(folder),
                costs_record.load(counted) if counted.exists() else None,
                fleet_store.load(fleet) if fleet else None,
            )
        )

    @cached_property
    def verdicts(self) -> Mapping[str, Verdict]:
        """Every claim with what this campaign says of it, by its name."""
        evidence = Evidence(self.analysis.campaign.campaign, self.analysis, self.measured)
        return {verdict.claim.name: verdict for verdict in judge([evidence])}

    def judged(self, name: str) -> list[Judged]:
        """The readings of a claim that have a number."""
        return [one for one in self.verdicts[name].judged if one.position != "missing"]

    @cached_property
    def accounts(self) -> list[Account]:
        """What a page takes, counted; empty without a record."""
        return account.accounts(self.costs) if self.costs else []

    @cached_property
    def advice(self) -> Advice | None:
        """What each model needs for the load of the report's form; None where nothing says it."""
        measured = fixture.measured(self.analysis)
        if measured is None or measured.point is None:
            return None
        checked = validation(self.analysis, measured)
        models = [each for each in measured.backends if each.name in MODELS]
        costs = replace(measured, backends=models)
        return advise(costs, checked, report.example(costs))

    @cached_property
    def ripped(self) -> list[Ripped]:
        """The traceback of each model; each runs for a moment."""
        return stack_ripping.rip_all()

    # --- where numbers come from ----------------------------------------------------------

    @property
    def campaign(self) -> str:
        """The campaign's id, profile and machine."""
        head = self.analysis.campaign
        return f"campaign {head.campaign}, profile {head.profile}; {machine(head.environment)}"

    @property
    def experiments(self) -> list[str]:
        """The last run of the experiments for the claims, if there is one."""
        here = machine(self.analysis.campaign.environment)
        found = []
        for run in experiments.runs(self.measured)[-1:]:
            there = machine(run.environment)
            found.append(f"experiments {run.run}" + (f"; {there}" if there != here else ""))
        return found

    @property
    def counted(self) -> list[str]:
        """The record of counts, if there is one."""
        if self.costs is None:
            return []
        header = self.costs.header
        return [f"counted on {header.created[:10]}; {machine(header.environment)}"]

    @property
    def held(self) -> list[str]:
        """The fleet, if there is one."""
        if self.fleet is None:
            return []
        head = self.fleet.fleet
        return [f"fleet {head.fleet}; {machine(head.environment)}"]


def machine(environment: Environment) -> str:
    """Interpreter and machine in a few words."""
    processor = environment.cpu_model or environment.machine
    return f"{environment.python}, {processor}, {plural(environment.cpu_count, 'processor')}"
