"""The four model files, and metrics from their syntax trees."""

from __future__ import annotations

import ast
import io
import tokenize
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bench.launch import ROOT
from crawlers.registry import MODELS

CRAWLERS: Final = ROOT / "crawlers"
HAND_OVERS: Final = frozenset(
    {"register", "modify", "call_soon", "call_at", "call_later", "add_done_callback"}
)
"""Methods that leave the next step to a loop or a future."""
BLOCKING: Final = frozenset({"connect", "recv", "sendall", "wait", "join"})
"""Methods that put a thread to sleep (on blocking sockets)."""
WAITING_CALLS: Final = {"threads": BLOCKING, "callbacks": HAND_OVERS}
"""The calls that wait, in models whose syntax does not mark waiting."""
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


def path_of(model: str) -> Path:
    """The file of a model."""
    return CRAWLERS / f"{model}.py"


def source_of(model: str) -> str:
    """The source of a model."""
    return path_of(model).read_text(encoding="utf-8")


@dataclass(frozen=True, slots=True)
class Metrics:
    """Counts of one model file.

    ``suspensions`` are places where a function may suspend (``await``,
    ``yield from``, ``yield``); ``hand_overs`` leave the next step to a loop or a
    future; ``state`` counts the fields that a slot carries from step to step;
    ``locked`` counts the blocks that hold a lock.
    """

    code_lines: int
    functions: int
    longest: int
    suspensions: int
    hand_overs: int
    state: int
    locks: int
    locked: int


def metrics(model: str) -> Metrics:
    """Count one model file, without blank lines, comments and docstrings."""
    source = source_of(model)
    tree = ast.parse(source)
    nodes = list(ast.walk(tree))
    functions = [node for node in nodes if isinstance(node, Function)]
    code = code_lines(source)
    calls = [node for node in nodes if isinstance(node, ast.Call)]
    locks = {
        target.attr
        for node in nodes
        if isinstance(node, ast.Assign) and _called(node.value) in LOCKS
        for target in node.targets
        if isinstance(target, ast.Attribute)
    }
    return Metrics(
        code_lines=len(code),
        functions=len(functions),
        longest=max(
            sum(node.lineno <= line <= (node.end_lineno or 0) for line in code)
            for node in functions
        ),
        suspensions=sum(isinstance(node, SUSPENSIONS) for node in nodes),
        hand_overs=sum(
            isinstance(call.func, ast.Attribute) and call.func.attr in HAND_OVERS for call in calls
        ),
        state=len(_slots(tree)),
        locks=len(locks),
        locked=sum(
            isinstance(item.context_expr, ast.Attribute) and item.context_expr.attr in locks
            for node in nodes
            if isinstance(node, ast.With)
            for item in node.items
        ),
    )


def code_lines(source: str) -> set[int]:
    """The numbers of lines with code: no blank lines, comments or docstrings."""
    docstrings = {
        line
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Module | ast.ClassDef | Function)
        and ast.get_docstring(node, clean=False) is not None
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
    """The name that an expression calls."""
    return node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else None


def _slots(tree: ast.Module) -> list[str]:
    """The names in ``Slot.__slots__``."""
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and node.name == "Slot":
            for statement in node.body:
                if isinstance(statement, ast.Assign) and "__slots__" in ast.unparse(
                    statement.targets[0]
                ):
                    return [str(name) for name in ast.literal_eval(statement.value)]
    return []


def all_metrics() -> dict[str, Metrics]:
    """The metrics of the four models, in order."""
    return {model: metrics(model) for model in MODELS}
