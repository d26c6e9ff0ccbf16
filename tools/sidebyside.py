"""The four model files side by side: their sections, and counts of their source.

Prints the tables of docs/side-by-side.md. ``--html FILE`` writes all of the code instead, in four
columns, the lines where a model waits marked, as one page that needs no network. The site has it.
"""

from __future__ import annotations

import ast
import textwrap
import tomllib
from collections.abc import Collection, Mapping
from dataclasses import asdict
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from markupsafe import Markup
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

from bench import filesystem
from bench.claims.experiments import stack_ripping
from bench.launch import ROOT
from bench.palette import PALETTES
from bench.report import markup
from crawlers.registry import MODELS
from tools import parser, start, table

FORMATTER_MARK: Final = "  # fmt: skip"
NO_MACHINERY: Final = "# The model's own machinery: "
"""The start of the comment that a file has instead of machinery."""

HAND_OVERS: Final = frozenset(
    {"register", "modify", "call_soon", "call_at", "call_later", "add_done_callback"}
)
"""Methods that leave the next step to a loop or a future."""
WAITING_CALLS: Final = {
    "threads": frozenset({"connect", "recv", "sendall", "wait", "join"}),
    "callbacks": HAND_OVERS,
}
"""The calls that wait, in models whose syntax does not mark waiting."""
WAITS: Final = {
    "threads": "the call blocks",
    "callbacks": "leaves the next step to the loop",
    "generators": "yield from",
    "async_await": "await",
}
LOCKS: Final = frozenset({"Lock", "RLock", "Condition", "Semaphore", "Event", "Barrier"})
SUSPENSIONS: Final = (ast.Await, ast.Yield, ast.YieldFrom, ast.AsyncFor, ast.AsyncWith)
Function = ast.FunctionDef | ast.AsyncFunctionDef
Definition = Function | ast.ClassDef

Lines = Mapping[int, str]
"""The lines of a definition by their numbers in the file, without common indentation."""


@cache
def source_of(model: str) -> str:
    return filesystem.read_text(ROOT / "crawlers" / f"{model}.py")


@cache
def parts(model: str) -> dict[str, Lines]:
    """The definitions of a file, without docstrings; a slot's methods count as functions."""
    lines = source_of(model).splitlines()
    found: dict[str, Lines] = {}
    for node in ast.parse(source_of(model)).body:
        methods = node.body if isinstance(node, ast.ClassDef) and node.name == "Slot" else []
        steps = [m for m in methods if isinstance(m, Function) and m.name != "__init__"]
        for part in (node, *steps) if isinstance(node, Definition) else ():
            left_out = docstring_lines(part)
            left_out |= {n + 1 for n in left_out if not lines[n].strip()}
            left_out |= {n for step in steps if part is node for n in span(step)}
            kept = [n for n in span(part) if n not in left_out]
            text = textwrap.dedent("\n".join(lines[n - 1] for n in kept)).rstrip()
            shown = text.replace(FORMATTER_MARK, "").split("\n")
            found[part.name] = dict(zip(kept, shown, strict=False))
    return found


def span(node: Definition) -> range:
    first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
    return range(first, (node.end_lineno or 0) + 1)


def docstring_lines(tree: ast.AST) -> set[int]:
    """The lines of all docstrings of a module, class or function, and of those within it."""
    return {
        line
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | Definition) and ast.get_docstring(node) is not None
        for line in range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1)
    }


def aligned() -> list[tuple[dict[str, Any], dict[str, dict[str, Lines]]]]:
    """Every section with the parts of each model that belong to it, in the order of the file."""

    def of(model: str, names: Collection[str]) -> dict[str, Lines]:
        return {name: part for name, part in parts(model).items() if name in names}

    sections = tomllib.loads(filesystem.read_text(Path(__file__).with_suffix(".toml")))["section"]
    return [(each, {model: of(model, each["names"]) for model in MODELS}) for each in sections]


# --- counting ----------------------------------------------------------------------------


def metrics(model: str) -> dict[str, int]:
    """What is counted in the syntax tree of a model file, by its words in the table."""
    nodes, code = list(ast.walk(ast.parse(source_of(model)))), code_lines(model)
    functions = [node for node in nodes if isinstance(node, Function)]
    locks = {
        ast.unparse(node.targets[0])
        for node in nodes
        if isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Call)
        and ast.unparse(node.value.func) in LOCKS
    }
    # What ``fetch`` of the threads keeps from step to step: its arguments and variables.
    variables = import_module("crawlers.threads").fetch.__code__.co_varnames
    fields = import_module(f"crawlers.{model}").Slot.__slots__
    return {
        "lines of code, without comments and docstrings": len(code),
        "functions and methods": len(functions),
        "lines of the longest function": max(
            len(code & {*range(node.lineno, (node.end_lineno or 0) + 1)}) for node in functions
        ),
        "suspension points in the syntax (`await`, `yield`, `yield from`)": sum(
            isinstance(node, SUSPENSIONS) for node in nodes
        ),
        "places that leave the next step to a loop or a future": sum(
            calls(node, HAND_OVERS) for node in nodes
        ),
        "places that catch an error": len(stack_ripping.catches(model)),
        "local variables of a fetch that are fields of a slot": len({*fields} & {*variables}),
        "locks, conditions and events": len(locks),
    }


def code_lines(model: str) -> set[int]:
    """The numbers of lines with code: no blank lines, comments or docstrings."""
    lines = enumerate(map(str.strip, source_of(model).splitlines()), 1)
    code = {number for number, line in lines if line and not line.startswith("#")}
    return code - docstring_lines(ast.parse(source_of(model)))


def waiting_lines(model: str) -> set[int]:
    """Lines where the model waits: a suspension point, a blocking call, or a hand-over."""
    waiting = WAITING_CALLS.get(model, frozenset())
    own = tuple(f"self.{call}(" for call in waiting)  # these do not belong to the socket
    return {
        node.lineno
        for node in ast.walk(ast.parse(source_of(model)))
        if isinstance(node, SUSPENSIONS)
        or (
            isinstance(node, ast.Call)
            and calls(node, waiting)
            and not ast.unparse(node).startswith(own)
        )
    }


def calls(node: ast.AST, methods: Collection[str]) -> bool:
    function = node.func if isinstance(node, ast.Call) else None
    return isinstance(function, ast.Attribute) and function.attr in methods


# --- showing -----------------------------------------------------------------------------


def sections_table() -> str:
    """The functions of each section."""
    rows = []
    for section, by_model in aligned():
        names = [", ".join(f"`{name}`" for name in part) for part in by_model.values()]
        rows.append([section["title"], *(cell or "–" for cell in names)])
    files = [f"[`{model}`](../crawlers/{model}.py)" for model in MODELS]
    return "\n".join(table(["section", *files], rows))


def metrics_table() -> str:
    counted = [metrics(model) for model in MODELS]
    rows = [[words, *(of_model[words] for of_model in counted)] for words in counted[0]]
    return "\n".join(table(["", *(f"`{model}`" for model in MODELS)], rows))


def html() -> str:
    """The page with the code: each section in four columns."""
    sections = [
        (section, {model: shown(model, pieces.values()) for model, pieces in by_model.items()})
        for section, by_model in aligned()
    ]
    template = markup.templates(__name__).get_template("sidebyside.html")
    palettes = {name: asdict(PALETTES[name]) for name in ("light", "dark")}
    return template.render(sections=sections, waits=WAITS, palettes=palettes)


def shown(model: str, pieces: Collection[Lines]) -> Markup:
    """The parts of one model, highlighted; the note of its file where it has none."""
    if not pieces:
        notes = (n for n in source_of(model).splitlines() if n.startswith(NO_MACHINERY))
        note = next(notes, "nothing of its own").removeprefix(NO_MACHINERY)
        return Markup("<p>{}</p>").format(note)
    waits = waiting_lines(model)
    lines = [numbered for part in pieces for numbered in ((0, ""), *part.items())][1:]
    marks = [place for place, (number, _) in enumerate(lines, 1) if number in waits]
    code = "\n".join(line for _, line in lines)
    text = highlight(code, PythonLexer(), HtmlFormatter(hl_lines=marks))
    return Markup(text)  # nosec B704  # Pygments has escaped it


def main() -> int:
    """Print the tables, or write the code."""
    known = parser("sidebyside", __doc__)
    known.add_argument("--html", type=Path, metavar="FILE", help="write the code to this file")
    if file := known.parse_args().html:
        filesystem.write_text(file, html())
    else:
        print(f"{sections_table()}\n\n{metrics_table()}")
    return 0


if __name__ == "__main__":
    start(main, "sidebyside")
