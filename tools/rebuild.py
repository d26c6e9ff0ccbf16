"""Rebuild everything in this repository that is made from records.

``python -m tools.rebuild`` draws the charts, reports and summaries under ``results/`` and fills
the generated parts of README.md and docs/. It measures nothing. Run it after a change to the
analysis, a table, a chart or the wording of a finding, and commit what has changed. Name some of
``reference``, ``reference-3.11``, ``interpreters``, ``fleet``, ``fleet-tls``, ``micro``,
``costs``, ``reliability`` and ``documents`` to rebuild only these.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from rich.console import Console

from bench import store
from bench.__main__ import main as bench
from bench.analysis.analysis import Analysis
from bench.cards import document as cards_document
from bench.cards import libraries
from bench.cli.publishing import EXTENSIONS
from bench.costs import account as costs_account
from bench.costs import record as costs_record
from bench.costs import report as costs_report
from bench.costs import tuning
from bench.costs.account import Account
from bench.costs.record import Costs
from bench.fleet import report as fleet_report
from bench.fleet import store as fleet_store
from bench.launch import RESULTS, ROOT
from bench.micro import report as micro_report
from bench.report import cite, publish
from tests.torture import document, soak

COMMANDS: Final = (
    "claims --out docs/claims.md",
    "findings results/reference --into README.md",
    "findings results/reference --into docs/findings.md",
    "findings results/reference --into docs/reading-the-charts.md",
    "findings results/reference --into docs/method.md",
    "findings results/interpreters --into docs/interpreters.md",
    "fleet report results/fleet --docs docs/fleet.md",
    "sidebyside --page docs/side-by-side.md",
    "tracebacks --out docs/stack-ripping.md",
    "talk results/reference --fleet results/fleet --page docs/talk.md",
)
"""These write the generated documents, and generated parts of others."""

TORTURES: Final = (
    *("faults", "faults-tls", "fuzz", "leaks", "limits"),
    *("races", "races-free-threaded", "signals"),
)
"""These have a table in docs/reliability.md, as :mod:`~tests.torture.soak` has."""


@cache
def analysed(name: str) -> Analysis:
    """A campaign under ``results/``, loaded once."""
    return Analysis.load(store.trials_file(RESULTS / name))


@cache
def recorded_costs() -> Costs | None:
    """The counted costs, loaded once; None without a record."""
    folder = RESULTS / "costs"
    return costs_record.load(folder) if costs_record.is_costs(folder) else None


@cache
def counted() -> list[Account]:
    """The accounts of the counted costs; empty without a record."""
    record = recorded_costs()
    return costs_account.accounts(record) if record else []


def campaign(name: str, out: Path) -> None:
    """Write the report, summary and charts of a campaign under ``results/``."""
    publish.build(analysed(name), out, store.trials_file(RESULTS / name), EXTENSIONS)


def fleet(name: str, out: Path) -> None:
    """Write the summary and charts of a fleet under ``results/``."""
    fleet_report.write(fleet_store.load(RESULTS / name), out)


def fleet_over_tls() -> str:
    """The tables of docs/fleet.md about encrypted connections."""
    return fleet_report.tables(fleet_store.load(RESULTS / "fleet-tls"))


def micro(out: Path) -> None:
    """Write the summary and the charts of the micro-benchmarks."""
    found = micro_report.load(RESULTS / "micro")
    micro_report.write(found, out, Console(file=None, quiet=True), analysed("reference"))


def costs(out: Path) -> None:
    """Write the summary and chart of the counted costs, where there is a record."""
    if record := recorded_costs():
        costs_report.write(record, counted(), out)


def costs_excerpt() -> None:
    """Fill docs/costs.md and the part of README.md, where there is a record."""
    if record := recorded_costs():
        made = counted()
        image = "../results/costs/charts/costs.svg"
        document.fill(
            "costs", costs_report.excerpt(record, made, image), ROOT / "docs" / "costs.md"
        )
        document.fill("costs", costs_report.short(record, made), ROOT / "README.md")


def tuning_table() -> str:
    """The table of docs/fairness.md, from the reference and the counted costs, if there are any."""
    return tuning.markdown(analysed("reference"), counted())


def cards() -> dict[str, str]:
    """The files of docs/cards, which the site has, and their text."""
    file = store.trials_file(RESULTS / "reference")
    single = micro_report.load(RESULTS / "micro")
    return cards_document.pages(analysed("reference"), counted(), cite.checksum(file), single)


def reliability(out: Path) -> None:
    """Draw the chart of the soak."""
    soak.draw_chart(recorded("soak"), out)


def recorded(torture: str) -> dict[str, Any]:
    """What a long test counted."""
    counted: dict[str, Any] = json.loads((document.FOLDER / f"{torture}.json").read_text())
    return counted


def torture_table(name: str) -> str:
    """The table of a long test in docs/reliability.md, from its records."""
    module = import_module(f"tests.torture.{name.partition('-')[0]}")
    table: str = module.to_markdown(recorded(name))
    return table


def documents() -> None:
    """Fill the generated documents and parts of documents."""
    os.chdir(ROOT)
    for command in COMMANDS:
        bench(command.split())
    for name in (*TORTURES, "soak"):
        document.fill(name, torture_table(name))
    costs_excerpt()
    document.fill("fleet-tls", fleet_over_tls(), ROOT / "docs" / "fleet.md")
    fairness = ROOT / "docs" / "fairness.md"
    document.fill(tuning.NAME, tuning_table(), fairness)
    document.fill(libraries.NAME, libraries.markdown(libraries.libraries()), fairness)


FOLDERS: Final[dict[str, Callable[[Path], None]]] = {
    "reference": lambda out: campaign("reference", out),
    "reference-3.11": lambda out: campaign("reference-3.11", out),
    "interpreters": lambda out: campaign("interpreters", out),
    "fleet": lambda out: fleet("fleet", out),
    "fleet-tls": lambda out: fleet("fleet-tls", out),
    "micro": micro,
    "costs": costs,
    "reliability": reliability,
}
"""The folders under ``results/`` and what writes each, to any folder."""


def main() -> None:
    """Rebuild what is named, or everything."""
    names = [*FOLDERS, "documents"]
    parser = argparse.ArgumentParser(
        prog="python -m tools.rebuild",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("parts", nargs="*", metavar="PART", help="only these (default: all)")
    parts = parser.parse_args().parts or names
    if unknown := set(parts) - set(names):
        parser.error(f"no such part: {', '.join(sorted(unknown))}")
    for name in parts:
        if name in FOLDERS:
            FOLDERS[name](RESULTS / name)
        else:
            documents()


if __name__ == "__main__":
    main()
