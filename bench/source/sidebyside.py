"""The four models side by side: slides in one HTML file, and a page that lists the sections.

Every slide takes the largest type at which its code fits, so the layout is
computed here: the width of a monospaced letter is known.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from math import ceil
from pathlib import Path
from typing import Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

from bench.charts.style import PALETTES
from bench.source.exhibit import counted, metric_rows, table
from bench.source.models import waiting_lines
from bench.source.sections import DOCSTRING, IMPORTS, Part, aligned, machinery_note
from bench.source.stack_ripping import Ripped
from bench.workloads import MODELS

COMMAND = "python -m bench sidebyside --page docs/side-by-side.md"
TEMPLATES: Final = Path(__file__).parent / "templates"

# A slide is 1280 × 720 units; what is left for code below the title and inside the margins,
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
    "callbacks": "the next step is left with the loop",
    "generators": "yield from",
    "async_await": "await",
}


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a cell: its HTML, how far its rest hangs when it is wrapped, and its mark."""

    html: Markup
    indent: int
    marked: bool


@dataclass(frozen=True, slots=True)
class Cell:
    """One model on one slide."""

    model: str
    file: str
    lines: tuple[Line, ...]
    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Layout:
    """Columns of cells, text columns within each, and the font size in slide units."""

    columns: int
    folds: int
    size: float


@dataclass(frozen=True, slots=True)
class Slide:
    """A section on one slide; ``absent`` says of the other models that they have nothing there."""

    id: str
    title: str
    sentence: str
    cells: tuple[Cell, ...]
    absent: tuple[str, ...]
    layout: Layout


def html(ripped: Sequence[Ripped]) -> str:
    """The slides: title, one for each section, the tracebacks and the metrics."""
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
            "Marked are the frames that know which page was being fetched.",
            {one.model: traceback_cell(one) for one in ripped},
        )
    )
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("sidebyside.html").render(
        slides=slides,
        models=MODELS,
        waits=WAITS,
        metrics=metric_rows(),
        light=asdict(PALETTES["light"]),
        dark=asdict(PALETTES["dark"]),
    )


def slide(title: str, sentence: str, cells: Mapping[str, Cell]) -> Slide:
    """Lay one slide out."""
    return Slide(
        id=title.lower().replace(" ", "-").replace(":", ""),
        title=title,
        sentence=sentence,
        cells=tuple(cells.values()),
        absent=absent(title, [model for model in MODELS if model not in cells]),
        layout=layout([cell.texts for cell in cells.values()]),
    )


def absent(title: str, missing: Sequence[str]) -> tuple[str, ...]:
    """The models that have nothing here, and what they say of it."""
    notes = {m: machinery_note(m) for m in missing if title.startswith("Machinery")}
    return tuple(f"{model}: {notes.get(model) or 'nothing of its own'}" for model in missing)


def code_cell(model: str, found: Sequence[Part]) -> Cell:
    """The parts of one model, highlighted, with a blank line between them."""
    marks = waiting_lines(model)
    lines: list[Line] = []
    texts: list[str] = []
    for part in found:
        if texts:
            lines.append(Line(Markup(""), 0, False))
            texts.append("")
        if part.name == DOCSTRING:
            said = " ".join(part.lines.values()).replace("``", "").strip('" ').split("  ")
            texts += [text for paragraph in said for text in ("", paragraph)][1:]
            lines += [Line(Markup("{}").format(text), 0, False) for text in texts]
            continue
        shown = coloured("\n".join(part.lines.values()))
        for (number, code), marked_up in zip(part.lines.items(), shown, strict=True):
            lines.append(Line(marked_up, indent_of(code), number in marks))
            texts.append(code)
    return Cell(model, f"crawlers/{model}.py", tuple(lines), tuple(texts))


def traceback_cell(one: Ripped) -> Cell:
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
    return Cell(one.model, f"callers left: {one.callers}", tuple(lines), tuple(texts))


def coloured(text: str) -> list[Markup]:
    """Each line as HTML, escaped, with Pygments' classes."""
    formatter = HtmlFormatter(nowrap=True)
    # Pygments closes its spans at the end of every line, so lines can be cut apart.
    made = highlight(text, PythonLexer(stripnl=False, ensurenl=False), formatter)
    # A long line is rather broken behind a dot or a bracket than within a name.
    made = re.sub(r'(<span class="[op]">[.(\[]+)(</span>)', r"\1<wbr>\2", made)
    # Pygments has escaped it.
    return [Markup(line.lstrip(" ")) for line in made.rstrip("\n").split("\n")]  # nosec B704


def indent_of(line: str) -> int:
    """How many spaces a line begins with."""
    return len(line) - len(line.lstrip(" "))


def layout(cells: Sequence[Sequence[str]]) -> Layout:
    """The arrangement with the largest type; the smallest type where nothing fits."""
    count = len(cells)
    arrangements = [(columns, 1) for columns in {count, ceil(count / 2)}]
    if count == 1:
        arrangements.append((1, 2))
    sizes = [largest(cells, columns, folds) for columns, folds in arrangements]
    best = max(range(len(sizes)), key=sizes.__getitem__)
    return Layout(*arrangements[best], sizes[best])


def largest(cells: Sequence[Sequence[str]], columns: int, folds: int) -> float:
    """The largest size at which all cells fit, on a grid; the smallest where none does."""
    size = LARGEST
    while size > SMALLEST and not fits(cells, columns, folds, size):
        size -= STEP
    return size


def fits(cells: Sequence[Sequence[str]], columns: int, folds: int, size: float) -> bool:
    """Whether all cells fit when set so; wrapped lines count as often as they are wrapped."""
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
    """How many lines one line becomes, broken where the browser may break it."""
    rest = letters - indent_of(line) - HANGING  # the rest hangs deeper than it began
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
things, so that what differs is the concurrency model. For a talk, or to read them so:

    python -m bench sidebyside            # writes side-by-side.html

It is one file that needs no network. Each section is a slide, set as large as its code allows;
print it to get a PDF with one slide on each page. Lines where the model waits are marked.

## The sections
"""


def page() -> str:
    """The Markdown page: which function stands where, and what the source counts."""
    rows = []
    for section, by_model in aligned():
        if section.names & {DOCSTRING, IMPORTS}:
            continue  # nothing there has a name
        cells = [", ".join(f"`{part.name}`" for part in by_model[model]) or "–" for model in MODELS]
        rows.append([f"**{section.title}**: {section.sentence}", *cells])
    files = [f"[`{model}`](../crawlers/{model}.py)" for model in MODELS]
    lines = [HEAD_OF_PAGE, *table(["section", *files], rows)]
    lines += ["\n## What the source counts\n", *counted()]
    lines += ["", "What each leaves of a traceback: [the ripped stack](stack-ripping.md)."]
    return "\n".join(lines) + "\n"
