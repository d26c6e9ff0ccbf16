"""Every command that a document, a page of the report or a line of help quotes can be run."""

from __future__ import annotations

import argparse
import ast
import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from importlib import util
from typing import Final

import pytest

import server.cli
import server.models_cli
from bench.__main__ import main
from bench.cli import command, options
from bench.launch import ROOT
from crawlers import registry, steps
from crawlers.backend import Backend
from crawlers.catalogue import OURS
from crawlers.command import make_parser

DOCUMENTS: Final = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")]
SOURCES: Final = [
    file
    for folder in ("bench", "crawlers", "server", "tools")
    for file in (ROOT / folder).rglob("*")
    if file.suffix in (".py", ".md", ".html") and "reference" not in file.parts
]
PROGRAM: Final = re.compile(r"python -m\b|nox -s\b")
COMMAND: Final = re.compile(r"(?:python -m (?:bench|crawlers|server|tools)\b|nox -s )[^`\n<]*")
END: Final = re.compile(r" {2,}|\s[#&|>]|[.,:;)]+(?:\s|$)|\s\(")
"""What follows a command in a sentence or in a shell."""

INLINE: Final = re.compile(r"(?<!`)`(?!`)[^`]+`")
UNKNOWN: Final = "\0"
"""What a program fills in."""

STAND_FOR: Final = {
    **{
        "CAMPAIGN": "reference",
        "FOLDER": "reference",
        "COMMAND": "run",
        "PATHS-OF-PYTHONS": "python3",
    },
    **{"URL": "http://127.0.0.1/", "OLD,NEW": "callbacks,threads", "NAME": "callbacks"},
}
"""What a document writes in capitals, and what it may be."""


def quoted(text: str) -> Iterator[str]:
    """The commands in a text; those in backquotes may be broken into lines."""
    for found in COMMAND.finditer(INLINE.sub(lambda m: " ".join(m.group().split()), text)):
        said = END.split(found.group(), maxsplit=1)[0]
        if not {UNKNOWN, "{"} & {*found.group()} and "..." not in said:
            yield said.strip()


def strings(source: str) -> Iterator[str]:
    """What a program may say: its constants, and f-strings with what they are given unknown."""
    tree = ast.parse(source)
    parts: set[ast.AST] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            parts |= {*node.values}
            yield "".join(
                str(part.value) if isinstance(part, ast.Constant) else UNKNOWN
                for part in node.values
            )
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in parts:
            yield node.value


@cache
def commands() -> dict[str, str]:
    """Command -> the first file that quotes it."""
    found: dict[str, str] = {}
    for file in [*DOCUMENTS, *SOURCES]:
        text = file.read_text()
        if PROGRAM.search(text) is None:  # most files quote none, and parsing them takes seconds
            continue
        for said in strings(text) if file.suffix == ".py" else [text]:
            for each in quoted(said):
                found.setdefault(each, file.relative_to(ROOT).as_posix())
    return found


def sessions() -> set[str]:
    """The sessions of nox."""
    tree = ast.parse((ROOT / "noxfile.py").read_text())
    return {n.name for n in tree.body if isinstance(n, ast.FunctionDef) and n.decorator_list}


def words_of(said: str) -> list[str]:
    for capitals, one in STAND_FOR.items():
        said = re.sub(rf"\b{capitals}\b", one, said)
    return shlex.split(said)


def attempt(words: Sequence[str]) -> None:
    """Parse a command as its program does, and ask ``bench run`` for its plan."""
    match list(words):
        case ["nox", "-s", session, *rest]:
            arguments = rest[rest.index("--") + 1 :] if "--" in rest else []
            assert session in sessions()
            if session == "bench":
                parser = argparse.ArgumentParser()
                parser.add_argument("-k")
                options.campaign(parser.add_argument)
                parser.parse_args(arguments)
        case ["python", "-m", "bench", "run", *arguments] if "--resume" not in arguments:
            assert main(["run", "--dry-run", *arguments]) == 0
        case ["python", "-m", "bench", name]:  # a name in a sentence
            assert name in command.names()
        case ["python", "-m", "bench", name, *arguments]:
            command.overview().parse_args([name, *arguments])
        case ["python", "-m", "crawlers", "conformance", *_]:
            pass
        case ["python", "-m", "crawlers", "chapter", *arguments]:
            steps.make_parser().parse_args(arguments)
        case ["python", "-m", "crawlers", *arguments]:
            make_parser().parse_args(arguments)
        case ["python", "-m", "server", "models"]:
            pass
        case ["python", "-m", "server", "models", *arguments]:
            server.models_cli.build_parser().parse_args(arguments)
        case ["python", "-m", "server", *arguments]:
            server.cli.build_parser().parse_args(arguments)
        case ["python", "-m", module, *_]:
            assert util.find_spec(module)


def installed(names: Sequence[str] | None = None, *_: object) -> list[Backend]:
    """Every backend of the registry, as if all of their libraries were here."""
    known = [replace(backend, missing=None) for backend in OURS.values()]
    found = [backend for backend in known if names is None or backend.name in names]
    return found + [registry.about(name) for name in names or () if registry.LOOP in name]


def test_each_can_be_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """All in one test: to collect them, every process of a parallel run read all sources."""
    monkeypatch.setattr("bench.plan.backends.look_up", installed)
    wrong = {}
    for said, file in commands().items():
        try:
            attempt(words_of(said))
        except (Exception, SystemExit) as stopped:
            if not isinstance(stopped, SystemExit) or stopped.code:
                wrong[f"{file}: {said}"] = f"{stopped!r} {capsys.readouterr().err}"
    assert wrong == {}


def test_all_kinds_of_text_are_read() -> None:
    """Prose over two lines, f-strings, a shell's lines and help."""
    found = commands()
    assert {file.partition("/")[0] for file in found.values()} >= {"README.md", "docs", "bench"}
    assert list(quoted("so `python -m\nbench run`, and\n\n    nox -s docs   # all")) == [
        "python -m bench run",
        "nox -s docs",
    ]
    assert list(strings('"`python -m " f"bench run --only {where}`"')) == [
        f"`python -m bench run --only {UNKNOWN}`"
    ]
    assert list(quoted(f"`python -m bench run --only {UNKNOWN}`")) == []


def test_nox_waits_until_an_interrupted_campaign_is_drawn() -> None:
    """It killed one half a second after Ctrl-C: no chart, and no word about --resume."""
    tree = ast.parse((ROOT / "noxfile.py").read_text())
    (bench,) = (x for x in tree.body if isinstance(x, ast.FunctionDef) and x.name == "bench")
    calls = [call for call in ast.walk(bench) if isinstance(call, ast.Call)]
    assert any(word.arg == "interrupt_timeout" for call in calls for word in call.keywords)
