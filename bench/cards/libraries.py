"""What each library's documentation recommends: a table, and its text in docs/fairness.md."""

from __future__ import annotations

import textwrap
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Annotated, Final

from pydantic import AfterValidator, BaseModel, ConfigDict

NAME: Final = "libraries"
"""Of the generated part of docs/fairness.md."""

COLUMNS: Final = 100

Text = Annotated[str, AfterValidator(lambda text: " ".join(text.split()))]
"""A paragraph of Markdown, on one line; its links are relative to docs/."""


class Library(BaseModel):
    """A library, or a family of backends without one."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    heading: str
    backends: tuple[str, ...]
    recommended: Text  # by its documentation, with a link to it
    here: Text  # what the backends do with that
    still: Text  # what its author could say against them


class _File(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    library: tuple[Library, ...]


@dataclass(frozen=True, slots=True)
class _Part:
    word: str
    text: str


@cache
def libraries() -> tuple[Library, ...]:
    """All of them, in the order of the page."""
    text = files("bench.cards").joinpath("libraries.toml").read_text(encoding="utf-8")
    return _File.model_validate(tomllib.loads(text)).library


def of(backend: str) -> Library | None:
    """The library of a backend; None for one from another distribution."""
    return next((library for library in libraries() if backend in library.backends), None)


def markdown(found: Sequence[Library]) -> str:
    """The generated part of docs/fairness.md."""
    lines = []
    for library in found:
        lines += [f"### {library.heading}", ""]
        for part in (
            _Part("Recommended", library.recommended),
            _Part("Here", library.here),
            _Part("Still to be said", library.still),
        ):
            lines += bullet(f"**{part.word}.** {part.text}")
        lines.append("")
    return "\n".join(lines).rstrip()


def bullet(text: str) -> list[str]:
    """The lines of an item of a list. Links are not broken, so that an address stays whole."""
    return textwrap.wrap(
        text,
        COLUMNS,
        initial_indent="- ",
        subsequent_indent="  ",
        break_long_words=False,
        break_on_hyphens=False,
    )
