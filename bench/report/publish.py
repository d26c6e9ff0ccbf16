"""Write a campaign's report: charts, page, summary and citation, all from its records."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from bench import filesystem, store, turnlog
from bench.analysis.analysis import Analysis
from bench.launch import shown
from bench.report import charts, cite, files, page, summary
from bench.report.charts import Chart
from bench.report.extension import Extension
from bench.store import Records


def build(
    analysis: Analysis,
    folder: Path,
    file: Path,
    extensions: Sequence[Extension] = (),
    *,
    everything: bool = False,
) -> list[Chart]:
    """Draw the charts and write summary, page and citation to ``folder``; returns the charts.

    ``file`` holds the records: its checksum is cited, and extensions find their
    own records beside it. Charts are drawn wide, light and dark, as SVG and PNG;
    ``everything`` adds square ones and PDF. Raises
    :class:`bench.errors.BenchError` when something cannot be written.
    """
    sha256 = cite.checksum(file)
    extras = [extension.extra(analysis, file.parent) for extension in extensions]
    try:
        drawn = charts.render_all(
            analysis,
            folder / files.CHARTS,
            formats=("svg", "png", "pdf") if everything else ("svg", "png"),
            themes=("light", "dark"),
            shapes=("wide", "square") if everything else ("wide",),
            further=[design for extra in extras for design in extra.designs],
        )
    except OSError as error:
        raise store.StoreError(f"{error.filename or folder}: {error.strerror}") from None
    sections = [section for extra in extras for section in extra.sections]
    beside = {name: what for one in extensions for name, what in one.records.items()}
    filesystem.write_text(folder / files.SUMMARY, summary.to_markdown(analysis))
    filesystem.write_text(folder / files.CITATION, cite.bibtex(analysis.campaign, sha256))
    # Last: it links to what is there.
    text = page.page(analysis, drawn, folder, sha256, sections, beside)
    filesystem.write_text(folder / files.PAGE, text)
    return drawn


def write(
    records: Records,
    folder: Path,
    console: Console,
    file: Path,
    extensions: Sequence[Extension] = (),
    *,
    everything: bool = False,
) -> None:
    """As :func:`build`, and print the summary."""
    analysis = Analysis(records, turnlog.load(file.parent))
    build(analysis, folder, file, extensions, everything=everything)
    if not console.is_terminal:
        console.width = max(files.PLAIN_WIDTH, console.width)
    summary.show(analysis, console)
    for what, name in (("page", files.PAGE), ("charts", files.CHARTS), ("table", files.SUMMARY)):
        console.print(f"{what + ':':<7} {shown(folder / name)}", soft_wrap=True)
