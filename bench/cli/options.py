"""Options that several commands share, declared once for argparse and for pytest."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.launch import RESULTS
from bench.plan.profiles import PROFILES
from bench.store import MOST_DIGITS

if TYPE_CHECKING:  # it imports what measures, and some commands only read
    from bench.run.runner import Options

MAX_SECONDS = 1_000_000
MAX_PERCENT = 1000
MAX_COUNT = 10_000_000
MAX_SEED_DIGITS = MOST_DIGITS - 5
"""Records keep longer seeds made from this one: a thousand times it, plus the block."""
MAX_BLOCKS = 10_000
"""More than any campaign needs: with so many, intervals are a hundred times narrower than with one,
and two backends at one point already take eight hours."""


def names(text: str) -> list[str]:
    found = [name.strip() for name in text.split(",") if name.strip()]
    if not found:
        raise argparse.ArgumentTypeError("no name given")
    return found


def positive(text: str, most: int = MAX_COUNT) -> int:
    digits = text if text.isascii() and text.isdigit() and len(text) < MOST_DIGITS else "0"
    if not 0 < int(digits) <= most:
        shown = text if len(text) < MOST_DIGITS else f"{text[:MOST_DIGITS]}..."
        raise argparse.ArgumentTypeError(
            f"must be a whole number above 0, at most {most:,}, not {shown!r}"
        )
    return int(digits)


def blocks(text: str) -> int:
    return positive(text, MAX_BLOCKS)


def number(text: str) -> float:
    """A number in ASCII digits; NaN, which no range holds, if it is none."""
    try:
        return float(text) if text.isascii() else math.nan
    except ValueError:
        return math.nan


def seconds(text: str) -> float:
    value = number(text)
    if not 0 < value <= MAX_SECONDS:
        raise argparse.ArgumentTypeError(
            f"must be a number of seconds above 0, at most {MAX_SECONDS:,}, not {text!r}"
        )
    return value


def budget(text: str) -> float:
    try:
        return 60 * seconds(text)
    except argparse.ArgumentTypeError:
        raise argparse.ArgumentTypeError(f"must be minutes above 0, not {text!r}") from None


def percent(text: str) -> float:
    value = number(text.removesuffix("%"))
    if not 0 <= value <= MAX_PERCENT:
        raise argparse.ArgumentTypeError(
            f"must be a percentage from 0 to {MAX_PERCENT:,}, not {text!r}"
        )
    return value


def seed(text: str) -> int:
    if not (text.removeprefix("-").isascii() and text.removeprefix("-").isdigit()):
        raise argparse.ArgumentTypeError(f"must be a whole number, not {text!r}")
    if len(text.removeprefix("-")) > MAX_SEED_DIGITS:
        raise argparse.ArgumentTypeError(f"must have at most {MAX_SEED_DIGITS} digits")
    return int(text)


def campaign(add: Callable[..., Any], profile: str = "quick") -> None:
    """Declare the options of a campaign, with this profile as default.

    ``add`` is ``add_argument`` of an argparse parser, or ``addoption`` of a pytest group.
    """
    add(
        "--profile", default=profile, metavar="NAME",
        help=f"how much to measure: {', '.join(PROFILES)} (default: {profile})",
    )  # fmt: skip
    add(
        "--backends", type=names, metavar="A,B", help="only these backends (default: the profile's)"
    )
    add("--blocks", type=blocks, metavar="N", help="blocks at every point, not the profile's")
    add("--seed", type=seed, help="decides the order of trials (default: random; it is recorded)")
    add("--deadline", type=seconds, metavar="S", help="stop a trial after S seconds")
    add(
        "--budget", type=budget, metavar="MIN",
        help="measure for about MIN minutes at most (default: the profile's time); blocks are cut",
    )  # fmt: skip
    add(
        "--no-budget", action="store_true",
        help="measure every block, even if a slow machine takes longer than the profile promises",
    )  # fmt: skip
    add(
        "--results", type=Path, default=RESULTS, metavar="DIR",
        help="folder for campaigns (default: results)",
    )  # fmt: skip
    add(
        "--resume", type=Path, metavar="CAMPAIGN",
        help="continue this interrupted campaign, with the options it was started with",
    )  # fmt: skip
    add("--no-charts", action="store_true", help="only record, without charts and report")


def chosen(arguments: argparse.Namespace) -> Options:
    from bench.run.runner import Options

    return Options(
        profile=arguments.profile,
        backends=arguments.backends,
        blocks=arguments.blocks,
        seed=arguments.seed,
        deadline_s=arguments.deadline,
        limited=not arguments.no_budget,
        budget_s=arguments.budget,
        results=arguments.results,
        resume=arguments.resume,
    )


def measuring(parser: argparse.ArgumentParser, profile: str = "quick") -> None:
    campaign(parser.add_argument, profile)
    parser.add_argument(
        "--only", type=names, metavar="W,P", help="only these workloads or points; see list"
    )
    add_json(parser)


def add_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print one JSON object on stdout")


def add_campaign(parser: argparse.ArgumentParser, *, usual: bool = True) -> None:
    """Declare the campaign; without it, ``usual`` is the one of :func:`bench.store.usual`."""
    parser.add_argument(
        "campaign", type=Path, nargs="?" if usual else None,
        help="a folder under results/, or a trials.jsonl"
        + (" (default: the newest, or the reference)" if usual else ""),
    )  # fmt: skip
