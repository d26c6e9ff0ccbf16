"""Are coroutines generators? The bytecode of a crawler with ``yield from`` and with ``await``.

The functions of :mod:`crawlers.generators` that can be suspended are compiled twice: as they
are, and with ``async def`` and ``await`` in place of ``def`` and ``yield from``.
"""

from __future__ import annotations

import ast
from collections import Counter
from dis import get_instructions
from inspect import getsource
from types import CodeType

from bench.claims.experiments.result import ExperimentResult
from bench.text import listing
from crawlers import generators

AWAIT = "GET_AWAITABLE"
GETTERS = frozenset({AWAIT, "GET_YIELD_FROM_ITER", "GET_ITER", "PUSH_NULL"})
"""The instructions that fetch what to wait for: the one difference that the syntax makes.

CPython 3.15 has ``GET_ITER`` for ``yield from``, which pushes two values, and for ``await`` a
``PUSH_NULL`` after the getter.
"""


class Native(ast.NodeTransformer):
    """Writes ``await`` for ``yield from``."""

    def visit_YieldFrom(self, node: ast.YieldFrom) -> ast.AST:
        """The expression that waits."""
        return ast.copy_location(ast.Await(value=self.visit(node.value)), node)


def suspending(source: str) -> list[ast.FunctionDef]:
    """The functions of a module that wait with ``yield from``."""
    return [
        node
        for node in ast.parse(source).body
        if isinstance(node, ast.FunctionDef)
        and any(isinstance(inner, ast.YieldFrom) for inner in ast.walk(node))
    ]


def native(node: ast.FunctionDef) -> ast.AsyncFunctionDef:
    """The same function as a native coroutine."""
    changed = Native().visit(ast.parse(ast.unparse(node)).body[0])
    fields = {name: getattr(changed, name) for name in changed._fields}
    return ast.fix_missing_locations(ast.copy_location(ast.AsyncFunctionDef(**fields), node))


def opcodes(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Counter[str]:
    """How often each instruction occurs in a function."""
    module = compile(ast.Module([function], []), "<experiment>", "exec")
    # From 3.14 on, the annotations are code of their own.
    codes = (const for const in module.co_consts if isinstance(const, CodeType))
    (code,) = (code for code in codes if code.co_name == function.name)
    # From 3.14 on, a load may borrow its reference; the getter after it decides whether it may.
    return Counter(each.opname.replace("_BORROW", "") for each in get_instructions(code))


def measure() -> ExperimentResult:
    """Instructions that differ, with and without those that fetch what to wait for."""
    result = ExperimentResult()
    functions = suspending(getsource(generators))
    waits = others = total = 0
    getters: set[str] = set()
    for function in functions:
        one, other = opcodes(function), opcodes(native(function))
        total += one.total()
        differing = (one - other) + (other - one)
        waits += differing[AWAIT]
        getters |= GETTERS & differing.keys()
        others += sum(count for opcode, count in differing.items() if opcode not in GETTERS)
    result.values["differing_otherwise"] = float(others)
    result.values["differing_getters"] = float(waits)
    result.values["instructions"] = float(total)
    result.facts["functions"] = [function.name for function in functions]
    result.facts["note"] = (
        f"{total} instructions in {len(functions)} functions; in {waits} places one has "
        f"{listing(sorted(getters - {AWAIT, 'PUSH_NULL'}))} and the other {AWAIT}"
    )
    return result
