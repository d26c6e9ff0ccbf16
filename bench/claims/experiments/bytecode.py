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
from crawlers import generators

GETTERS = frozenset({"GET_YIELD_FROM_ITER", "GET_AWAITABLE"})
"""The instructions that fetch what to wait for: the one difference that the syntax makes."""


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
    for function in functions:
        one, other = opcodes(function), opcodes(native(function))
        total += one.total()
        differing = (one - other) + (other - one)
        waits += sum(count for opcode, count in differing.items() if opcode in GETTERS)
        others += sum(count for opcode, count in differing.items() if opcode not in GETTERS)
    result.values["differing_otherwise"] = float(others)
    result.values["differing_getters"] = waits / 2
    result.values["instructions"] = float(total)
    result.facts["functions"] = [function.name for function in functions]
    result.facts["note"] = (
        f"{total} instructions in {len(functions)} functions; in {waits // 2} places one has "
        "GET_YIELD_FROM_ITER and the other GET_AWAITABLE"
    )
    return result
