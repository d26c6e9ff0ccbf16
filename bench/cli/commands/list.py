"""List questions with their points and charts, or the points of a profile, or the backends.

A question is a file in bench/questions/. A point such as throughput-100 is a workload at one
setting; run --only finds it in any profile. A profile says how often each point is measured.

  python -m bench list                      questions and profiles, on one screen
  python -m bench list --profile quick      its points
  python -m bench list --backends           what can be measured here
"""

from __future__ import annotations

import argparse
import ast
import re
from collections.abc import Iterator
from functools import cache
from typing import Final

from rich.console import Console
from rich.text import Text

from bench.cli import DONE
from bench.launch import ROOT
from bench.plan import backends, profiles
from bench.plan.profiles import Profile
from bench.text import plural

ONLY: Final = re.compile(r"--only ([\w,-]+)")
QUESTIONS: Final = ROOT / "bench" / "questions"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--profile", metavar="NAME", help="the points of this profile")
    parser.add_argument("--backends", action="store_true", help="the backends, with a line each")


def run(arguments: argparse.Namespace, console: Console) -> int:
    if arguments.profile is not None:
        lines = points(profiles.profile(arguments.profile))
    elif arguments.backends:
        known = backends.look_up()
        lines = (f"{backend.name:<24} {backend.missing or backend.summary}" for backend in known)
    else:
        lines = overview()
    for line in lines:
        console.print(Text(line), soft_wrap=True)
    return DONE


def points(profile: Profile) -> Iterator[str]:
    yield f"{profile.name}: {profile.summary}"
    for point in profile.points:
        more = f", delay {point.delay}" if point.delay != "none" else ""
        site = point.site_name or point.site
        yield f"  {point.id:<24} {point.blocks:>2} × {site}, {plural(point.slots, 'slot')}{more}"


def overview() -> Iterator[str]:
    yield f"{'questions/':<13} {'run --only':<26} {'charts':<30} asks"
    for file in sorted(QUESTIONS.glob("*.py")):
        if columns := question(ast.parse(file.read_text(encoding="utf-8"))):
            asks, only, charts = columns
            yield f"{file.stem:<13} {only:<26} {', '.join(charts):<30} {asks}"
    yield ""
    for name, make in profiles.PROFILES.items():
        yield f"--profile {name:<13} {make().summary}"


@cache
def measured() -> frozenset[str]:
    """All workloads: some questions take points of others, and none has their name."""
    points_of = (make().points for make in profiles.PROFILES.values())
    return frozenset(point.workload for points in points_of for point in points)


def question(tree: ast.Module) -> tuple[str, str, list[str]] | None:
    """What a file asks, its points, and its charts; None if it is no question.

    Read from its source: importing all of them takes seconds. A chart that is named by a variable
    has the question's name and a mark.
    """
    named = {
        ast.unparse(node.target): node.value
        for node in tree.body
        if isinstance(node, ast.AnnAssign) and node.value
    }

    def text(node: ast.expr) -> str:
        value = named.get(node.id) if isinstance(node, ast.Name) else node
        return str(value.value) if isinstance(value, ast.Constant) else f"{text(named['NAME'])} …"

    if "ASKS" not in named:
        return None
    texts = [str(node.value) for node in ast.walk(tree) if isinstance(node, ast.Constant)]
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    only = [match[1] for string in texts if (match := ONLY.search(string))]
    charts = []
    for call in calls:
        options = {option.arg: option.value for option in call.keywords}
        if ast.unparse(call.func) == "Figure":
            charts.append(text(options["name"]))
        elif ast.unparse(call.func) == "bars":
            charts.append(text(call.args[2]))
        elif call is named.get("COLUMNS") and isinstance(options["workloads"], ast.List):
            workloads = [text(element) for element in options["workloads"].elts]
            charts.append(text(options["figure"]) if "figure" in options else workloads[0])
            only.append(",".join(workload for workload in workloads if workload in measured()))
    return text(named["ASKS"]), only[0] if only else "", list(dict.fromkeys(charts))
