"""The advice on a campaign's page: the table of one load, and the command that gives it."""

from __future__ import annotations

import argparse
import shlex
from dataclasses import fields
from pathlib import Path

import pytest

from bench.analysis.analysis import Analysis
from bench.capacity import report
from bench.capacity.model import EXAMPLE, PLAIN, Need
from bench.cli.commands import advise
from bench.store import Records
from tests.bench import synthetic
from tests.bench.capacity import samples


def test_the_section_has_the_table_of_one_load() -> None:
    workloads = ("throughput", "c10k", "ladder", "waiting", "openloop")
    ladder = synthetic.rungs(synthetic.MODELS)
    lines = synthetic.campaign(samples=200, workloads=workloads, ladder=ladder)
    analysis = synthetic.analysed(lines)
    (section,) = report.extra(analysis, Path()).sections
    for name in synthetic.MODELS:
        assert f'<th scope="row">{name}</th>' in section.body
    assert f"--results {analysis.campaign.campaign} --connections" in section.body


@pytest.mark.parametrize("need", [EXAMPLE, PLAIN, Need()])
def test_the_command_asks_for_the_load_of_the_table(need: Need) -> None:
    words = shlex.split(report.command(samples.costs(), need))
    parser = argparse.ArgumentParser()
    advise.add_arguments(parser)
    given = parser.parse_args(words[words.index("advise") + 1 :])
    assert Need(**{field.name: getattr(given, field.name) for field in fields(Need)}) == need


def test_a_campaign_without_pages_has_no_section() -> None:
    held = synthetic.analysed(synthetic.campaign(samples=200, workloads=("c10k",), blocks=1))
    assert report.extra(held, Path()).sections == ()
    assert report.extra(Analysis(Records(held.campaign)), Path()).sections == ()
