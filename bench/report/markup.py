"""HTML from templates and from sentences with Markdown; all other text is escaped."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

import jinja2
from markupsafe import Markup, escape

LINK: Final = re.compile(r"\[([^\]]+)\]\((https://[^\s)]+)\)")


def templates(module: str, **filters: Callable[[str], Markup]) -> jinja2.Environment:
    """The templates in the folder ``templates`` beside a module; ``filters`` are theirs to use.

    A value that a template asks for and does not get is an error.
    """
    found = jinja2.Environment(
        loader=jinja2.PackageLoader(module),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters.update(filters)
    return found


def marked(sentence: str) -> Markup:
    """A sentence with its Markdown bold, code and links as HTML, everything else escaped."""
    safe = str(escape(sentence))
    safe = LINK.sub(r'<a href="\2" rel="noreferrer">\1</a>', safe)
    safe = re.sub(r"\*\*(.+?)\*\*", r"<strong>\1</strong>", safe)
    safe = re.sub(r"`(.+?)`", r"<code>\1</code>", safe)
    # The text was escaped before the tags were added.
    return Markup(safe)  # nosec B704
