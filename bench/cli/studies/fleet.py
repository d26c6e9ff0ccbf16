"""Hold many connections at once, with many processes, on this machine or on a cluster.

Each process runs an unchanged backend on its share of the connections. One trial for each backend
and number of connections: all are opened, memory is read, all are released.

  python -m bench study fleet --connections 1000000 --plan     starts nothing: what fits, what not?
  python -m bench study fleet --connections 100000             hold them, all at once
  python -m bench study fleet --connections 250000 --tls       over TLS
  python -m bench study fleet --redraw                         rebuild charts and tables

On a cluster, start `dask scheduler` on one host and `dask worker tcp://HOST:8786 --nthreads 1`
on each of the others, then add --scheduler tcp://HOST:8786. See docs/fleet.md.
"""

from __future__ import annotations

import argparse
from functools import partial

from rich.console import Console
from rich.text import Text

from bench.cli import DONE, FAILED, options
from bench.cli.options import names, positive
from bench.cli.studies import measured
from bench.fleet import hold
from bench.fleet.hold import Fleet
from bench.fleet.study import RAMP_PER_S, STUDY, TLS_RAMP_PER_S, FleetTrial, report
from bench.machine.doctor import show
from bench.plan import backends
from bench.sides.servers import Tls
from bench.study import StudyError
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
    words = f"only these backends, such as {','.join(MODELS)}"
    value("--backends", names, "A,B", words, ["callbacks"], "callbacks")
    parser.add_argument(
        "--tls", action="store_true", help="over TLS 1.3, each connection with a full handshake"
    )
    parser.add_argument(
        "--plan",
        action="store_true",
        help="start nothing: show how they would be shared, and what is too low",
    )
    words = "connections that the whole fleet opens per second"
    value("--ramp", positive, "N", words, shown=f"{RAMP_PER_S}, over TLS {TLS_RAMP_PER_S}")
    value("--scheduler", str, "ADDRESS", "run on a dask cluster, such as tcp://10.0.0.1:8786")


def run(arguments: argparse.Namespace, console: Console) -> int:
    if arguments.redraw:
        return measured(STUDY, list, report, arguments, console)
    with hold.connected(arguments.scheduler) as fleet:
        plans = planned(arguments, fleet)
        if arguments.plan:
            return max(fits(fleet, plan, console) for plan in plans)
        programs = [program(fleet, plan) for plan in plans]
        return measured(STUDY, lambda: programs, report, arguments, console)


def planned(arguments: argparse.Namespace, fleet: Fleet) -> list[FleetTrial]:
    """A plan of each trial."""
    ramp = arguments.ramp or (TLS_RAMP_PER_S if arguments.tls else RAMP_PER_S)
    known = backends.choose(arguments.backends)
    for backend in known:
        if arguments.tls and backend.no_https:
            raise StudyError(f"{backend.name} has no HTTPS: {backend.no_https}")
    return [
        FleetTrial(
            backend=backend.name,
            tls=Tls().words if arguments.tls else None,
            connections=connections,
            ramp_per_s=ramp,
            hosts=list(fleet.limits.values()),
        )
        for connections in arguments.connections
        for backend in known
    ]


def program(fleet: Fleet, plan: FleetTrial) -> Program[FleetTrial]:
    refusal = plan.refusal(fleet.call("examine", plan))
    name = f"{plan.words}, {plan.connections:,} connections"
    return Program(name, lambda _: hold.measure(fleet, plan), refusal)


def fits(fleet: Fleet, plan: FleetTrial, console: Console) -> int:
    """Show how a plan shares its connections, and what the doctors say; the exit code."""
    due_s = plan.connections / plan.ramp_per_s
    sizes = [share.connections for share in plan.shares]
    heading = f"\n{plan.connections:,} connections of {plan.words}"
    sharing = (
        f": {plural(len(sizes), 'worker')} and as many servers, {max(sizes):,} connections each "
        f"at most; {plan.ramp_per_s:,.0f}/s, so the last one is due after {due_s:.0f} s"
    )
    console.print(Text.assemble((heading, "bold"), sharing))
    examined = fleet.call("examine", plan)
    for host, results in examined.items():
        if len(examined) > 1:
            console.print(f"{host}:")
        show(results)
    return FAILED if plan.refusal(examined) else DONE
