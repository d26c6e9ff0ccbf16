"""The layout of the repository: what other tools rely on."""

from __future__ import annotations

import re

from bench.launch import ROOT
from tests.conftest import LONGEST


def test_every_folder_of_tests_is_a_package() -> None:
    """Two test files of the same name need different package names."""
    folders = {file.parent for file in (ROOT / "tests").rglob("test_*.py")}
    assert [str(folder) for folder in folders if not (folder / "__init__.py").is_file()] == []


def test_no_file_of_tests_is_empty() -> None:
    """A merge left one with no line; nothing failed, because nothing was tested."""
    files = (ROOT / "tests").rglob("test_*.py")
    tests = re.compile(r"^ *def test_|^Test\w+ = ", re.MULTILINE)  # the second: state machines
    assert [str(file) for file in files if not tests.search(file.read_text("utf-8"))] == []


def test_the_longest_files_exist() -> None:
    """One that has moved would begin last, and keep all other processes waiting."""
    assert [file for file in LONGEST if not (ROOT / file).is_file()] == []
