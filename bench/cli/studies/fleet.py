"""Hold many connections at once, with many processes, on this machine or on a cluster.

Each process runs an unchanged backend on its share of the connections. One trial for each backend
and number of connections: all are opened, memory is read, all are released.

  python -m bench study fleet --connections 1000000 --plan     starts nothing: what fits, what not?
  python -m bench study fleet --connections 100000             hold them, all at once
  python -m bench study fleet --connections 1000000 --tls --fit    over TLS, as many as fit
  python -m bench study fleet --redraw                         rebuild charts and tables

On a cluster, start `dask scheduler` on one host and `dask worker tcp://HOST:8786 --nthreads 1`
on each of the others, then add --scheduler tcp://HOST:8786. See docs/fleet.md.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from rich.console import Console
from rich.text import Text

from bench.cli import DONE, FAILED, options
from bench.cli.options import names, positive, seconds
from bench.cli.studies import exit_code
from bench.fleet import cluster, hold, plan, report
from bench.fleet.cluster import Fleet
from bench.fleet.plan import RAMP_PER_S, TLS_RAMP_PER_S, FleetPlan
from bench.fleet.records import STUDY, FleetTrial
from bench.machine.doctor import show
from bench.plan import backends
from bench.run.preflight import THREADED
from bench.sides.tls import Tls
from bench.study import runner
from bench.study.record import StudyError
from bench.study.runner import Program
from bench.text import plural
from crawlers.registry import MODELS


def counts(text: str) -> list[int]:
    return [positive(part) for part in text.split(",")]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    options.study(parser, "fleet", repeats=1)
    value = partial(options.value, parser.add_argument)
    words = "how many to hold, each in a trial of its own"
    value("--connections", counts, "N,M", words, [100_000], "100000")
    words = f"such as {','.join(MODELS)}"
    value("--backends", names, "A,B", words, ["callbacks"], "callbacks")
    parser.add_argument(
        "--tls", action="store_true", help="over TLS 1.3, each connection with a full handshake"
    )
    parser.add_argument(
        "--plan",
        action="store_true",
        help="start nothing: show how they would be shared, and what is too low",
    )
    parser.add_argument("--fit", action="store_true", help="hold as many as fit")
    words = "connections that the whole fleet opens per second"
    value("--ramp", positive, "N", words, shown=f"{RAMP_PER_S}, over TLS {TLS_RAMP_PER_S}")
    value("--scheduler", str, "ADDRESS", "of a dask cluster, such as tcp://10.0.0.1:8786")
    words = "give up a host that does not answer for S seconds"
    value("--answer", seconds, "S", words, cluster.ANSWER_S, "%(default)g")


def run(arguments: argparse.Namespace, console: Console) -> int:
    whole = True
    if not arguments.redraw:
        with cluster.connected(arguments.scheduler, arguments.answer) as fleet:
            plans = planned(arguments, fleet)
            if arguments.plan:
                for made, refused, most in plans:
                    show_plan(fleet, made, console)
                    if refused:
                        console.print(f"does not fit: at most {most:,} connections do")
                return FAILED if any(refused for _, refused, _ in plans) else DONE
            whole = runner.run(
                STUDY,
                arguments.out,
                programs(fleet, plans, fit=arguments.fit),
                arguments.repeats,
                console,
                resume=arguments.resume,
            )
    last = STUDY.last(arguments.out)
    report.report(last).write(arguments.out, console)
    return exit_code([last], whole=whole)


Planned = tuple[FleetPlan, str | None, int]
"""A plan, why it does not fit, and how many of its connections do."""


def planned(arguments: argparse.Namespace, fleet: Fleet) -> list[Planned]:
    """A plan of each trial."""
    hosts = plan.numbered(list(fleet.each("facts").values()))
    known = backends.look_up(arguments.backends)
    backends.choose(known, arguments.backends)

    plans = []
    for connections in arguments.connections:
        for backend in known:
            if arguments.tls and backend.no_https:
                raise StudyError(f"{backend.name} has no HTTPS: {backend.no_https}")
            made = FleetPlan(
                connections,
                backend.name,
                hosts,
                threads=backend.family == THREADED,
                tls=Tls() if arguments.tls else None,
                ramp=arguments.ramp,
            )
            plans.append((made, *plan.fitting(made, partial(fleet.each, "examine"))))
    return plans


def programs(fleet: Fleet, plans: Sequence[Planned], *, fit: bool) -> list[Program[FleetTrial]]:
    """A program for each trial. One that does not fit is refused, or made smaller as well."""

    def program(made: FleetPlan, refused: str | None = None) -> Program[FleetTrial]:
        name = f"{made.label} {made.connections}"
        return Program(name, lambda _: hold.measure(fleet, made), refused)

    found = []
    for made, refused, most in plans:
        found.append(program(made, refused))
        if fit and 0 < most < made.connections:
            found.append(program(replace(made, connections=most)))
    return found


def show_plan(fleet: Fleet, made: FleetPlan, console: Console) -> None:
    sizes = [share.connections for share in made.shares]
    console.print(
        Text.assemble(
            (f"\n{made.words}", "bold"),
            f": {plural(len(sizes), 'worker')} and as many servers, "
            f"{max(sizes):,} connections each at most; "
            f"{made.ramp_per_s:,.0f}/s, so the last one is due after {made.ramp_s:.0f} s",
        )
    )
    said = fleet.each("examine", made.needs)
    for host in made.machines:
        if len(made.machines) > 1:
            console.print(f"{host}:")
        show(said[host])
