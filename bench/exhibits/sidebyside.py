"""The four models side by side: slides in one HTML file, and a page that lists the sections.

Every slide uses the largest type that its code allows. The layout can be computed here,
because the width of a monospaced letter is known.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from math import ceil
from pathlib import Path

from markupsafe import Markup
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

from bench.exhibits.exhibit import counted, metric_rows
from bench.exhibits.models import waiting_lines
from bench.exhibits.sections import DOCSTRING, IMPORTS, CodePart, aligned, machinery_note
from bench.exhibits.stack_ripping import Ripped
from bench.palette import PALETTES
from bench.report import markup
from bench.text import markdown_table
from crawlers.registry import MODELS

COMMAND = "python -m bench sidebyside --page docs/side-by-side.md"

# A slide is 1280 × 720 units. This is the room for code below the title and inside the margins,
# as in the template.
WIDTH, HEIGHT = 1240.0, 600.0
GAP, HEAD = 16.0, 36.0
PADDING = 20.0
LETTER, LEADING = 0.602, 1.28  # of the font size; a monospaced letter, and a line
LARGEST, SMALLEST = 24.0, 6.0
STEP = 0.25
FEWEST_LETTERS = 30
HANGING = 4
WAITS = {
    "threads": "the call blocks",
    "callbacks": "leaves the next step to the loop",
    "generators": "yield from",
    "async_await": "await",
}


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a cell: its HTML, its indentation, and whether it is marked."""

    html: Markup
    indent: int
    marked: bool


@dataclass(frozen=True, slots=True)
class ModelCell:
    """One model on one slide."""

    model: str
    file: str
    lines: tuple[Line, ...]
    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SlideLayout:
    """Columns of cells, text columns within each, and the font size in slide units."""

    columns: int
    folds: int
    size: float


@dataclass(frozen=True, slots=True)
class SectionSlide:
    """A section on one slide; ``absent`` has a note for each model without such a part."""

    id: str
    title: str
    sentence: str
    cells: tuple[ModelCell, ...]
    absent: tuple[str, ...]
    layout: SlideLayout


def html(ripped: Sequence[Ripped]) -> str:
    """The slides: title, one per section, the tracebacks and the metrics."""
    slides = [
        slide(
            section.title,
            section.sentence,
            {model: code_cell(model, found) for model, found in by_model.items() if found},
        )
        for section, by_model in aligned()
    ]
    slides.append(
        slide(
            "One parse error",
            "Marked frames know which page was being fetched.",
            {one.model: traceback_cell(one) for one in ripped},
        )
    )
    templates = markup.templates(__name__)
    return templates.get_template("sidebyside.html").render(
        slides=slides,
        models=MODELS,
        waits=WAITS,
        metrics=metric_rows(),
        light=asdict(PALETTES["light"]),
        dark=asdict(PALETTES["dark"]),
    )


def slide(title: str, sentence: str, cells: Mapping[str, ModelCell]) -> SectionSlide:
    """Lay out one slide."""
    return SectionSlide(
        id=title.lower().replace(" ", "-").replace(":", ""),
        title=title,
        sentence=sentence,
        cells=tuple(cells.values()),
        absent=absent(title, [model for model in MODELS if model not in cells]),
        layout=layout([cell.texts for cell in cells.values()]),
    )


def absent(title: str, missing: Sequence[str]) -> tuple[str, ...]:
    """The models without such a part, each with its note."""
    notes = {m: machinery_note(m) for m in missing if title.startswith("Machinery")}
    return tuple(f"{model}: {notes.get(model) or 'nothing of its own'}" for model in missing)


def code_cell(model: str, found: Sequence[CodePart]) -> ModelCell:
    """The parts of one model, highlighted, with a blank line between them."""
    marks = waiting_lines(model)
    lines: list[Line] = []
    texts: list[str] = []
    for part in found:
        if texts:
            lines.append(Line(Markup(""), 0, False))
            texts.append("")
        if part.name == DOCSTRING:
            prose = " ".join(part.lines.values()).replace("``", "").strip('" ').split("  ")
            texts += [text for paragraph in prose for text in ("", paragraph)][1:]
            lines += [Line(Markup("{}").format(text), 0, False) for text in texts]
            continue
        shown = coloured("\n".join(part.lines.values()))
        for (number, code), marked_up in zip(part.lines.items(), shown, strict=True):
            lines.append(Line(marked_up, indent_of(code), number in marks))
            texts.append(code)
    return ModelCell(model, f"crawlers/{model}.py", tuple(lines), tuple(texts))


def traceback_cell(one: Ripped) -> ModelCell:
    """A traceback; the slot's frames are marked."""
    texts, lines = [], []
    for frame in one.frames:
        marked = one.group(frame) == "slot"
        place = f"{Path(frame.file).name}:{frame.line} {frame.function.rpartition('.')[2]}"
        for text in (place, f"    {frame.code}"):
            texts.append(text)
            lines.append(Line(Markup("{}").format(text.strip()), indent_of(text), marked))
    error = re.sub(r"^[\w.]*\.", "", one.error)  # without its module
    texts.append(error)
    lines.append(Line(Markup("<b>{}</b>").format(error), 0, False))
    return ModelCell(one.model, f"callers left: {one.callers}", tuple(lines), tuple(texts))


def coloured(text: str) -> list[Markup]:
    """Each line as escaped HTML, with Pygments' classes."""
    formatter = HtmlFormatter(nowrap=True)
    # Pygments closes its spans at the end of every line, so lines can be split.
    made = highlight(text, PythonLexer(stripnl=False, ensurenl=False), formatter)
    # Prefer to break a long line after a dot or a bracket, not within a name.
    made = re.sub(r'(<span class="[op]">[.(\[]+)(</span>)', r"\1<wbr>\2", made)
    # Pygments has escaped it.
    return [Markup(line.lstrip(" ")) for line in made.rstrip("\n").split("\n")]  # nosec B704


def indent_of(line: str) -> int:
    """The number of spaces at the start of a line."""
    return len(line) - len(line.lstrip(" "))


def layout(cells: Sequence[Sequence[str]]) -> SlideLayout:
    """The arrangement with the largest type; the smallest type if nothing fits."""
    count = len(cells)
    arrangements = [(columns, 1) for columns in {count, ceil(count / 2)}]
    if count == 1:
        arrangements.append((1, 2))
    sizes = [largest(cells, columns, folds) for columns, folds in arrangements]
    best = max(range(len(sizes)), key=sizes.__getitem__)
    return SlideLayout(*arrangements[best], sizes[best])


def largest(cells: Sequence[Sequence[str]], columns: int, folds: int) -> float:
    """The largest size at which all cells fit; the smallest size if none does."""
    size = LARGEST
    while size > SMALLEST and not fits(cells, columns, folds, size):
        size -= STEP
    return size


def fits(cells: Sequence[Sequence[str]], columns: int, folds: int, size: float) -> bool:
    """Whether all cells fit in this arrangement, counting wrapped lines."""
    rows = ceil(len(cells) / columns)
    width = (WIDTH - GAP * (columns - 1)) / columns - PADDING
    height = (HEIGHT - GAP * (rows - 1)) / rows - HEAD - PADDING
    letters = int((width - GAP * (folds - 1)) / folds / (LETTER * size))
    if letters < FEWEST_LETTERS:
        return False
    return all(
        ceil(sum(wrapped(line, letters) for line in cell) / folds) * LEADING * size <= height
        for cell in cells
    )


def wrapped(line: str, letters: int) -> int:
    """How many lines one line becomes when the browser wraps it."""
    rest = letters - indent_of(line) - HANGING  # continuation lines are indented more
    count, room = 1, letters
    for piece in re.findall(r"[^ .(\[]*[ .(\[]+|[^ .(\[]+", line):
        width = len(piece.rstrip(" "))
        if width > room:
            count, room = count + 1, rest
        while width > max(room, 1):  # a name longer than a line is cut
            count, width, room = count + 1, width - max(room, 1), rest
        room -= width + len(piece) - len(piece.rstrip(" "))
    return count


HEAD_OF_PAGE = f"""\
# Side by side

<!-- Made by `{COMMAND}`: do not edit. -->

The four model files have the same sections in the same order, and the same names for the same
things, so only the concurrency model differs. To show or read them side by side:

    python -m bench sidebyside            # writes side-by-side.html

This is one self-contained file. Each section is a slide in the largest type that its code allows.
Lines where the model waits are marked. Print the file to get a PDF with one slide per page.

## The sections
"""


def page() -> str:
    """The Markdown page: the functions of each section, and the metrics of the source."""
    rows = []
    for section, by_model in aligned():
        if section.names & {DOCSTRING, IMPORTS}:
            continue  # these parts have no names
        cells = [", ".join(f"`{part.name}`" for part in by_model[model]) or "–" for model in MODELS]
        rows.append([f"**{section.title}**: {section.sentence}", *cells])
    files = [f"[`{model}`](../crawlers/{model}.py)" for model in MODELS]
    lines = [HEAD_OF_PAGE, *markdown_table(["section", *files], rows)]
    lines += ["\n## Metrics of the source\n", *counted()]
    lines += ["", "What remains of each traceback: [the ripped stack](stack-ripping.md)."]
    return "\n".join(lines) + "\n"
