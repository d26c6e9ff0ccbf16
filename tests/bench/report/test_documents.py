"""What people read of made-up campaigns: summaries, the terminal, the end of a run.

A file under golden/ has each of them. REWRITE=1 writes it: read the difference.
"""

from __future__ import annotations

import io
import os
import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Final

import pytest
from rich.console import Console

from bench.analysis.analysis import Analysis
from bench.questions import analysis_of
from bench.report import campaigns, cite, findings, summary
from bench.report.campaigns import Groups
from bench.schema import AnyRecord, ResumeRecord
from bench.show.words import footer
from tests.bench.questions.campaigns import kept
from tests.bench.synthetic import MODELS, across, analysed, campaign, gathered, rungs, where

GOLDEN: Final = Path(__file__).with_name("golden")
BACKENDS = (*MODELS, "trio", "aiohttp")


def few(**options: object) -> list[AnyRecord]:
    """A campaign with some points of each kind."""
    workloads = ("ladder", "throughput", "c10k", "openloop")
    made = {"samples": 1100, "workloads": workloads, "rates": (5000, 30_000), "blocks": 5}
    return campaign(backends=BACKENDS, ladder=rungs(BACKENDS), **made | options)  # type: ignore[arg-type]


@cache
def usual() -> Analysis:
    return analysed(few(voids=2))


@cache
def of_releases() -> Analysis:
    return analysed(across())


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is published of other campaigns stands beside no number."""
    monkeypatch.setattr(campaigns, "published", lambda: Groups(groups=[]))


def noisy() -> Analysis:
    """Two blocks beside other guests, resumed and never ended, on one processor."""
    pinning = {"client": None, "reason": "one processor only"}
    lines = where(few(blocks=2, noise=0.3), bool, pinning=pinning, host__steal_s=0.2)
    records = gathered(lines)
    resumed = ResumeRecord(resumed="2026-11-21T05:14:00Z", done=10)
    return analysis_of(replace(records, resumes=[resumed], end=None))


def voids() -> Analysis:
    """No trial that counts."""
    failed = {"status": "failed", "reason": "worker died | exit 1"}
    lines = kept(few(blocks=1), lambda trial: trial.point in ("throughput-100", "c10k-100"))
    return analysed(where(lines, bool, **failed))


def shown(show: Callable[[Analysis, Console], None], analysis: Analysis) -> str:
    """On a terminal of 100 columns."""
    out = io.StringIO()
    show(analysis, Console(file=out, width=100, color_system=None))
    return "".join(f"{line.rstrip()}\n" for line in out.getvalue().splitlines())


def ended(analysis: Analysis, console: Console) -> None:
    findings.show(analysis, Path("results/20261121-051200-1a2b3c"), console)


def quoted(analysis: Analysis) -> str:
    """Every finding, as ``cite`` gives it."""
    found = findings.named(analysis).values()
    return "".join(f"{cite.quotation(each, analysis.campaign)}\n" for each in found)


DOCUMENTS: dict[str, Callable[[], str]] = {
    "summary.txt": lambda: summary.to_markdown(usual()),
    "interpreters.txt": lambda: summary.to_markdown(of_releases()),
    "warnings.txt": lambda: "\n\n".join(summary.warnings(noisy())) + "\n",
    "voids.txt": lambda: summary.to_markdown(voids()),
    "footer.txt": lambda: "\n".join([*footer(usual()), *footer(noisy())]) + "\n",
    "terminal.txt": lambda: shown(summary.show, usual()),
    "terminal-interpreters.txt": lambda: shown(summary.show, of_releases()),
    "ending.txt": lambda: shown(ended, usual()),
    "findings.txt": lambda: quoted(usual()),
    "findings-interpreters.txt": lambda: quoted(of_releases()),
}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_it_says_what_it_said(name: str) -> None:
    said = DOCUMENTS[name]()
    if "REWRITE" in os.environ:
        (GOLDEN / name).write_text(said)
    assert said == (GOLDEN / name).read_text(), "REWRITE=1 writes it: read the difference"
    for block in re.findall(r"(?:^\|.*\n)+", said, flags=re.M):
        widths = {line.count(" | ") for line in block.strip().splitlines()}
        assert len(widths) == 1, block  # every row has as many cells as its header


def test_where_threads_ran_is_said_of_valid_trials_alone() -> None:
    """All of them void, and on two processors: "threads had one processor, as every client"."""
    lines = campaign(samples=30, workloads=("throughput",))
    said = "threads had one processor"
    assert said in findings.source(analysed(lines))
    void = where(lines, lambda trial: trial.label == "threads", status="void", reason="x")
    assert said not in findings.source(analysed(void))
    anywhere = {"client": None, "server": None, "reason": "not allowed"}
    unpinned = where(lines, lambda trial: trial.label == "threads", pinning=anywhere)
    assert said not in findings.source(analysed(unpinned)), "on as many as there are"


def test_no_difference_is_said_to_be_to_a_backend_without_a_trial_that_counts() -> None:
    lines = campaign(samples=30, workloads=("throughput",), base="callbacks")
    assert "Every difference is to `callbacks`" in findings.source(analysed(lines))
    void = where(lines, lambda trial: trial.label == "callbacks", status="void", reason="x")
    said = findings.source(analysed(void))
    assert "No trial of `callbacks`, which ratios are to, counts" in said
    assert "Every difference" not in said
