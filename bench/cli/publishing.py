"""Everything that a campaign's report consists of, the parts from other rooms included."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from bench.capacity.extension import ADVICE
from bench.cards.extension import CARDS
from bench.claims.extension import CLAIMS
from bench.costs.extension import COSTS
from bench.report import publish
from bench.store import Records

EXTENSIONS = (ADVICE, CARDS, CLAIMS, COSTS)


def publish_campaign(
    records: Records, folder: Path, console: Console, file: Path, *, everything: bool = False
) -> None:
    """Write a campaign's report with its claims to ``folder``, and print the summary.

    See :func:`bench.report.publish.build` for the arguments.
    """
    publish.write(records, folder, console, file, EXTENSIONS, everything=everything)
