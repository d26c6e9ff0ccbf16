"""What each library's documentation recommends: ``libraries.toml``, and its text."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict

from bench.report import markup

Text = Annotated[str, AfterValidator(lambda text: " ".join(text.split()))]
"""A paragraph of Markdown, on one line; its links are relative to docs/."""


class LibraryEntry(BaseModel):
    """A library, or a family of backends without one."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    heading: str
    backends: tuple[str, ...]
    recommended: Text  # by its documentation, with a link to it
    here: Text  # what the backends do with that
    still: Text  # what its author could say against them


class NotAdmitted(BaseModel):
    """A library that was tried and is not a backend."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    version: str
    because: Text


class Libraries(BaseModel):
    library: tuple[LibraryEntry, ...]
    refused: tuple[NotAdmitted, ...]


def libraries() -> Libraries:
    file = Path(__file__).with_name("libraries.toml")
    return Libraries.model_validate(tomllib.loads(file.read_text(encoding="utf-8")))


def markdown() -> str:
    """The list of all libraries, wrapped as documents are."""
    known = libraries()
    template = markup.templates(__name__).get_template("libraries.md")
    return template.render(libraries=known.library, refused=known.refused).rstrip()
