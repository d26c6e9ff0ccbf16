"""The lines of each model that receive an answer: few enough to read from the back of a room."""

from __future__ import annotations

import ast

from bench.exhibits import sections
from bench.exhibits.models import Function, source_of, waiting_lines
from bench.exhibits.sections import CodePart

CONDITION = "not exchange.done"
"""The loop that receives, in the models whose fetch has one."""
RECEIVE = "receive"
"""The callback that receives, and the name that a loop is given."""


def receiving(model: str) -> list[CodePart]:
    """The loop of ``fetch`` that receives, or the callback, after the line that hands it over."""
    tree = ast.parse(source_of(model))
    for node in ast.walk(tree):
        if isinstance(node, Function) and node.name == "fetch":
            for inner in ast.walk(node):
                if isinstance(inner, ast.While) and ast.unparse(inner.test) == CONDITION:
                    return [cut(model, "fetch", inner.lineno, inner.end_lineno or 0)]
    whole = next(part for part in sections.parts(model) if part.name == RECEIVE)
    handed = next(
        part
        for part in sections.parts(model)
        for number, line in part.lines.items()
        if number in waiting_lines(model) and f".{RECEIVE})" in line and part.name != RECEIVE
    )
    line = max(n for n, text in handed.lines.items() if f".{RECEIVE})" in text)
    return [cut(model, handed.name, line, line), whole]


def cut(model: str, name: str, first: int, last: int) -> CodePart:
    """Lines of a part, without their common indentation."""
    part = next(part for part in sections.parts(model) if part.name == name)
    lines = {number: text for number, text in part.lines.items() if first <= number <= last}
    indent = min(len(text) - len(text.lstrip()) for text in lines.values() if text.strip())
    return CodePart(name, {number: text[indent:] for number, text in lines.items()})
