"""The talk from its one template, ``templates/talk.md``: as a document, and as slides in a file.

The template is Markdown with what the records say filled in (:mod:`bench.talk.material`). A heading
begins a slide. What follows it is shown; then come the notes, the question from the floor with its
answer, and the source of the numbers.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import jinja2
from markdown_it import MarkdownIt
from markdown_it.token import Token
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

from bench.analysis.wording import prose
from bench.launch import ROOT
from bench.palette import PALETTES
from bench.report import markup
from bench.report.charts import Sheet, wordless
from bench.show.figures import Figure
from bench.show.pictures import alt
from bench.talk.material import Material
from bench.text import capital, markdown_text

CHART: Final = re.compile(r"!\[(?P<alt>.*)\]\(chart:(?P<name>[\w-]+)\)")


@dataclass(frozen=True, slots=True)
class TalkSlide:
    """One slide in Markdown: what the room sees, what the speaker says, what the floor asks."""

    kicker: str  # where in the story we are
    title: str
    body: str
    notes: str
    floor: str
    source: str  # the campaign of its numbers

    @property
    def name(self) -> str:
        """Its address: ``the-claim-tested``."""
        return re.sub(r"\W+", "-", self.kicker.lower())


@dataclass(frozen=True, slots=True)
class Talk:
    """The template, filled, and the slides in it."""

    material: Material
    text: str
    slides: Sequence[TalkSlide]


def tell(material: Material, command: str = "") -> Talk:
    """The slides that the records fill. ``command`` is how the document is made."""
    text = _templates().get_template("talk.md").render(command=command, **material.names())
    text = re.sub(r"\n{3,}", "\n\n", text).rstrip("\n") + "\n"
    return Talk(material, text, [_slide(part) for part in re.split(r"(?m)^## ", text)[1:]])


def _templates() -> jinja2.Environment:
    return markup.templates(__name__, prose=prose, capital=capital, md=markdown_text)


def _slide(text: str) -> TalkSlide:
    title, _, rest = text.partition("\n")
    body, _, rest = rest.partition("**Notes.** ")
    notes, _, rest = rest.partition("**From the floor:** ")
    floor, _, rest = rest.partition("<sub>")
    kicker, _, source = rest.strip().removesuffix(".</sub>").partition(". Numbers: ")
    return TalkSlide(kicker, title, body, notes, floor, source)


def document(talk: Talk, page: Path) -> str:
    """The talk as a document; charts are linked where they lie, and described where they do not."""

    def picture(match: re.Match[str]) -> str:
        file = talk.material.file(match["name"])
        if not file.is_file():
            return f"*{match['alt']}*"
        return f"![{match['alt']}]({Path(os.path.relpath(file, page.parent)).as_posix()})"

    def page_of_docs(match: re.Match[str]) -> str:
        return f"]({Path(os.path.relpath(ROOT / 'docs' / match[1], page.parent)).as_posix()})"

    text = re.sub(r"\]\(([\w-]+\.md)\)", page_of_docs, CHART.sub(picture, talk.text))
    head, *slides = re.split(r"(?m)^## ", text)
    lines = [head, *(f"## {number}. {text}" for number, text in enumerate(slides, 1))]
    if gaps := talk.material.gaps:
        lines.append("\n## Left out\n\n")
        lines += [f"- {gap.kicker}: {markdown_text(gap.reason)}\n" for gap in gaps]
    return "".join(lines)


def html(talk: Talk) -> str:
    """The slides as one self-contained file; the same records give the same text."""
    colours = markup.Colours()
    with TemporaryDirectory(prefix="c10k-") as folder:
        reader = _reader(talk.material, Path(folder), colours)

        shown = [
            {
                "name": slide.name,
                "kicker": slide.kicker,
                "source": markup.read_line(reader, slide.source),
                "title": markup.read_line(reader, slide.title),
                "body": markup.read(reader, slide.body),
                "notes": markup.read(reader, slide.notes),
                "floor": markup.read(reader, slide.floor),
            }
            for slide in talk.slides
        ]
    return (
        _templates()
        .get_template("talk.html")
        .render(
            campaign=talk.material.analysis.campaign.campaign,
            shown=shown,
            gaps=talk.material.gaps,
            palettes=PALETTES,
            colours=colours,
        )
    )


def _reader(material: Material, folder: Path, colours: markup.Colours) -> MarkdownIt:
    """Reads Markdown without HTML in it, draws its charts and colors its code."""

    def coloured(code: str, *_: object) -> str:
        return str(highlight(code, PythonLexer(), HtmlFormatter(nowrap=True)))

    def picture(_self: object, tokens: Sequence[Token], place: int, *_: object) -> str:
        name = str(tokens[place].attrs["src"]).removeprefix("chart:")
        figure = material.look(name)
        assert figure is not None, "the template shows only charts that there are"
        return _svg(figure, material.backends(name), folder, colours)

    reader = markup.reader(highlight=coloured)
    reader.add_render_rule("image", picture)
    return reader


def _svg(figure: Figure, backends: Sequence[str], folder: Path, colours: markup.Colours) -> str:
    """The chart without its headline and small print, which the slide has in larger type."""
    drawn = Sheet(folder, backends, (), ("svg",), shape="stage").draw(wordless(figure))
    return markup.svg(figure.name, alt(figure.title, figure.data), drawn.files["svg"], colours)
