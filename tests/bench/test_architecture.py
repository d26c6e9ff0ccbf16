"""Imports go down only and in no circle, and questions stand alone: see docs/architecture.md."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from bench.launch import ROOT
from bench.questions import STORY

PACKAGES = ("bench", "crawlers", "server")

ROWS = (
    ("__main__", "conftest", "test_workloads"),
    ("cli",),
    ("talk",),
    ("capacity", "claims", "costs", "fleet"),
    ("tasks",),
    ("study",),
    ("report",),
    ("questions",),
    ("show",),
    ("analysis", "run"),
    ("palette", "plan"),
    ("conditions",),
    ("sides",),
    ("machine",),
    ("histograms", "store", "terminal"),
    ("controls", "filesystem", "launch", "schema", "text"),
)
"""The rooms of ``bench/``, the highest row first. A room imports from lower rows only."""

ALLOWED = {"bench": {"bench", "crawlers"}, "crawlers": {"crawlers"}, "server": {"server"}}
"""Whose modules each package may import. Bench starts the server as a program."""

TABLES = {"server.models.catalogue"}
"""What everybody may import: it names things, and imports nothing."""

Graph = dict[str, set[str]]


@cache
def parsed(file: Path) -> ast.Module:
    """The syntax tree of a file, which several tests look at."""
    return ast.parse(file.read_text(encoding="utf-8"))


def modules(root: Path) -> dict[str, Path]:
    """Every module of our packages, by its dotted name; a package by the name of its folder."""
    return {
        ".".join(file.relative_to(root).with_suffix("").parts).removesuffix(".__init__"): file
        for package in PACKAGES
        for file in sorted((root / package).rglob("*.py"))
    }


def imports(root: Path) -> Graph:
    """Which of our modules each module imports, anywhere in it: in functions too."""
    known = modules(root)
    graph: Graph = {name: set() for name in known}
    for name, file in known.items():
        for node in ast.walk(parsed(file)):
            for target in targets(node):
                found = nearest(target, known)
                if found is not None and found != name:
                    graph[name].add(found)
    return graph


def targets(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        assert node.level == 0, "this repository imports by absolute names"
        yield from (f"{node.module}.{alias.name}" for alias in node.names)


def nearest(target: str, known: dict[str, Path]) -> str | None:
    """The module that a dotted name is, or is defined in; None if it is not one of ours."""
    while target and target not in known:
        target = target.rpartition(".")[0]
    return target or None


def arrows(graph: Graph) -> Iterator[tuple[str, str]]:
    for name, found in sorted(graph.items()):
        yield from ((name, target) for target in sorted(found))


def room(module: str) -> str:
    """The folder or file directly below ``bench/`` that a module belongs to."""
    return module.split(".")[1] if "." in module else ""


def rows_of(graph: Graph) -> dict[str, int]:
    """The row of each room, 0 the lowest. Fails for a room that has no place in the table."""
    rows = {name: number for number, row in enumerate(reversed(ROWS)) for name in row}
    unknown = {room(name) for name in graph if name.startswith("bench.")} - rows.keys()
    assert not unknown, f"no place in ROWS: {unknown}"
    return rows


def upward(graph: Graph) -> list[str]:
    """Imports between rooms that do not go down, and between packages that must not be."""
    rows = rows_of(graph)
    wrong = []
    for name, target in arrows(graph):
        package, other = name.partition(".")[0], target.partition(".")[0]
        inside = package == other == "bench" and room(target) and room(name) != room(target)
        outside = other not in ALLOWED[package] and target not in TABLES
        if outside or (inside and rows[room(name)] <= rows[room(target)]):
            wrong.append(f"{name} -> {target}")
    return wrong


def circle(graph: Graph) -> list[str]:
    """Modules in a circle, each importing the next, the first one again at the end; or none."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(reversed(error.args[1]))
    return []


@pytest.fixture(scope="module")
def graph() -> Graph:
    return imports(ROOT)


def test_imports_go_down_only(graph: Graph) -> None:
    assert upward(graph) == []


def test_no_imports_in_a_circle(graph: Graph) -> None:
    assert circle(graph) == []


def questions(graph: Graph) -> list[str]:
    return [name for name in graph if name.removeprefix("bench.questions.") in STORY]


def conditions(graph: Graph) -> list[str]:
    return [name for name in graph if name.startswith("bench.conditions.")]


@pytest.mark.parametrize("kind", [questions, conditions])
def test_no_question_and_no_condition_imports_another(
    graph: Graph, kind: Callable[[Graph], list[str]]
) -> None:
    among = set(kind(graph))
    assert among
    assert {name: graph[name] & among for name in among if graph[name] & among} == {}


def naming(graph: Graph, among: Sequence[str], may: Sequence[str]) -> list[str]:
    """Imports of these modules by rooms that may not name them."""
    found = ((name, target) for name, target in arrows(graph) if target in among)
    return [f"{name} -> {target}" for name, target in found if room(name) not in may]


NAMING = ("conditions", "plan", "questions", "costs", "fleet")
"""Rooms that name single conditions: points are under them, and questions read what they saw."""


def test_the_runner_names_no_condition(graph: Graph) -> None:
    """A new condition is one file, and its place in a profile."""
    assert naming(graph, conditions(graph), NAMING) == []


READERS = ("capacity", "claims", "costs", "talk")
"""Rooms that read single questions: each is about some of them. The kernel is about none."""


def test_the_kernel_names_no_question(graph: Graph) -> None:
    """Whatever is shown of one question is shown of all of them."""
    assert naming(graph, questions(graph), ("questions", *READERS)) == []


def test_no_question_draws() -> None:
    """Figures are data: what only calculates does not wait for matplotlib."""
    program = "import sys, bench.questions; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=False).returncode == 0


def types(tree: ast.Module) -> Iterator[str]:
    """The classes and types that a module defines at its top."""
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            if isinstance(target, ast.Name) and not target.id.isupper() and target.id[0].isupper():
                yield target.id


def test_a_class_name_exists_once_in_bench() -> None:
    files = (ROOT / "bench").rglob("*.py")
    counts = Counter(name for file in files for name in types(parsed(file)))
    assert [name for name, count in counts.items() if count > 1] == []


def said_by(file: Path) -> list[str]:
    """The texts of a program that are no docstrings, or all of a template."""
    if file.suffix != ".py":
        return [file.read_text(encoding="utf-8")]
    tree = parsed(file)
    docs = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    constants = (n for n in ast.walk(tree) if isinstance(n, ast.Constant) and id(n) not in docs)
    return [node.value for node in constants if isinstance(node.value, str)]


def test_no_sentence_has_a_level_of_its_own() -> None:
    """That of every interval is one constant, in sentences as in calculations."""
    files = [*(ROOT / "bench").rglob("*.py"), *(ROOT / "bench").rglob("templates/*")]
    assert len(files) > 100
    assert not [file for file in files for text in said_by(file) if "95 %" in text]


def test_every_text_file_and_pipe_of_the_harness_names_its_encoding() -> None:
    """The locale's would give another report, or a traceback, on another machine."""
    found = [
        f"{file.relative_to(ROOT)}:{node.lineno}"
        for file in sorted((ROOT / "bench").rglob("*.py"))
        for node in ast.walk(parsed(file))
        if isinstance(node, ast.Call) and depends_on_the_locale(node)
    ]
    assert found == []


def depends_on_the_locale(call: ast.Call) -> bool:
    options = {keyword.arg: ast.unparse(keyword.value) for keyword in call.keywords}
    name = ast.unparse(call.func)
    if "encoding" in options or name.startswith("filesystem.") or name == "read_text":  # ours
        return False
    if name.rpartition(".")[2] in ("read_text", "write_text") or options.get("text") == "True":
        return True
    mode = options.get("mode") or (ast.unparse(call.args[1]) if len(call.args) > 1 else "'r'")
    return name in ("open", "os.fdopen") and "b" not in mode
