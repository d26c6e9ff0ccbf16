"""The summary: rows, Markdown and the terminal table, whatever the records hold."""

from __future__ import annotations

import io
import re
from dataclasses import replace

import pytest
from rich.console import Console

from bench.analysis.analysis import Analysis
from bench.questions import analysis_of
from bench.report import summary
from bench.report.tables import section
from bench.show.table import Table, name
from tests.bench.report.charts.campaigns import made
from tests.bench.synthetic import analysed, gathered


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


@pytest.mark.parametrize("width", [60, 80, 100, 140])
def test_table_fits_the_terminal(width: int) -> None:
    text = printed(analysed(made()), width)
    assert max(len(line) for line in text.splitlines()) <= width
    if width >= 80:
        assert "undecided" in text


@pytest.mark.parametrize("cut", [1, 2, 5, 60])
def test_partial_records(cut: int) -> None:
    campaign = analysed(made(blocks=2)[:cut])
    assert summary.to_markdown(campaign).startswith("# Campaign")
    printed(campaign)


HOSTILE = "<script>alert(1)</script> a|b `c` &lt; ![x](http://evil.test/) **d**\n# e\x1b[2J"


def test_nothing_in_records_is_markdown() -> None:
    records = gathered(made(blocks=2))
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
