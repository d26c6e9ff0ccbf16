"""What each library's documentation recommends: a table, and its text."""

from __future__ import annotations

import textwrap
import tomllib
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Annotated, Final

from pydantic import AfterValidator, BaseModel, ConfigDict

from bench.filesystem import packaged

NAME: Final = "libraries"
"""Of the generated part of docs/notebook/libraries.md."""

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


class Refused(BaseModel):
    """A library that was tried and is not a backend."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    version: str
    because: Text


class _Tables(BaseModel):
    library: tuple[Library, ...]
    refused: tuple[Refused, ...]


@cache
def _tables() -> _Tables:
    file = Path(__file__).with_name("libraries.toml")
    return packaged(file, lambda text: _Tables.model_validate(tomllib.loads(text)))


def refused() -> tuple[Refused, ...]:
    return _tables().refused


def libraries() -> tuple[Library, ...]:
    return _tables().library


def of(backend: str) -> Library | None:
    """The library of a backend; None for one from another distribution."""
    return next((library for library in libraries() if backend in library.backends), None)


def markdown(found: Sequence[Library]) -> str:
    lines = []
    for library in found:
        lines += [f"### {library.heading}", ""]
        lines += bullet(f"**Recommended.** {library.recommended}")
        lines += bullet(f"**Here.** {library.here}")
        lines += [*bullet(f"**Still to be said.** {library.still}"), ""]
    return "\n".join(lines).rstrip()


def refusals(found: Sequence[Refused]) -> str:
    lines = ["## Tried and not admitted", ""]
    for each in found:
        lines += bullet(f"**{each.name} {each.version}**, because: {each.because}")
    return "\n".join(lines)


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
