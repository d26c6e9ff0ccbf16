"""The four model files side by side: their sections, and counts of their source.

Prints the tables of docs/side-by-side.md. ``--html FILE`` writes all of the code instead, in four
columns, the lines where a model waits marked, as one page that needs no network. The site has it.
"""

from __future__ import annotations

import argparse
import ast
import textwrap
import tomllib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Final

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
from tools import markdown

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


@dataclass(frozen=True, slots=True)
class CodeSection:
    """Parts to show together: those with these names, in every file that has them."""

    title: str
    sentence: str
    names: Collection[str]


@dataclass(frozen=True, slots=True)
class CodePart:
    """A piece of a model file: its lines by number in the file, without common indentation."""

    name: str
    lines: Mapping[int, str]


@cache
def sections() -> list[CodeSection]:
    text = filesystem.read_text(Path(__file__).with_suffix(".toml"))
    return [CodeSection(**section) for section in tomllib.loads(text)["section"]]


def source_of(model: str) -> str:
    return filesystem.read_text(ROOT / "crawlers" / f"{model}.py")


def parts(model: str) -> list[CodePart]:
    """The definitions of a file, without docstrings; a slot's methods count as functions."""
    source = source_of(model)
    lines, pieces = source.splitlines(), []
    for node in (at_top for at_top in ast.parse(source).body if isinstance(at_top, Definition)):
        methods = list(_steps(node))
        last = _start(methods[0]) - 1 if methods else node.end_lineno or 0
        for definition, end in ((node, last), *((m, m.end_lineno or 0) for m in methods)):
            left_out = docstring_lines(definition)
            left_out |= {n + 1 for n in left_out if not lines[n].strip()}
            kept = [n for n in range(_start(definition), end + 1) if n not in left_out]
            text = textwrap.dedent("\n".join(lines[n - 1] for n in kept)).rstrip()
            shown = text.replace(FORMATTER_MARK, "").split("\n")
            pieces.append(CodePart(definition.name, dict(zip(kept, shown, strict=False))))
    return pieces


def _steps(node: Definition) -> Iterator[Function]:
    """The methods of a slot that are its steps; in other models these are functions."""
    if isinstance(node, ast.ClassDef) and node.name == "Slot":
        for child in node.body:
            if isinstance(child, Function) and child.name != "__init__":
                yield child


def _start(node: Definition) -> int:
    return min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])


def docstring_lines(tree: ast.AST) -> set[int]:
    """The lines of all docstrings of a module, class or function, and of those within it."""
    return {
        line
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | Definition) and ast.get_docstring(node) is not None
        for line in range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1)
    }


def aligned() -> list[tuple[CodeSection, dict[str, list[CodePart]]]]:
    """Every section with the parts of each model, in the order of the file."""
    cut = {model: parts(model) for model in MODELS}
    return [
        (section, {m: [p for p in pieces if p.name in section.names] for m, pieces in cut.items()})
        for section in sections()
    ]


# --- counting ----------------------------------------------------------------------------


def metrics(model: str) -> dict[str, int]:
    """What is counted in the syntax tree of a model file, by its words in the table."""
    tree = ast.parse(source_of(model))
    nodes, code = list(ast.walk(tree)), code_lines(model)
    functions = [node for node in nodes if isinstance(node, Function)]
    locks = {
        ast.unparse(node.targets[0])
        for node in nodes
        if isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Call)
        and ast.unparse(node.value.func) in LOCKS
    }
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
            _calls(node, HAND_OVERS) for node in nodes
        ),
        "places that catch an error": len(stack_ripping.catches(model)),
        "local variables of a fetch that are fields of a slot": len(
            _fields(tree) & fetch_variables()
        ),
        "locks, conditions and events": len(locks),
    }


def fetch_variables() -> set[str]:
    """What ``fetch`` of the threads keeps from step to step: its arguments and variables."""
    tree = ast.parse(source_of("threads"))
    (fetch,) = (n for n in tree.body if isinstance(n, Function) and n.name == "fetch")
    names = (node for node in ast.walk(fetch) if isinstance(node, ast.Name))
    stored = {name.id for name in names if isinstance(name.ctx, ast.Store)}
    return {argument.arg for argument in fetch.args.args} | stored


def code_lines(model: str) -> set[int]:
    """The numbers of lines with code: no blank lines, comments or docstrings."""
    source = source_of(model)
    lines = {number: line.strip() for number, line in enumerate(source.splitlines(), 1)}
    code = {number for number, line in lines.items() if line and not line.startswith("#")}
    return code - docstring_lines(ast.parse(source))


def waiting_lines(model: str) -> set[int]:
    """Lines where the model waits: a suspension point, a blocking call, or a hand-over."""
    calls = WAITING_CALLS.get(model, frozenset())
    own = tuple(f"self.{call}(" for call in calls)  # these do not belong to the socket
    return {
        node.lineno
        for node in ast.walk(ast.parse(source_of(model)))
        if isinstance(node, SUSPENSIONS)
        or (
            (isinstance(node, ast.Call) and _calls(node, calls))
            and not ast.unparse(node).startswith(own)
        )
    }


def _calls(node: ast.AST, methods: Collection[str]) -> bool:
    function = node.func if isinstance(node, ast.Call) else None
    return isinstance(function, ast.Attribute) and function.attr in methods


def _fields(tree: ast.Module) -> set[str]:
    """The fields of a slot."""
    slot = next(n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == "Slot")
    return next(
        set(ast.literal_eval(statement.value))
        for statement in slot.body
        if isinstance(statement, ast.Assign) and "__slots__" in ast.unparse(statement.targets[0])
    )


# --- showing -----------------------------------------------------------------------------


def sections_table() -> str:
    """The functions of each section."""
    rows = [
        [
            section.title,
            *(", ".join(f"`{part.name}`" for part in by_model[m]) or "–" for m in MODELS),
        ]
        for section, by_model in aligned()
    ]
    files = [f"[`{model}`](../crawlers/{model}.py)" for model in MODELS]
    return "\n".join(markdown.table(["section", *files], rows))


def metrics_table() -> str:
    counted = [metrics(model) for model in MODELS]
    rows = [[words, *(str(of_model[words]) for of_model in counted)] for words in counted[0]]
    return "\n".join(markdown.table(["", *(f"`{model}`" for model in MODELS)], rows))


def html() -> str:
    """The page with the code: each section in four columns."""
    return (
        markup.templates(__name__)
        .get_template("sidebyside.html")
        .render(
            sections=[
                (section, {model: shown(model, pieces) for model, pieces in by_model.items()})
                for section, by_model in aligned()
            ],
            waits=WAITS,
            palettes={name: asdict(PALETTES[name]) for name in ("light", "dark")},
        )
    )


def shown(model: str, pieces: list[CodePart]) -> Markup:
    """The parts of one model, highlighted; the note of its file where it has none."""
    if not pieces:
        lines_of_file = source_of(model).splitlines()
        notes = (line for line in lines_of_file if line.startswith(NO_MACHINERY))
        note = next(notes, "nothing of its own").removeprefix(NO_MACHINERY)
        return Markup("<p>{}</p>").format(note)
    marks = waiting_lines(model)
    lines: list[str] = []
    waits: list[int] = []
    for part in pieces:
        lines += [""] if lines else []
        waits += [len(lines) + n for n, line in enumerate(part.lines, 1) if line in marks]
        lines += part.lines.values()
    text = highlight("\n".join(lines), PythonLexer(), HtmlFormatter(hl_lines=waits))
    return Markup(text)  # nosec B704: Pygments has escaped it


def main() -> None:
    """Print the tables, or write the code."""
    parser = argparse.ArgumentParser(prog="python -m tools.sidebyside", description=__doc__)
    parser.add_argument("--html", type=Path, metavar="FILE", help="write the code to this file")
    if file := parser.parse_args().html:
        filesystem.write_text(file, html())
    else:
        print(f"{sections_table()}\n\n{metrics_table()}")


if __name__ == "__main__":
    main()
