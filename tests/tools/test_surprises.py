"""The parts of docs/findings.md that have charts: with them, and without the records."""

from __future__ import annotations

import pytest

from bench.micro.report import Found
from tests.bench.costs.test_opening import MADE, WHOLE
from tests.bench.micro.startup.test_startup import made as starts
from tests.bench.micro.waiting.made import record
from tests.bench.opened import opened
from tests.bench.synthetic import analysed, campaign
from tools.surprises import CHARTS, Figures, parts

OLD = analysed(campaign(blocks=2))
BARE = Figures(OLD, OLD)
FULL = Figures(
    analysed(opened()), OLD, counted=MADE, micro=Found(tasks=record(), startup=starts()),
    counted_by=WHOLE,
)  # fmt: skip


@pytest.mark.parametrize("name", CHARTS)
def test_what_was_not_measured_is_said_and_has_no_chart(name: str) -> None:
    (text,) = parts(BARE, [name]).values()
    assert "ot measured" in text or "not counted" in text
    assert "![" not in text


@pytest.mark.parametrize(
    ("name", "number", "files"),
    [
        ("churn", "4.4 with `async_await`", ["reference/charts/churn", "costs/charts/costs-churn"]),
        ("tasks", "0.98 KiB (asyncio.Task)", ["micro/charts/tasks"]),
        ("startup", "50 ms and 5.0 MiB with `threads`", ["micro/charts/startup"]),
    ],
)
def test_numbers_come_with_their_charts(name: str, number: str, files: list[str]) -> None:
    (text,) = parts(FULL, [name]).values()
    assert number in " ".join(text.split())
    assert [line for line in text.splitlines() if line.startswith("![")] == [
        line for file in files for line in text.splitlines() if f"](../results/{file}.svg)" in line
    ]
    assert text.count("![") == len(files)
