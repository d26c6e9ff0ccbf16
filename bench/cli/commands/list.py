"""List profiles, workloads and backends.

A point such as throughput-100 is a workload at one setting. A profile says which points are
measured, and in how many blocks.
"""

from __future__ import annotations

import argparse

from rich.console import Console
from rich.text import Text

from bench.cli import DONE
from bench.plan import backends, profiles


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--profile", metavar="NAME", help="only the points of this profile")


def run(arguments: argparse.Namespace, console: Console) -> int:
    chosen = list(profiles.PROFILES) if arguments.profile is None else [arguments.profile]
    listed = [profiles.profile(name) for name in chosen]
    known = backends.look_up()
    for profile in listed:
        console.print(Text.assemble("\n", (profile.name, "bold"), f": {profile.summary}"))
        for point in profile.points:
            more = f", delay {point.delay}" if point.delay != "none" else ""
            console.print(
                f"  {point.id:<16} {point.blocks:>2} × {point.site_name or point.site}, "
                f"{point.slots} slots{more}",
            )
    console.print("\nbackends", style="bold")
    for backend in known:
        console.print(f"  {backend.name:<16} {backend.missing or backend.summary}")
    return DONE
