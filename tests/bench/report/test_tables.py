"""The summary: rows, Markdown and the terminal table, whatever the records hold."""

from __future__ import annotations

import io
import re
from dataclasses import replace
from functools import lru_cache
from typing import Any

import pytest
from rich.console import Console

from bench.analysis.analysis import Analysis
from bench.questions import analysis_of
from bench.report import summary
from bench.report.tables import section
from bench.schema import ResumeRecord
from bench.show.table import Table, name
from tests.bench import synthetic


@lru_cache(maxsize=8)
def made(**kwargs: Any) -> Analysis:
    """A campaign, made once per set of arguments."""
    values: dict[str, Any] = {"samples": 1100, "rates": (5000, 30_000)}
    return synthetic.analysed(synthetic.campaign(**(values | kwargs)))


def changed(analysis: Analysis, **update: Any) -> Analysis:
    """The same campaign with something else in every trial."""
    trials = [trial.model_copy(update=update) for trial in analysis.records.trials]
    return analysis_of(replace(analysis.records, trials=trials))


def printed(analysis: Analysis, width: int = 140) -> str:
    out = io.StringIO()
    summary.show(analysis, Console(file=out, width=width, color_system=None))
    return out.getvalue()


def test_a_label_is_no_markup_in_a_sentence() -> None:
    """The sentences about a table name labels; records may hold any."""
    label = "<img src=x onerror=alert(1)>"
    table = Table("a", [name("backend")], [["x"]], about=f"Ratios are to {label}.")
    text = "\n".join(section(table))
    assert "<img" not in text
    assert "Ratios are to &lt;img src=x onerror=alert(1)&gt;." in text


def test_rows_cover_every_point_and_label() -> None:
    rows = made().rows
    points = {r.point for r in rows}
    assert {"throughput-1", "waiting-1000", "real-10", "c10k-10000", "openloop-30000"} <= points
    row = next(r for r in rows if (r.point, r.label) == ("throughput-100", "callbacks"))
    assert row.trials == 6
    assert row.pages_per_s is not None
    assert row.pages_per_s.low <= row.pages_per_s.median <= row.pages_per_s.high
    assert row.ratio is not None
    assert row.ratio.verdict == "faster"
    assert row.cpu_user_ms is not None
    assert row.ceiling_share is not None
    assert 0.3 < row.ceiling_share.median < 0.7
    assert row.limiter == "server"
    base = next(r for r in rows if (r.point, r.label) == ("throughput-100", "threads"))
    assert base.ratio is None
    opened = next(r for r in rows if (r.point, r.label) == ("openloop-30000", "threads"))
    assert opened.offered_per_s == 30_000
    assert opened.response_p99_ms is not None


def test_markdown_has_what_a_reader_needs() -> None:
    text = summary.to_markdown(made(voids=2, samples=300))
    for needed in (
        "# Campaign 20261121-051200-1a2b3c",
        "## Warnings",
        "void: ",
        "digest differs from the site's",
        "### throughput-100",
        "undecided",
        "faster, at least",
        "server ○",
        "## Memory per connection, KiB",
        "wrk 4.1.0",
        "## Open loop: response time from the intended start",
        "Noise floor ±",
        "A/A comparisons",
        "## Environment",
        "CPython 3.11.9",
    ):
        assert needed in text
    for block in re.findall(r"(?:^\|.*\n)+", text, flags=re.M):
        widths = {line.count(" | ") for line in block.strip().splitlines()}
        assert len(widths) == 1, block  # every row has as many cells as its header


def test_no_difference_is_printed() -> None:
    campaign = made(effects=False, samples=50, workloads=("throughput",))
    assert "undecided" in printed(campaign)


@pytest.mark.parametrize("width", [60, 80, 100, 140])
def test_table_fits_the_terminal(width: int) -> None:
    text = printed(made(), width)
    assert max(len(line) for line in text.splitlines()) <= width
    if width >= 80:
        assert "undecided" in text


def test_too_few_blocks_are_said() -> None:
    campaign = made(blocks=2)
    assert "too few blocks" in printed(campaign)
    assert any("fewer than 5" in line for line in summary.warnings(campaign))


def test_warnings() -> None:
    pinning = {"client": None, "reason": "one processor only"}
    records = changed(made(blocks=2), pinning=pinning).records
    resumed = ResumeRecord(resumed="2026-11-21T05:14:00Z", done=10)
    noisy = analysis_of(replace(records, resumes=[resumed], end=None))
    text = "\n".join(summary.warnings(noisy))
    assert "resumed 1 time" in text
    assert "no end record" in text
    assert "one processor only" in text
    assert "Limited by the server" in text
    assert "too noisy" in "\n".join(
        summary.warnings(made(noise=0.3, samples=50, workloads=("throughput",)))
    )


@pytest.mark.parametrize("cut", [1, 2, 5, 60])
def test_partial_records(cut: int) -> None:
    campaign = synthetic.analysed(made(blocks=2).records.all[:cut])
    assert summary.to_markdown(campaign).startswith("# Campaign")
    printed(campaign)


def test_nothing_but_voids() -> None:
    campaign = changed(made(blocks=1), status="failed", reason="worker died | exit 1")
    text = summary.to_markdown(campaign)
    assert "failed: " in text
    assert "no valid trial" in printed(campaign)


HOSTILE = "<script>alert(1)</script> a|b `c` &lt; ![x](http://evil.test/) **d**\n# e\x1b[2J"


def test_nothing_in_records_is_markdown() -> None:
    records = made(blocks=2).records
    trials = [
        *(t.model_copy(update={"status": "void", "reason": HOSTILE}) for t in records.trials[:2]),
        *(
            t.model_copy(update={"label": HOSTILE if t.label == "threads" else t.label})
            for t in records.trials[2:]
        ),
    ]
    machine = records.campaign.environment.model_copy(update={"cpu_model": HOSTILE})
    head = records.campaign.model_copy(update={"campaign": HOSTILE, "environment": machine})
    text = summary.to_markdown(analysis_of(replace(records, campaign=head, trials=trials)))
    safe = (
        r"&lt;script&gt;alert(1)&lt;/script&gt; a\|b \`c\` &amp;lt; !\[x\](http://evil.test/) "
        r"\*\*d\*\*\\n# e\\x1b[2J"
    )
    places = [line for line in text.splitlines() if safe in line]
    assert {line.partition(safe)[0] for line in places} >= {"# Campaign ", "| ", "- Machine: "}
    assert any(line.startswith("- void: ") for line in places)
    rest = text.replace(safe, "")
    assert not re.search(r"[<`\x1b]|&lt|\*\*|evil", rest), rest
