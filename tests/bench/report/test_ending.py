"""The end of a run on a terminal: one screen, whatever was measured, and nothing twice."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from rich.cells import cell_len
from rich.console import Console

from bench.report import ending
from bench.schema import AnyRecord
from tests.bench.questions.campaigns import LADDER
from tests.bench.report.charts.campaigns import changed, made
from tests.bench.synthetic import across, analysed, campaign

CAMPAIGNS: dict[str, Callable[[], Sequence[AnyRecord]]] = {
    "usual": made,
    "one block": lambda: made(blocks=1),
    "noisy, with voids": lambda: made(noise=0.4, voids=9, samples=50),
    "nothing valid": lambda: changed(made(blocks=1), status="void", reason="[red]boom[/red]"),
    "long reasons": lambda: changed(made(blocks=1), status="failed", reason="word " * 500),
    "memory alone": lambda: made(workloads=("c10k",)),
    "interrupted": lambda: made(blocks=2)[:60],
    "no trial": lambda: made(blocks=2)[:1],
    "every variant": lambda: campaign(ladder=LADDER, workloads=("throughput", "c10k", "ladder")),
    "across interpreters": across,
}


def printed(lines: Sequence[AnyRecord], width: int = 200) -> list[str]:
    out = io.StringIO()
    folder, console = Path("results/20261121-051200-1a2b3c"), Console(file=out, width=width)
    ending.show(analysed(lines), folder, console)
    return out.getvalue().splitlines()


@pytest.mark.parametrize("name", CAMPAIGNS)
def test_it_is_one_screen(name: str) -> None:
    lines = printed(CAMPAIGNS[name]())
    assert len(lines) <= 25
    assert [line for line in lines if cell_len(line) > 100] == []
    assert len({*lines}) == len(lines)
    assert "".join(lines).count("report.html") == 1


def test_markup_in_records_is_text() -> None:
    assert "[red]boom[/red]" in "\n".join(printed(CAMPAIGNS["nothing valid"]()))


def test_uvloop_and_a_loop_of_the_user_are_compared_with_asyncio() -> None:
    backends = ("threads", "callbacks", "async_await", "uvloop", "mine:Loop")
    lines = campaign(backends=backends, workloads=("throughput", "c10k"), base="callbacks")
    text = "\n".join(printed(lines))
    assert "\nuvloop against asyncio: " in text
    assert "\nmine:Loop against asyncio: " in text
    assert len(text.splitlines()) <= 25
