"""What a terminal shows: the tables of the summary, and the end of a run on one screen."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from rich.cells import cell_len
from rich.console import Console

from bench.analysis.analysis import Analysis
from bench.questions import analysis_of
from bench.report import findings, summary
from bench.report.tables import section
from bench.schema import AnyRecord
from bench.show.table import Table, name
from tests.bench.questions.campaigns import LADDER
from tests.bench.report.charts.campaigns import changed, made
from tests.bench.synthetic import across, altered, analysed, campaign, gathered


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
    head = altered(records.campaign, campaign=HOSTILE, environment__cpu_model=HOSTILE)
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


def ended(lines: Sequence[AnyRecord], width: int = 200) -> list[str]:
    out = io.StringIO()
    folder, console = Path("results/20261121-051200-1a2b3c"), Console(file=out, width=width)
    findings.show(analysed(lines), folder, console)
    return out.getvalue().splitlines()


@pytest.mark.parametrize("name", CAMPAIGNS)
def test_it_is_one_screen(name: str) -> None:
    lines = ended(CAMPAIGNS[name]())
    assert len(lines) <= 25
    assert [line for line in lines if cell_len(line) > 100] == []
    assert len({*lines}) == len(lines)
    assert "".join(lines).count("report.html") == 1


def test_markup_in_records_is_text() -> None:
    assert "[red]boom[/red]" in "\n".join(ended(CAMPAIGNS["nothing valid"]()))


def test_uvloop_and_a_loop_of_the_user_are_compared_with_asyncio() -> None:
    backends = ("threads", "callbacks", "async_await", "uvloop", "mine:Loop")
    lines = campaign(backends=backends, workloads=("throughput", "c10k"), base="callbacks")
    text = "\n".join(ended(lines))
    assert "\nuvloop against asyncio: " in text
    assert "\nmine:Loop against asyncio: " in text
    assert len(text.splitlines()) <= 25
