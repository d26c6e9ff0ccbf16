"""Options that several commands share, declared once for argparse and for pytest."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from bench.launch import RESULTS
from bench.plan.profiles import PROFILES
from crawlers.registry import LOOP, MODELS

if TYPE_CHECKING:  # it imports what measures, and some commands only read
    from rich.console import Console

    from bench.run.runner import Finished, Options

MAX_SECONDS = 1_000_000
MAX_COUNT = 10_000_000
MAX_SEED = 10**15 - 1
"""Records keep longer seeds made from this one: a thousand times it, plus the block."""
MAX_BLOCKS = 10_000
"""More than any campaign needs: with so many, intervals are a hundred times narrower than with one,
and two backends at one point already take eight hours."""
MOST_SHOWN = 20
"""Characters of a wrong number in its message."""

N = TypeVar("N", int, float)


def names(text: str) -> list[str]:
    listed = [name.strip() for name in text.split(",") if name.strip()]
    if not listed:
        raise argparse.ArgumentTypeError("no name given")
    return listed


def loops(text: str) -> list[str]:
    listed = names(text)
    if wrong := [name for name in listed if not all(name.partition(LOOP))]:
        raise argparse.ArgumentTypeError(f"must be package:factory, not {wrong[0]!r}")
    return listed


def number(kind: Callable[[str], N], least: float, most: float, words: str) -> Callable[[str], N]:
    """What reads a number of this range in ASCII digits; ``words`` name it in the message."""

    def read(text: str) -> N:
        with suppress(ValueError):
            if text.isascii() and least <= (value := kind(text)) <= most:
                return value
        shown = text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}..."
        raise argparse.ArgumentTypeError(f"must be {words}, not {shown!r}")

    return read


ABOVE_0 = 1e-9
positive = number(int, 1, MAX_COUNT, f"a whole number above 0, at most {MAX_COUNT:,}")
blocks = number(int, 1, MAX_BLOCKS, f"a whole number above 0, at most {MAX_BLOCKS:,}")
seconds = number(
    float, ABOVE_0, MAX_SECONDS, f"a number of seconds above 0, at most {MAX_SECONDS:,}"
)
seed = number(int, -MAX_SEED, MAX_SEED, "a whole number of at most 15 digits")


def campaign(add: Callable[..., Any], profile: str = "quick") -> None:
    """Declare the options of a campaign, with this profile as default.

    ``add`` is ``add_argument`` of an argparse parser, or ``addoption`` of a pytest group.
    """
    words = f"how much to measure: {', '.join(PROFILES)}"
    value(add, "--profile", str, "NAME", words, profile, profile)
    value(add, "--backends", names, "A,B", "only these backends", shown="the profile's")
    words = "measure async_await on the event loop that this function or class makes, too "
    words += "(default backends: the models and uvloop)"
    value(add, "--loop", loops, "PACKAGE:FACTORY", words)
    value(add, "--base", str, "NAME", "the backend that ratios are to", shown="callbacks")
    value(add, "--blocks", blocks, "N", "blocks at every point", shown="the profile's")
    words = "decides the order of trials"
    value(add, "--seed", seed, "N", words, shown="random; it is recorded")
    value(add, "--deadline", seconds, "S", "stop a trial after S seconds", shown="often 60")
    value(add, "--results", Path, "DIR", "keep the campaign below this", RESULTS, "results")
    words = "continue this interrupted campaign, with the options it was started with"
    value(add, "--resume", Path, "CAMPAIGN", words)
    add("--no-charts", action="store_true", help="only record, without charts and report")


def backends(arguments: argparse.Namespace) -> list[str] | None:
    """The backends that were asked for, loops included; None for the profile's."""
    asked: list[str] | None = arguments.backends
    if not arguments.loop:
        return asked
    # Child processes start in the folder of the suite, and the loop may lie in this one.
    path = (str(Path.cwd()), os.environ.get("PYTHONPATH"))
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, path))
    usual = [*MODELS, *["uvloop"] * bool(find_spec("uvloop"))]
    return list(dict.fromkeys([*(asked or usual), *arguments.loop]))


def chosen(arguments: argparse.Namespace) -> Options:
    from bench.run.runner import Options

    return Options(
        profile=arguments.profile,
        backends=backends(arguments),
        base=arguments.base,
        only=getattr(arguments, "only", None),  # pytest has -k
        blocks=arguments.blocks,
        seed=arguments.seed,
        deadline_s=arguments.deadline,
        results=arguments.results,
        resume=arguments.resume,
    )


def measure(chosen: Options, console: Console) -> Finished:
    """Run the campaign that was asked for: a new one, or the rest of an earlier one."""
    from bench.run import runner

    return (runner.run if chosen.resume is None else runner.resume)(chosen, console)


def measuring(parser: argparse.ArgumentParser, profile: str = "quick") -> None:
    campaign(parser.add_argument, profile)
    words = "only these workloads or points of any profile"
    value(parser.add_argument, "--only", names, "W,P", words)
    add_verbose(parser)
    add_json(parser)
    parser.add_argument("--dry-run", action="store_true", help="only print the plan")


def add_json(parser: argparse.ArgumentParser) -> None:
    words = "print one JSON object on standard output"
    parser.add_argument("--json", action="store_true", help=words)


def add_verbose(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-v", "--verbose", action="store_true", help="print the tables, too")


def add_campaign(
    parser: argparse.ArgumentParser, usual: str = "the newest, or the reference"
) -> None:
    """Declare the campaign; one that must be named has no ``usual`` one."""
    parser.add_argument(
        "campaign",
        type=Path,
        nargs="?" if usual else None,
        help="a folder under results/, or a trials.jsonl" + (usual and f" (default: {usual})"),
    )


def value(
    add: Callable[..., Any],
    flag: str,
    read: Callable[[str], Any],
    metavar: str,
    words: str,
    default: object = None,
    shown: str = "",
) -> None:
    """Declare an option with a value. Its help ends with the default, or with how it is shown.

    ``add`` is as in :func:`campaign`.
    """
    if default is not None:
        shown = shown or "%(default)s"
    help_ = f"{words} (default: {shown})" if shown else words
    add(flag, type=read, default=default, metavar=metavar, help=help_)


def study(parser: argparse.ArgumentParser, name: str, repeats: int) -> None:
    """Declare what all studies share; ``name`` is that of the usual folder under results/."""
    folder, words = RESULTS / name, "folder of the record, its tables and charts"
    add = parser.add_argument
    value(add, "--repeats", blocks, "N", "rounds: every program runs once in each", repeats)
    value(add, "--out", Path, "DIR", words, folder, f"results/{name}")
    add("--resume", action="store_true", help="take what is missing in the last run")
    add("--redraw", action="store_true", help="measure nothing, only read the record")
