"""List questions with their points, or the points of a profile, or the backends.

A question is a file in bench/questions/; one without points reads what any campaign has. A point
such as throughput-100 is a workload at one setting; run --only finds it in any profile. A profile
says how often each point is measured.

  python -m bench list                      questions and profiles, on one screen
  python -m bench list --profile quick      its points
  python -m bench list --backends           what can be measured here
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from typing import Final

from rich.console import Console
from rich.text import Text

from bench.cli import DONE
from bench.launch import ROOT
from bench.plan import backends, profiles
from bench.plan.profiles import Profile
from bench.text import plural

ASKS: Final = re.compile(r'^ASKS: Final = "(.+)"$', re.MULTILINE)
ONLY: Final = re.compile(r'--only["\s]+([\w,-]+)')
WHOLE: Final = re.compile(r"python -m bench (?:run )?(--profile \w+|study \w+)")
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
    rows = [("question", "run --only", "asks")]
    for file in sorted(QUESTIONS.glob("*.py")):
        if columns := question(file.stem, file.read_text(encoding="utf-8")):
            rows.append((file.stem, *columns))
    first, second = (max(map(len, column)) for column in [*zip(*rows, strict=True)][:2])
    for name, only, asks in rows:
        yield f"{name:<{first}}  {only:<{second}}  {asks}"
    yield ""
    for name, make in profiles.PROFILES.items():
        yield f"--profile {name:<13} {make().summary}"


def question(name: str, source: str) -> tuple[str, str] | None:
    """What measures a question, as its own command has it, and what it asks; None for others.

    Read from its source: importing all of them takes a second, and numpy.
    """
    if (asks := ASKS.search(source)) is None:
        return None
    command = ONLY.search(source) or WHOLE.search(source)
    profile = f"--profile {name}" if name in profiles.PROFILES else ""
    return command[1] if command else profile, asks[1]
