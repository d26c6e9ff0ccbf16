"""The talk as a document: each slide with its notes, a question from the floor, and its answer."""

from __future__ import annotations

import os
from pathlib import Path

from bench.launch import RESULTS, ROOT
from bench.report.files import CHARTS
from bench.talk.slides import Code, Grid, Picture, Quotes, Talk, TalkSlide
from bench.text import markdown_table, markdown_text

HEAD = """\
# The talk

<!-- Made by `{command}`: do not edit. -->

What waiting costs: one web crawler, written once for each of Python's concurrency models. Each
slide has notes for the speaker, a question from the floor with its answer, and the campaign of its
numbers. To show the slides, with your own numbers:

    python -m bench talk results/CAMPAIGN       # writes results/CAMPAIGN/talk.html

This is one self-contained file. Press `?` in it for its keys, and `S` for the speaker's window.
Print it to get a PDF with one slide per page.
"""


def command(folder: Path, fleet: Path | None, page: Path) -> str:
    """The command that rebuilds this page, from the root of the repository."""
    words = ["python -m bench talk", f"results/{folder.name}"]
    words += [f"--fleet results/{fleet.name}"] if fleet else []
    return " ".join([*words, f"--page {page.parent.name}/{page.name}"])


def markdown(talk: Talk, folder: Path, fleet: Path | None, page: Path) -> str:
    """The whole document; charts are linked where they lie, and described where they do not."""
    lines = [HEAD.format(command=command(folder, fleet, page))]
    for place, slide in enumerate(talk.slides, 1):
        lines += [f"## {place}. {markdown_text(slide.title)}", ""]
        lines += [*_body(slide, _charts(slide, folder, fleet), page), ""]
        lines += ["**Notes.** " + slide.notes[0], ""]
        for text in slide.notes[1:]:
            lines += [text, ""]
        lines += [f"**From the floor:** *{slide.question}*", "", slide.answer, ""]
        sources = "; ".join(map(markdown_text, slide.sources))
        lines += [f"<sub>{slide.kicker}. Numbers: {sources}.</sub>", ""]
    if talk.gaps:
        lines += ["## Left out", ""]
        lines += [f"- {gap.kicker}: {markdown_text(gap.reason)}" for gap in talk.gaps]
    return "\n".join(lines).rstrip("\n") + "\n"


def _charts(slide: TalkSlide, folder: Path, fleet: Path | None) -> Path | None:
    """Where a slide's chart lies: with its own records, wherever these are."""
    if not isinstance(slide.body, Picture):
        return None
    owner = Path(slide.body.file).parts[0]
    places = {"reference": folder, "fleet": fleet, "costs": RESULTS / "costs"}
    found = places.get(owner)
    return found / CHARTS / Path(slide.body.file).name if found else None


def _body(slide: TalkSlide, chart: Path | None, page: Path) -> list[str]:
    body = slide.body
    match body:
        case Quotes():
            quoted = [f"> {sentence}\n>" for sentence in body.sentences]
            return [*quoted, f"> [{markdown_text(body.source)}]({body.url})"]
        case Picture():
            caption = markdown_text(body.caption)
            if chart is None or not chart.is_file():
                return [f"*{markdown_text(body.design.alt)}*", "", caption]
            address = Path(os.path.relpath(chart, page.parent)).as_posix()
            return [f"![{markdown_text(body.design.alt)}]({address})", "", caption]
        case Grid():
            cells = [[markdown_text(cell) for cell in row] for row in body.rows]
            return [*markdown_table(body.head, cells), "", markdown_text(body.caption)]
        case Code(page=str(name)):
            other = Path(os.path.relpath(ROOT / "docs" / name, page.parent)).as_posix()
            return [f"{markdown_text(body.caption)} See [{name}]({other})."]
        case Code():
            lines = []
            for cell in (cell for column in body.columns for cell in column):
                shown = "\n".join(cell.texts).replace("\n\n", "\n\n\n")  # as formatters want it
                lines += [f"`{cell.file}`", "", "```python", shown, "```", ""]
            return [*lines, markdown_text(body.caption)]
