"""The four models side by side: every definition has its place, and waiting is marked."""

from __future__ import annotations

import ast
import re
from html import unescape

import pytest

from crawlers.registry import MODELS
from tools import sidebyside


@pytest.mark.parametrize("model", MODELS)
def test_every_definition_has_its_place_in_one_section(model: str) -> None:
    """Give a new function a place in tools/sidebyside.toml."""
    defined = {
        node.name
        for node in ast.parse(sidebyside.source_of(model)).body
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
    }
    shown = [name for _, found in sidebyside.aligned() for name in found[model]]
    assert defined <= set(shown)
    assert sorted(sidebyside.parts(model)) == sorted(shown)


@pytest.mark.parametrize(
    ("model", "words"),
    [
        ("threads", ("recv", "sendall", "connect", "wait", "join")),
        ("callbacks", ("register", "modify", "call_soon", "call_at")),
        ("generators", ("yield",)),
        ("async_await", ("await",)),
    ],
)
def test_waiting_is_marked_in_the_code(model: str, words: tuple[str, ...]) -> None:
    parts = sidebyside.parts(model).values()
    marked = re.findall(r'<span class="hll">(.*?)\n', sidebyside.shown(model, parts))
    lines = {number: line for part in parts for number, line in part.items()}
    waiting = [lines[n] for n in sorted(sidebyside.waiting_lines(model) & lines.keys())]
    assert [unescape(re.sub("<[^>]*>", "", line)) for line in marked] == waiting
    assert waiting
    assert all(any(word in line for word in words) for line in waiting)


def test_only_callbacks_keep_the_variables_of_a_fetch_as_fields() -> None:
    kept = "local variables of a fetch that are fields of a slot"
    assert [model for model in MODELS if sidebyside.metrics(model)[kept]] == ["callbacks"]
