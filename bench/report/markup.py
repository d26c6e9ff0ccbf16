"""HTML from templates, from sentences with Markdown, and from charts; all other text is escaped.

A chart's file names the dark colour of each light one (:func:`bench.palette.adapting`). A page has
a theme of its own to choose, so it holds the drawing with a CSS variable in place of each colour.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Final

import jinja2
from markdown_it import MarkdownIt
from markupsafe import Markup, escape

from bench import filesystem
from bench.analysis.stats import AT_LEVEL
from bench.palette import COLOUR, dark_of, mix
from bench.text import unbroken

_REFERENCE: Final = re.compile(r'(?:url\(#|href="#)([\w.-]+)')
_FONT: Final = re.compile(r"font-family: [^;\"]*; ")
_LOCAL: Final = re.compile(r'<a href="(?!https://)[^"]*">(.*?)</a>', re.DOTALL)
_REMOTE: Final = re.compile(r'<a href="(https://[^"]*)">')


def templates(module: str, **filters: Callable[..., object]) -> jinja2.Environment:
    """The templates in the folder ``templates`` beside a module; ``filters`` are theirs to use.

    Each may import the macros of a report. Text is escaped in HTML, and in nothing else. A value
    that a template asks for and does not get is an error.
    """
    environment = jinja2.Environment(
        loader=jinja2.ChoiceLoader([jinja2.PackageLoader(module), jinja2.PackageLoader(__name__)]),
        autoescape=jinja2.select_autoescape(("html",), default_for_string=False),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(filters)
    environment.globals |= {"level": AT_LEVEL, "mix": mix}
    return environment


def on_one_line(value: object) -> object:
    """Each number of a text with its unit; what a template of a page does with its values."""
    return unbroken(value) if type(value) is str else value


def reader(**options: object) -> MarkdownIt:
    """Reads Markdown with tables, and lets no HTML in it through."""
    return MarkdownIt("commonmark", {"html": False, **options}).enable("table")


def read(with_: MarkdownIt, text: str) -> Markup:
    """Markdown as HTML. A link into docs/, which is not beside a report, becomes its words."""
    return _linked(with_.render(text))


def read_line(with_: MarkdownIt, sentence: str) -> Markup:
    """The same of a sentence, which is no paragraph of its own; numbers keep their units."""
    return _linked(with_.renderInline(unbroken(sentence)))


def _linked(made: str) -> Markup:
    made = _REMOTE.sub(r'<a href="\1" rel="noreferrer">', _LOCAL.sub(r"\1", made))
    return Markup(made)  # nosec B704  # the reader escapes all text


class Colours:
    """The colours of a page: each pair of a light and a dark one is a CSS variable."""

    def __init__(self) -> None:
        self._names: dict[tuple[str, str], str] = {}

    def variable(self, light: str, dark: str) -> str:
        """The CSS value that stands for a pair."""
        return f"var({self._names.setdefault((light, dark), f'--c{len(self._names)}')})"

    def css(self, theme: int) -> str:
        """The declarations of all variables, for theme 0 (light) or 1 (dark)."""
        return " ".join(f"{name}: {pair[theme]};" for pair, name in self._names.items())


def svg(name: str, alt: str, file: Path, colours: Colours) -> Markup:
    """The SVG element of a chart's file. The name makes identifiers unique on the page."""
    drawn = filesystem.read_text(file)
    light, dark = _picture(drawn), dark_of(drawn)
    text = COLOUR.sub(lambda match: colours.variable(match[0], dark.get(match[0], match[0])), light)
    # An attribute cannot hold a variable, a style can.
    text = re.sub(r' fill="(var\(--c\d+\))"', r' style="fill: \1"', text)
    used = set(_REFERENCE.findall(text))
    text = re.sub(r' id="([\w.-]+)"', lambda m: m.group() if m.group(1) in used else "", text)
    text = re.sub(r'(id="|url\(#|href="#)(?=[\w.-]+)', rf"\g<1>{name}-", text)
    text = re.sub(r' transform="rotate\(-?0 [^"]*"', "", text)
    text = re.sub(r' (?:d|x|y|width|height|transform)="[^"]*"', _shorter, text)
    text = _FONT.sub("", text)  # the page's style sheet has it once
    size = re.search(r'viewBox="[^"]*"', light)
    if size is None:
        raise ValueError(f"{name}: an SVG without viewBox")
    body = text[text.index(">") + 1 :]
    head = f'<svg class="chart" role="img" aria-label="{escape(alt)}" {size.group()}>'
    return Markup(head + body)  # nosec B704  # drawn by us, and matplotlib escapes its text


def _picture(text: str) -> str:
    """The svg element without title and metadata, which would repeat what the page says."""
    text = text[text.index("<svg") :]
    text = re.sub(r"<(title|metadata|style)\b.*?</\1>", "", text, flags=re.DOTALL)
    return re.sub(r">\s+<", "><", text).strip()


def _shorter(match: re.Match[str]) -> str:
    """Two decimals are a hundredth of a point; line breaks do not matter."""
    text = re.sub(r"-?\d+\.\d{3,}", lambda m: f"{float(m.group()):.2f}", match.group())
    return re.sub(r"\s*\n\s*", " ", text).replace(' "', '"')
