"""The summary: rows, Markdown and the terminal table, whatever the records hold."""

from __future__ import annotations

import io
import re
from functools import lru_cache
from typing import Any

import pytest
import synthetic
from rich.console import Console

from bench import summary
from bench.schema import AnyRecord, ResumeRecord, TrialRecord


@lru_cache(maxsize=8)
def made(**kwargs: Any) -> tuple[AnyRecord, ...]:
    """A campaign, made once per set of arguments."""
    return tuple(synthetic.campaign(**({"samples": 1100, "rates": (5000, 30_000)} | kwargs)))


def printed(records: Any, width: int = 140) -> str:
    out = io.StringIO()
    summary.print_table(records, Console(file=out, width=width, color_system=None))
    return out.getvalue()


def test_rows_cover_every_point_and_label() -> None:
    rows = summary.summary_rows(made())
    points = {r.point for r in rows}
    assert {"throughput-1", "waiting-1000", "real-10", "c10k-10000", "openloop-30000"} <= points
    row = next(r for r in rows if (r.point, r.label) == ("throughput-100", "callbacks"))
    assert row.trials == 6
    assert row.pages_per_s is not None
    assert row.pages_per_s.low <= row.pages_per_s.median <= row.pages_per_s.high
    assert row.ratio is not None
    assert row.ratio.verdict == "faster"
    assert row.cpu_user_ms is not None
    assert row.service_p99_ms is not None
    assert row.ceiling_share is not None
    assert 0.3 < row.ceiling_share.median < 0.7
    assert row.limiter == "server"
    base = next(r for r in rows if (r.point, r.label) == ("throughput-100", "threads"))
    assert base.ratio is None
    opened = next(r for r in rows if (r.point, r.label) == ("openloop-30000", "threads"))
    assert opened.offered_per_s == 30_000
    assert opened.response_p99_ms is not None


def test_memory_rows() -> None:
    rows = {r.label: r for r in summary.memory_rows(made())}
    threads = rows["threads"]
    assert threads.parts["kernel stacks"] == pytest.approx(16, rel=0.05)
    assert threads.total == pytest.approx(54, rel=0.05)
    assert threads.user_at_highest == pytest.approx(22.3, rel=0.05)
    assert threads.fixed_mib == pytest.approx(21.2, rel=0.1)
    assert threads.highest == 10_000
    assert threads.user_interval


def test_markdown_has_what_a_reader_needs() -> None:
    text = summary.to_markdown(made(voids=2, samples=300))
    for needed in (
        "# Campaign 20261121-051200-1a2b3c",
        "## Warnings",
        "void: ",
        "digest differs from the site's",
        "### throughput-100",
        "no difference shown",
        "faster, at least",
        "server ○",
        "## Memory per connection (KiB)",
        "## Share of the server’s ceiling",
        "wrk 4.1.0",
        "## Open loop",
        "Noise floor ±",
        "A/A comparisons",
        "naive harness",
        "## Environment",
        "CPython 3.11.9",
    ):
        assert needed in text
    for block in re.findall(r"(?:^\|.*\n)+", text, flags=re.M):
        widths = {line.count(" | ") for line in block.strip().splitlines()}
        assert len(widths) == 1, block  # every row has as many cells as its header


def test_no_difference_is_printed() -> None:
    records = made(effects=False, samples=50, workloads=("throughput",))
    assert "no difference shown" in printed(records)


@pytest.mark.parametrize("width", [60, 80, 100, 140])
def test_table_fits_the_terminal(width: int) -> None:
    text = printed(made(), width)
    assert max(len(line) for line in text.splitlines()) <= width
    if width >= 80:
        assert "no difference shown" in text


def test_too_few_blocks_are_said() -> None:
    records = made(blocks=2)
    assert "too few blocks" in printed(records)
    assert any("fewer than 5" in line for line in summary.warnings(records))


def test_warnings() -> None:
    head, *rest = made(blocks=2)
    records = [head, *rest[:-1], ResumeRecord(resumed="2026-11-21T05:14:00Z", done=10)]
    noisy = [
        r.model_copy(update={"pinning": {"client": None, "reason": "one processor only"}})
        if isinstance(r, TrialRecord)
        else r
        for r in records
    ]
    text = "\n".join(summary.warnings(noisy))
    assert "resumed 1 time" in text
    assert "no end record" in text
    assert "one processor only" in text
    assert "Limited by the server" in text
    assert "too noisy" in "\n".join(
        summary.warnings(made(noise=0.3, samples=50, workloads=("throughput",)))
    )


@pytest.mark.parametrize("cut", [0, 1, 2, 5, 60])
def test_partial_records(cut: int) -> None:
    records = made(blocks=2)[:cut]
    assert summary.to_markdown(records).startswith("# Campaign")
    printed(records)


def test_nothing_but_voids() -> None:
    records = [
        r.model_copy(update={"status": "failed", "reason": "worker died | exit 1"})
        if isinstance(r, TrialRecord)
        else r
        for r in made(blocks=1)
    ]
    text = summary.to_markdown(records)
    assert "failed: " in text
    assert "no valid trial" in printed(records)


def test_markup_in_records_is_text() -> None:
    records = [
        r.model_copy(update={"status": "void", "reason": "[red]boom[/red]"})
        if isinstance(r, TrialRecord)
        else r
        for r in made(blocks=1)
    ]
    assert "[red]boom[/red]" in printed(records)
