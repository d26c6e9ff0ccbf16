"""Why a library is not a backend: each is installed apart from the others, and shows it."""

from __future__ import annotations

from bench.cards import libraries
from bench.launch import ROOT


def test_no_refused_library_is_installed_with_the_variants() -> None:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert libraries.refused()
    for each in libraries.refused():
        assert f'"{each.name}>=' not in text
        assert not (ROOT / "crawlers" / "variants" / f"{each.name}.py").exists()
