"""The level of every interval is one constant, in sentences as in calculations."""

from __future__ import annotations

import ast
from pathlib import Path

from bench.launch import ROOT


def said(file: Path) -> list[str]:
    """The texts of a program that are no docstrings, or all of a template."""
    if file.suffix != ".py":
        return [file.read_text(encoding="utf-8")]
    tree = ast.parse(file.read_text(encoding="utf-8"))
    docs = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    constants = (n for n in ast.walk(tree) if isinstance(n, ast.Constant) and id(n) not in docs)
    return [node.value for node in constants if isinstance(node.value, str)]


def test_no_sentence_has_a_level_of_its_own() -> None:
    files = [*(ROOT / "bench").rglob("*.py"), *(ROOT / "bench").rglob("templates/*")]
    assert len(files) > 100
    assert not [file for file in files for text in said(file) if "95 %" in text]
