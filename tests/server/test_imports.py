"""Imports inside the server point down the list in its docstring."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import server

FOLDER = Path(server.__file__).parent
MODULES = {
    ".".join(file.relative_to(FOLDER.parent).with_suffix("").parts): file
    for file in FOLDER.rglob("*.py")
    if file.name != "__init__.py"
}
SITES = [
    "specs",
    "directory",
    "faults",
    "fault_kinds",
    "listing",
    "reference",
    "tree",
    "site",
    "words",
]
MODELS = [
    "catalogue",
    *("stacks", "apps"),
    *(f"variants.{name}" for name in ("threads_pool", "asyncio_protocol", "trio", "bare")),
    "variants.elsewhere",
    *("threads", "callbacks", "generators", "async_await"),
    *("sockets", "loop", "conversation", "messages", "service", "work"),
]


def imports(file: Path) -> set[str]:
    """The modules of ``server`` that a file imports, at its top or anywhere else."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
    return names & MODULES.keys()


def test_imports_point_down() -> None:
    assert server.__doc__ is not None
    rows = re.findall(r"^(``.*?``)  ", server.__doc__, re.MULTILINE)
    order = [name for row in rows for name in re.findall(r"``(\w+)``", row)]
    assert order.pop() == "sites"
    order += [f"sites.{name}" for name in SITES]
    place = order.index("models")
    order[place : place + 1] = [f"models.{name}" for name in MODELS]
    places = {f"server.{name}": place for place, name in enumerate(order)}
    assert places.keys() == MODULES.keys()
    for name, file in MODULES.items():
        for imported in imports(file):
            assert places[imported] > places[name], f"{name} imports {imported}"
