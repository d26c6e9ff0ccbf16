"""The table of libraries: every backend has its entry, and every entry a source."""

from __future__ import annotations

import re
import tomllib

import pytest

from bench.launch import ROOT
from crawlers.catalogue import OURS

ALL = tomllib.loads((ROOT / "tools" / "libraries.toml").read_text())["library"]


def test_every_backend_has_one_entry_and_no_entry_names_another() -> None:
    named = [name for library in ALL for name in library["backends"]]
    assert sorted(named) == sorted(OURS)


@pytest.mark.parametrize("library", ALL, ids=lambda library: library["backends"][0])
def test_what_is_recommended_has_its_source_and_other_links_lead_into_docs(
    library: dict[str, str],
) -> None:
    assert "](https://" in library["recommended"]
    texts = library["recommended"], library["here"], library["still"]
    assert all(text.strip().endswith(".") for text in texts)
    for address in re.findall(r"\]\(((?!https:)[^)]*)\)", " ".join(texts)):
        assert (ROOT / "docs" / address.partition("#")[0]).is_file()
