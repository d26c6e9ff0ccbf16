"""The table of libraries: every backend has its entry, and every entry a source."""

from __future__ import annotations

import re

import pytest

from bench.cards import libraries
from bench.cards.libraries import Library
from bench.launch import ROOT
from crawlers.catalogue import OURS

ALL = libraries.libraries()


def test_every_backend_has_one_entry_and_no_entry_names_another() -> None:
    named = [name for library in ALL for name in library.backends]
    assert sorted(named) == sorted(OURS)


@pytest.mark.parametrize("library", ALL, ids=lambda library: library.backends[0])
def test_what_is_recommended_has_its_source(library: Library) -> None:
    assert "](https://" in library.recommended
    for text in (library.recommended, library.here, library.still):
        assert "\n" not in text
        assert text.endswith(".")


@pytest.mark.parametrize("library", ALL, ids=lambda library: library.backends[0])
def test_links_without_the_net_lead_into_docs(library: Library) -> None:
    text = f"{library.recommended} {library.here} {library.still}"
    for address in re.findall(r"\]\(((?!https:)[^)]*)\)", text):
        assert (ROOT / "docs" / address.partition("#")[0]).is_file()


def test_a_backend_of_another_distribution_has_none() -> None:
    assert libraries.of("somebody_elses") is None
