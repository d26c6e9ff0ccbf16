"""The campaigns under results/, loaded and analysed once for all tests of a process.

tests/conftest.py gives the files that use them to one process, because both take seconds.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from bench import store
from bench.analysis.analysis import Analysis
from bench.claims.verdict import Evidence
from bench.launch import RESULTS
from bench.questions import analysis_of
from bench.store import Records


@cache
def records(name: str = "reference") -> Records:
    return store.load(store.trials_file(RESULTS / name))


@cache
def analysis(name: str = "reference") -> Analysis:
    return analysis_of(records(name))


def evidence(folder: Path) -> Evidence:
    """What :meth:`Evidence.load` reads from a folder under results/."""
    return Evidence.of(folder.name, analysis(folder.name), folder)
