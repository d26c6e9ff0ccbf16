"""Thousands of random broken sites, and the outcome of each fault in each backend.

With ``python -m tests.torture.faults`` the four models crawl ten thousand sites side by
side, and every other installed backend crawls some of them. Each crawl must match the
graph of the site: status, error and redirect of every URL, digest, retries, and the
requests that the server counted. The first difference ends the run, and Hypothesis
shrinks it to the smallest site that shows it.
"""

from __future__ import annotations

import argparse
import platform
from collections.abc import Mapping, Sequence
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings
from rich.progress import Progress

from crawlers import registry
from crawlers.registry import MODELS, BackendError
from tests.torture import keep
from tests.torture.arena import Lane, arena, differences
from tests.torture.cases import OVER_TLS, TRAPS, Case, cases, every_kind
from tests.torture.oracle import expected

TIMED_EVERY = 100
"""One in this many cases has pages that never answer. Each takes seconds."""

AT_ONCE = 8
"""Backends that crawl side by side. With more, the machine would cause timeouts."""


def installed() -> dict[str, str]:
    """The backends that can run here, by name, with their families."""
    found = {}
    for name in registry.names():
        # Some must not share a process: they are loaded later, in processes of their own.
        try:
            if not registry.about(name).alone:
                found[name] = registry.load(name).family
            else:
                found[name] = ""
        except BackendError as error:
            print(error)
    return found


def hold(
    lanes: Sequence[Lane], count: int, chosen: int, timed: bool, title: str, tls: bool = False
) -> int:
    """Crawl ``count`` cases and return their number. Raises AssertionError for a difference."""
    done = 0
    with Progress() as progress:
        task = progress.add_task(title, total=count)

        @seed(chosen)
        @settings(
            max_examples=count,
            deadline=None,
            database=None,
            phases=[Phase.generate, Phase.shrink],
            suppress_health_check=list(HealthCheck),
        )
        @given(cases(timed=timed, tls=tls))
        def one(case: Case) -> None:
            nonlocal done
            found = differences(lanes, case)
            done += 1
            progress.advance(task)
            assert not found, "\n".join(found)

        one()
    return done


def outcomes(lane: Lane, tls: bool = False) -> tuple[dict[str, str], dict[str, str]]:
    """The outcome of each fault in one backend, and the outcome that the graph implies."""
    case = every_kind(tls)
    lane.begin(case)
    graph = expected(case, lane.hello).as_reported("")["rows"]
    return named(lane.outcome()["rows"], lane.hello), named(graph, lane.hello)


def named(rows: Mapping[str, Sequence[Any]], hello: Mapping[str, Any]) -> dict[str, str]:
    """Path, or odd port -> error kind or status."""
    found = {}
    for url, (status, error, *_) in rows.items():
        host, _, path = url.partition("://")[2].partition("/")
        for name in ("refusing", "silent", *TRAPS):
            if host == hello.get(name):
                path = f"{name}_port"
        found[path or "/"] = str(error or status)
    return found


def over_tls(count: int, chosen: int) -> int:
    """Crawl broken sites over TLS with the four models; record how many, and each outcome."""
    with arena(MODELS, tls=True) as lanes:
        timed = max(count // TIMED_EVERY, 1)
        done = hold(lanes, count - timed, chosen, False, "over TLS", tls=True)
        done += hold(lanes, timed, chosen, True, "... and with timeouts", tls=True)
        faults = {*OVER_TLS, *(f"{name}_port" for name in TRAPS)}
        table: dict[str, dict[str, str]] = {}
        wanted: dict[str, str] = {}
        for lane in lanes:
            seen, graph = outcomes(lane, tls=True)
            table[lane.name] = {fault: seen[fault] for fault in sorted(faults & seen.keys())}
            wanted = {fault: graph[fault] for fault in sorted(faults & graph.keys())}
    found = {
        **{"python": platform.python_version(), "seed": chosen, "cases": done},
        **{"models": [*MODELS], "expected": wanted, "table": table},
    }
    keep("faults-tls", found)
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.torture.faults", description=__doc__)
    parser.add_argument("--cases", type=int, default=10_000, help="for the four models")
    parser.add_argument("--others", type=int, default=400, help="for every other backend")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--over-tls",
        type=int,
        metavar="CASES",
        help="only this many cases for the four models over TLS, with faults of TLS",
    )
    options = parser.parse_args()
    if options.over_tls:
        return over_tls(options.over_tls, options.seed)
    families = installed()
    # A whole stack has its own parser and pool, so it only appears in the table.
    variants = [name for name in families if families[name] != "stack" and name not in MODELS]
    counted = {}
    for title, names, total in (
        ("models", MODELS, options.cases),
        ("others", variants, options.others),
    ):
        groups = [names[at : at + AT_ONCE] for at in range(0, len(names), AT_ONCE)]
        for group in groups:
            with arena(group) as lanes:
                timed = max(total // TIMED_EVERY, 1)
                done = hold(lanes, total - timed, options.seed, False, ", ".join(group))
                done += hold(lanes, timed, options.seed, True, "... and with timeouts")
            counted[title] = {"cases": done, "backends": list(names)}
    table = {}
    for name in families:
        with arena([name]) as (lane,):
            table[name], wanted = outcomes(lane)
    found = {"python": platform.python_version(), "seed": options.seed, **counted}
    found |= {"expected": wanted, "table": table}
    keep("faults", found)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
