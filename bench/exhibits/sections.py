"""The four model files cut into sections: the same sections in the same order.

Leaves out docstrings of functions and classes: each section has a sentence instead,
and the code can be set in larger type.
"""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from bench.exhibits import models
from bench.exhibits.models import Definition
from crawlers.registry import MODELS

DOCSTRING, IMPORTS = "docstring", "imports"
"""Parts without a name of their own."""
NO_MACHINERY = "# The model's own machinery: "
"""The start of the comment that a file has instead of machinery."""
FORMATTER_MARK = "  # fmt: skip"


@dataclass(frozen=True, slots=True)
class CodeSection:
    """Parts to show together: those with these names, in every file that has them."""

    title: str
    sentence: str
    names: frozenset[str]


def _section(title: str, sentence: str, *names: str) -> CodeSection:
    return CodeSection(title, sentence, frozenset(names))


SECTIONS: Final = (
    _section("The model", "Each file begins with a description of its model.", DOCSTRING),
    _section("Imports", "What each model needs.", IMPORTS),
    _section("Shared", "What the slots of a crawl share.", "Shared"),
    _section("Slot", "At most one connection, and at most one exchange in flight.", "Slot"),
    _section(
        "Machinery: Future",
        "A result that is not available yet. Only generators build it by hand.",
        "Cancelled",
        "Future",
    ),
    _section("Machinery: Task", "Drives a coroutine step by step.", "Task"),
    _section(
        "Machinery: waiting",
        "Turns a socket, a time or a list of tasks into something to wait for.",
        "gather",
        "run_until_complete",
        "sleep_until",
        "socket_ready",
        "notice",
    ),
    _section("Connect", "Open and close the connection.", "connect", "connected", "disconnect"),
    _section(
        "Secure",
        "Encrypt the connection for https. To read, TLS may have to write first.",
        *("secure", "shake_hands", "wait", "resume", "wanted"),
    ),
    _section(
        "Fetch", "One exchange: connect if necessary, send, receive until it is complete.", "fetch"
    ),
    _section(
        "Send",
        "Send the whole request, even in several parts.",
        "send",
        "send_rest",
    ),
    _section("Receive", "Receive bytes, the end, or an error.", "receive", "fail", "abort"),
    _section("Finish", "Hand the result to the frontier.", "finish"),
    _section("Take", "Take the next fetch, or wait for one.", "take"),
    _section("Work", "The main loop of a slot.", "work"),
    _section("Wake and end", "Make idle slots look for work; stop taking fetches.", "wake", "end"),
    _section("Watch", "Stop exchanges that have run out of time.", "watch"),
    _section("Run", "Start the slots, and stop when all have finished.", "run"),
    _section("Crawl", "Put everything together.", "main", "crawl"),
)


@dataclass(frozen=True, slots=True)
class CodePart:
    """A piece of a model file: its lines by number in the file, without common indentation."""

    name: str
    lines: dict[int, str]


def parts(model: str) -> list[CodePart]:
    """The parts of a file that belong to sections; a slot's methods count as functions."""
    source = models.source_of(model)
    lines = source.splitlines()
    tree = ast.parse(source)

    def cut(name: str, first: int, last: int, *without: ast.stmt) -> CodePart:
        left_out: set[int] = set()
        for node in without:
            end = node.end_lineno or 0
            left_out.update(range(node.lineno, end + (2 if lines[end].strip() == "" else 1)))
        kept = [number for number in range(first, last + 1) if number not in left_out]
        text = textwrap.dedent("\n".join(lines[number - 1] for number in kept)).rstrip()
        shown = text.replace(FORMATTER_MARK, "").split("\n")
        return CodePart(name, dict(zip(kept, shown, strict=False)))

    found: list[CodePart] = []
    if ast.get_docstring(tree) is not None:
        found.append(cut(DOCSTRING, tree.body[0].lineno, tree.body[0].end_lineno or 0))
    imports = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
    # Without the import from __future__, which is the same in every file.
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
    """The methods of a slot that are its steps; in other models these are functions."""
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
    """A file's comment instead of machinery ("none. The kernel's …"), or None."""
    for line in models.source_of(model).splitlines():
        if line.startswith(NO_MACHINERY):
            return line.removeprefix(NO_MACHINERY).rstrip(".")
    return None


def _start(node: Definition) -> int:
    return min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])


def aligned() -> list[tuple[CodeSection, dict[str, list[CodePart]]]]:
    """Every section with the parts of each model, in the order of the file."""
    cut = {model: parts(model) for model in MODELS}
    return [
        (section, {m: [p for p in found if p.name in section.names] for m, found in cut.items()})
        for section in SECTIONS
    ]
