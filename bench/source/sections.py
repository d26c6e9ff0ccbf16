"""The four model files cut into sections, the same in all four and in the same order.

Docstrings of functions and classes are left out: a section's sentence says as much,
and what is left can be set larger.
"""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from bench.source import models
from bench.source.models import Definition
from bench.workloads import MODELS

DOCSTRING, IMPORTS = "docstring", "imports"
"""Parts that have no name of their own."""
NO_MACHINERY = "# The model's own machinery: "
"""How the comment begins that a file has in the place of machinery."""
FORMATTER_MARK = "  # fmt: skip"


@dataclass(frozen=True, slots=True)
class Section:
    """What is shown together: the parts of these names, in every file that has them."""

    title: str
    sentence: str
    names: frozenset[str]


def _section(title: str, sentence: str, *names: str) -> Section:
    return Section(title, sentence, frozenset(names))


SECTIONS: Final = (
    _section("The model", "Each file begins by saying what it is.", DOCSTRING),
    _section("Imports", "What each model needs to begin with.", IMPORTS),
    _section("Shared", "What the slots of one crawl share.", "Shared"),
    _section("Slot", "One connection at most, one exchange in flight at most.", "Slot"),
    _section(
        "Machinery: Future",
        "A result that is not there yet. Only generators build it by hand.",
        "Cancelled",
        "Future",
    ),
    _section("Machinery: Task", "What drives a coroutine, step by step.", "Task"),
    _section(
        "Machinery: waiting",
        "From a socket, a time or a list of tasks to something one can wait for.",
        "gather",
        "run_until_complete",
        "sleep_until",
        "socket_ready",
        "notice",
    ),
    _section("Connect", "Open the connection, and close it.", "connect", "connected", "disconnect"),
    _section(
        "Fetch", "One exchange: connect where needed, send, receive until it is done.", "fetch"
    ),
    _section("Send", "All of the request, even where it does not fit.", "send", "send_rest"),
    _section("Receive", "Bytes, the end of them, or an error.", "receive", "fail", "abort"),
    _section("Settle", "Hand the outcome to the frontier.", "settle"),
    _section("Take", "The next fetch, or wait for one.", "take"),
    _section("Work", "A slot’s life.", "work"),
    _section("Wake and end", "Let idle slots look for work; take nothing more.", "wake", "end"),
    _section("Watch", "End what has run out of time.", "watch"),
    _section("Run", "Start the slots, and stop when all are done.", "run"),
    _section("Crawl", "Put it together.", "loop_name", "main", "crawl"),
)


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a model file: its lines by number in the file, without common indentation."""

    name: str
    lines: dict[int, str]


def parts(model: str) -> list[Part]:
    """The parts of a file that have a place in a section; a slot's methods count as functions."""
    source = models.source_of(model)
    lines = source.splitlines()
    tree = ast.parse(source)

    def cut(name: str, first: int, last: int, *without: ast.stmt) -> Part:
        left_out: set[int] = set()
        for node in without:
            end = node.end_lineno or 0
            left_out.update(range(node.lineno, end + (2 if lines[end].strip() == "" else 1)))
        kept = [number for number in range(first, last + 1) if number not in left_out]
        text = textwrap.dedent("\n".join(lines[number - 1] for number in kept)).rstrip()
        shown = text.replace(FORMATTER_MARK, "").split("\n")
        return Part(name, dict(zip(kept, shown, strict=False)))

    found: list[Part] = []
    if ast.get_docstring(tree) is not None:
        found.append(cut(DOCSTRING, tree.body[0].lineno, tree.body[0].end_lineno or 0))
    imports = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
    # Not the one from __future__, which is the same in every file of this suite.
    found.append(cut(IMPORTS, imports[1].lineno, imports[-1].end_lineno or 0))
    for node in tree.body:
        if isinstance(node, Definition):
            methods = list(_steps(node))
            last = _start(methods[0]) - 1 if methods else node.end_lineno or 0
            found.append(cut(node.name, _start(node), last, *_docstrings(node)))
            for method in methods:
                last = method.end_lineno or 0
                found.append(cut(method.name, _start(method), last, *_docstrings(method)))
    return found


def _steps(node: Definition) -> Iterator[models.Function]:
    """The methods of a slot that are its steps, as functions are in the other models."""
    if isinstance(node, ast.ClassDef) and node.name == "Slot":
        for child in node.body:
            if isinstance(child, models.Function) and child.name != "__init__":
                yield child


def _docstrings(node: Definition) -> list[ast.stmt]:
    """The docstrings of a definition and of those within it."""
    return [
        inner.body[0]
        for inner in ast.walk(node)
        if isinstance(inner, Definition) and ast.get_docstring(inner) is not None
    ]


def machinery_note(model: str) -> str | None:
    """What a file says in the place of machinery: "none. The kernel's …"; None without."""
    for line in models.source_of(model).splitlines():
        if line.startswith(NO_MACHINERY):
            return line.removeprefix(NO_MACHINERY).rstrip(".")
    return None


def _start(node: Definition) -> int:
    return min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])


def aligned() -> list[tuple[Section, dict[str, list[Part]]]]:
    """Every section with each model's parts of it, in the order of the file."""
    cut = {model: parts(model) for model in MODELS}
    return [
        (section, {m: [p for p in found if p.name in section.names] for m, found in cut.items()})
        for section in SECTIONS
    ]
