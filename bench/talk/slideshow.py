"""The slides as one self-contained HTML file, with charts drawn for them and notes."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from markupsafe import Markup, escape

from bench import filesystem
from bench.palette import PALETTES
from bench.report import inline, markup
from bench.report.charts import Sheet
from bench.talk.slides import Code, Gap, Grid, Picture, Quotes, Talk, TalkSlide
from crawlers.registry import MODELS

KINDS: Final = {Quotes: "quotes", Picture: "picture", Grid: "grid", Code: "code"}
THEMES: Final = ("light", "dark")


@dataclass(frozen=True, slots=True)
class Shown:
    """A slide with what the template asks for: which kind, and the chart's picture."""

    slide: TalkSlide
    kind: str
    svg: Markup | None = None


def html(talk: Talk) -> str:
    """The whole file; the same records give the same text."""
    templates = markup.templates(__name__, marked=markup.marked)
    colours = inline.Colours()
    with TemporaryDirectory() as folder:
        shown = [_shown(slide, Path(folder), colours) for slide in talk.slides]
    return templates.get_template("talk.html").render(
        talk=talk,
        shown=shown,
        models=MODELS,
        light=asdict(PALETTES["light"]),
        dark=asdict(PALETTES["dark"]),
        colours=colours,
    )


def _shown(slide: TalkSlide, folder: Path, colours: inline.Colours) -> Shown:
    kind = KINDS[type(slide.body)]
    svg = picture(slide.body, folder, colours) if isinstance(slide.body, Picture) else None
    return Shown(slide, kind, svg)


def picture(body: Picture, folder: Path, colours: inline.Colours) -> Markup:
    """The chart without its headline and small print, which the slide has in larger type."""
    bare = replace(body.design, title="", finding=None, subtitle="", notes=(), hollow=False)
    sheet = Sheet(folder, body.backends, (), ("svg",), THEMES, ("stage",))
    drawn = sheet.draw(bare)
    light, dark = (filesystem.read_text(drawn.files[f"svg/{theme}/stage"]) for theme in THEMES)
    text = inline.svg(bare.name, str(escape(body.design.alt)), light, dark, colours)
    return Markup(text)  # nosec B704: drawn by us, and matplotlib escapes its text


def plain(text: str) -> str:
    """A text without the marks of Markdown."""
    return re.sub(r"\*\*|`", "", text)


def missing(gap: Gap) -> str:
    """A slide that is not there, in a sentence."""
    return f"“{gap.kicker}” is left out: {gap.reason}."
