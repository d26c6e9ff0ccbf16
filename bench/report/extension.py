"""What a room above the report adds to it: further records, drawings and sections of the page.

The report knows nothing about these rooms. The command line hands it their
extensions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from markupsafe import Markup

from bench.analysis.analysis import Analysis
from bench.report.charts import Design, Skip


@dataclass(frozen=True, slots=True)
class Section:
    """A section of the page."""

    anchor: str  # its address on the page
    link: str  # its name in the navigation
    title: str
    body: Markup


@dataclass(frozen=True, slots=True)
class Extra:
    """What one campaign's report gets in addition."""

    sections: Sequence[Section] = ()
    designs: Sequence[Design | Skip] = ()


@dataclass(frozen=True, slots=True)
class Extension:
    """What a room adds to any campaign's report."""

    records: Mapping[str, str]  # file beside the campaign's records -> what it holds
    extra: Callable[[Analysis, Path], Extra]  # from a campaign and its folder
