"""The layout of the repository: what other tools rely on."""

from __future__ import annotations

from bench.launch import ROOT


def test_every_folder_of_tests_is_a_package() -> None:
    """Two test files of the same name need different package names."""
    folders = {file.parent for file in (ROOT / "tests").rglob("test_*.py")}
    assert [str(folder) for folder in folders if not (folder / "__init__.py").is_file()] == []
