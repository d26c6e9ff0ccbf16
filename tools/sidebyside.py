"""Write docs/side-by-side.md: the sections of the four model files, and counts of their source.

``--html FILE`` writes all of the code instead, in four columns, the lines where a model waits
marked, as one page that needs no network. The site has this page.
"""

from __future__ import annotations

import argparse
import ast
import io
import textwrap
import tokenize
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
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
from bench.text import markdown_table
from crawlers.registry import MODELS

PAGE: Final = ROOT / "docs" / "side-by-side.md"
CRAWLERS: Final = ROOT / "crawlers"
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
NO_CODE: Final = frozenset(
    {
        tokenize.COMMENT,
        tokenize.NL,
        tokenize.NEWLINE,
        tokenize.INDENT,
        tokenize.DEDENT,
        tokenize.ENCODING,
        tokenize.ENDMARKER,
    }
)
SUSPENSIONS: Final = (ast.Await, ast.Yield, ast.YieldFrom, ast.AsyncFor, ast.AsyncWith)
Function = ast.FunctionDef | ast.AsyncFunctionDef
Definition = Function | ast.ClassDef


@dataclass(frozen=True, slots=True)
class CodeSection:
    """Parts to show together: those with these names, in every file that has them."""

    title: str
    sentence: str
    names: tuple[str, ...]


SECTIONS: Final = (
    CodeSection("Shared", "What the slots of a crawl share.", ("Shared",)),
    CodeSection("Slot", "At most one connection, and at most one exchange in flight.", ("Slot",)),
    CodeSection(
        "Machinery: Future",
        "A result that is not available yet. Only generators build it by hand.",
        ("Cancelled", "Future"),
    ),
    CodeSection("Machinery: Task", "Drives a coroutine step by step.", ("Task",)),
    CodeSection(
        "Machinery: waiting",
        "Turns a socket, a time or a list of tasks into something to wait for.",
        ("gather", "run_until_complete", "sleep_until", "socket_ready", "notice"),
    ),
    CodeSection(
        "Connect", "Open and close the connection.", ("connect", "connected", "disconnect")
    ),
    CodeSection(
        "Secure",
        "Encrypt the connection for https. To read, TLS may have to write first.",
        ("secure", "shake_hands", "wait", "resume", "wanted"),
    ),
    CodeSection(
        "Fetch",
        "One exchange: connect if necessary, send, receive until it is complete.",
        ("fetch",),
    ),
    CodeSection("Send", "Send the whole request, even in several parts.", ("send", "send_rest")),
    CodeSection("Receive", "Receive bytes, the end, or an error.", ("receive", "fail", "abort")),
    CodeSection("Finish", "Hand the result to the frontier.", ("finish",)),
    CodeSection("Take", "Take the next fetch, or wait for one.", ("take",)),
    CodeSection("Work", "The main loop of a slot.", ("work",)),
    CodeSection(
        "Wake and end", "Make idle slots look for work; stop taking fetches.", ("wake", "end")
    ),
    CodeSection("Watch", "Stop exchanges that have run out of time.", ("watch",)),
    CodeSection("Run", "Start the slots, and stop when all have finished.", ("run",)),
    CodeSection("Crawl", "Put everything together.", ("main", "crawl")),
)


@dataclass(frozen=True, slots=True)
class CodePart:
    """A piece of a model file: its lines by number in the file, without common indentation."""

    name: str
    lines: Mapping[int, str]


def source_of(model: str) -> str:
    return (CRAWLERS / f"{model}.py").read_text(encoding="utf-8")


def parts(model: str) -> list[CodePart]:
    """The definitions of a file, without docstrings; a slot's methods count as functions."""
    source = source_of(model)
    lines, pieces = source.splitlines(), []
    for node in (at_top for at_top in ast.parse(source).body if isinstance(at_top, Definition)):
        methods = list(_steps(node))
        last = _start(methods[0]) - 1 if methods else node.end_lineno or 0
        for definition, end in ((node, last), *((m, m.end_lineno or 0) for m in methods)):
            left_out = _docstring_lines(definition, lines)
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


def _docstring_lines(node: Definition, lines: list[str]) -> set[int]:
    """The lines of its docstring and of those within it, each with a blank line below it."""
    found: set[int] = set()
    for inner in ast.walk(node):
        if isinstance(inner, Definition) and ast.get_docstring(inner) is not None:
            end = inner.body[0].end_lineno or 0
            found.update(range(inner.body[0].lineno, end + 1 + (lines[end].strip() == "")))
    return found


def aligned() -> list[tuple[CodeSection, dict[str, list[CodePart]]]]:
    """Every section with the parts of each model, in the order of the file."""
    cut = {model: parts(model) for model in MODELS}
    return [
        (section, {m: [p for p in pieces if p.name in section.names] for m, pieces in cut.items()})
        for section in SECTIONS
    ]


# --- counting ----------------------------------------------------------------------------


def metrics(model: str) -> dict[str, int]:
    """What is counted in the syntax tree of a model file, by its words in the table."""
    source = source_of(model)
    nodes, code = list(ast.walk(ast.parse(source))), code_lines(source)
    functions = [node for node in nodes if isinstance(node, Function)]
    locks = {
        target.attr
        for node in nodes
        if isinstance(node, ast.Assign) and _called(node.value) in LOCKS
        for target in node.targets
        if isinstance(target, ast.Attribute)
    }
    return {
        "lines of code, without comments and docstrings": len(code),
        "functions and methods": len(functions),
        "lines of the longest function": max(
            sum(node.lineno <= line <= (node.end_lineno or 0) for line in code)
            for node in functions
        ),
        "suspension points in the syntax (`await`, `yield`, `yield from`)": sum(
            isinstance(node, SUSPENSIONS) for node in nodes
        ),
        "places that leave the next step to a loop or a future": sum(
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in HAND_OVERS
            for node in nodes
        ),
        "places that catch an error": len(stack_ripping.catches(model)),
        "local variables of a fetch that are fields of a slot": len(
            _slots(nodes) & fetch_variables()
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


def code_lines(source: str) -> set[int]:
    """The numbers of lines with code: no blank lines, comments or docstrings."""
    docstrings = {
        line
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Module | Definition) and ast.get_docstring(node, clean=False)
        for line in range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1)
    }
    return {
        line
        for token in tokenize.generate_tokens(io.StringIO(source).readline)
        if token.type not in NO_CODE
        for line in range(token.start[0], token.end[0] + 1)
    } - docstrings


def waiting_lines(model: str) -> set[int]:
    """Lines where the model waits: a suspension point, a blocking call, or a hand-over."""
    calls = WAITING_CALLS.get(model, frozenset())
    return {
        node.lineno
        for node in ast.walk(ast.parse(source_of(model)))
        if isinstance(node, SUSPENSIONS)
        or (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in calls
            # A method of the same object does not belong to the socket.
            and ast.unparse(node.func.value) != "self"
        )
    }


def _called(node: ast.expr) -> str | None:
    return node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else None


def _slots(nodes: list[ast.AST]) -> set[str]:
    slot = next(n for n in nodes if isinstance(n, ast.ClassDef) and n.name == "Slot")
    return next(
        set(ast.literal_eval(statement.value))
        for statement in slot.body
        if isinstance(statement, ast.Assign) and "__slots__" in ast.unparse(statement.targets[0])
    )


# --- showing -----------------------------------------------------------------------------

HEAD: Final = """\
# Side by side

<!-- Made by `python -m tools.sidebyside`: do not edit. -->

The four model files have the same sections in the same order, and the same names for the same
things, so only the concurrency model differs. To read them side by side, with the lines marked
where a model waits: `python -m tools.sidebyside --html side-by-side.html`.

## The sections
"""
FOOT: Final = """
Counted in the syntax trees of the four model files. This excludes `crawlers/loop.py`, the loop of
`callbacks` and `generators`. `generators` includes its own `Future` and `Task`, while `async_await`
uses those of asyncio.

What remains of each traceback: [the ripped stack](stack-ripping.md).
"""


def markdown() -> str:
    """The page of docs/: the functions of each section, and what is counted."""
    names = [
        [
            section.title,
            *(", ".join(f"`{part.name}`" for part in by_model[m]) or "–" for m in MODELS),
        ]
        for section, by_model in aligned()
    ]
    files = [f"[`{model}`](../crawlers/{model}.py)" for model in MODELS]
    lines = [HEAD, *markdown_table(["section", *files], names), "\n## Metrics of the source\n"]
    counted = [metrics(model) for model in MODELS]
    counts = [[words, *(str(of_model[words]) for of_model in counted)] for words in counted[0]]
    lines += [*markdown_table(["", *(f"`{model}`" for model in MODELS)], counts), FOOT]
    return "\n".join(lines)


def html() -> str:
    """The page with the code: each section in four columns."""
    return (
        markup.templates(__name__)
        .get_template("sidebyside.html")
        .render(
            sections=[
                (section, {model: shown(model, found) for model, found in by_model.items()})
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
    """Write the page, or the code."""
    parser = argparse.ArgumentParser(prog="python -m tools.sidebyside", description=__doc__)
    parser.add_argument("--html", type=Path, metavar="FILE", help="write the code to this file")
    file = parser.parse_args().html
    filesystem.write_text(file or PAGE, html() if file else markdown())


if __name__ == "__main__":
    main()
