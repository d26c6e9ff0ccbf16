"""Measure with many processes, on one host or on many.

Each process runs an unchanged backend on its share of the connections. dask.distributed places
the processes. Without --scheduler everything runs on this machine, with nothing to set up.

  python -m bench study fleet plan --connections 1000000       can this machine do it?
  python -m bench study fleet hold --connections 100000        hold them, all at once
  python -m bench study fleet hold --tls --fit                 the same over TLS, as many as fit
  python -m bench study fleet report results/fleet-NAME        rebuild its charts and tables

On a cluster, start `dask scheduler` on one host and `dask worker tcp://HOST:8786 --nthreads 1`
on each of the others, then add --scheduler tcp://HOST:8786. See docs/fleet.md.
"""

from __future__ import annotations

import argparse
import json
import secrets
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from bench.cli import DONE, FAILED
from bench.cli.command import EXITS, Parser
from bench.cli.options import add_json, names, positive, seconds
from bench.fleet import cluster, hold, plan
from bench.fleet.plan import Checked
from bench.fleet.records import (
    FILE_NAME,
    FleetRecord,
    FleetTrialRecord,
    HostFacts,
    WorkerRecord,
    load,
    sentence,
)
from bench.launch import RESULTS, ROOT
from bench.machine import environment
from bench.machine.doctor import CheckResult, Needs, examine_limits, show
from bench.plan import backends
from bench.run.preflight import THREADED
from bench.run.runner import create, own_command
from bench.sides.tls import Tls
from bench.store import Log, StoreError
from bench.terminal import Phases
from bench.text import capital, plural
from crawlers.backend import Backend
from crawlers.registry import MODELS

if TYPE_CHECKING:
    from distributed import Client

Action = Callable[[argparse.Namespace, Console], int]


def counts(text: str) -> list[int]:
    return [positive(part) for part in text.split(",")]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(
        dest="action", required=True, metavar="ACTION", parser_class=Parser
    )

    def action(do: Action, summary: str, text: str) -> argparse.ArgumentParser:
        made = actions.add_parser(
            do.__name__.removeprefix("do_"),
            help=summary,
            description=f"{capital(summary)}.\n\n{text}",
            epilog=EXITS,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        made.set_defaults(do=do)
        return made

    planning = action(
        do_plan,
        "show how connections would be shared, and which limits are too low",
        "Reads the limits of every host and starts nothing. For each limit that is too low,\n"
        "prints the numbers and the command that raises it, and exits with 1.",
    )
    holding = action(
        do_hold,
        "hold connections open at one barrier, and read the memory",
        "One trial for each backend and number of connections. If they do not fit, nothing\n"
        "starts; with --fit, holds as many as fit.",
    )
    reporting = action(
        do_report,
        "rebuild the charts and tables of a fleet",
        "Needs only fleet.jsonl, and works on any machine.",
    )
    for one in (planning, holding):
        one.add_argument(
            "--connections", type=counts, default=[100_000], metavar="N,M",
            help="how many to hold, each in a trial of its own (default: 100000)",
        )  # fmt: skip
        one.add_argument(
            "--share", type=positive, metavar="N",
            help="connections of one process at most (default: what its limits allow)",
        )  # fmt: skip
        one.add_argument(
            "--ramp", type=positive, metavar="N",
            help="connections that the whole fleet opens per second "
            f"(default: {plan.RAMP_PER_S}, over TLS {plan.TLS_RAMP_PER_S})",
        )  # fmt: skip
        one.add_argument(
            "--tls", action="store_true", help="over TLS 1.3, each connection with a full handshake"
        )
        one.add_argument(
            "--backends", type=names, default=["callbacks"], metavar="A,B",
            help=f"such as {','.join(MODELS)} (default: callbacks)",
        )  # fmt: skip
        one.add_argument(
            "--scheduler", metavar="ADDRESS", help="of a dask cluster, such as tcp://10.0.0.1:8786"
        )
    add_json(holding)
    holding.add_argument("--fit", action="store_true", help="hold as many as fit")
    holding.add_argument(
        "--answer", type=seconds, default=cluster.ANSWER_S, metavar="S",
        help="give up a host that does not answer for S seconds (default: %(default)g)",
    )  # fmt: skip
    holding.add_argument(
        "--into", type=Path, metavar="FOLDER", help="append to the fleet in this folder"
    )
    holding.add_argument(
        "--results", type=Path, default=RESULTS, metavar="DIR", help="default: results"
    )
    reporting.add_argument("folder", type=Path, help="a folder under results/, or a fleet.jsonl")
    reporting.add_argument("--out", type=Path, metavar="DIR", help="default: beside the records")


def run(arguments: argparse.Namespace, console: Console) -> int:
    action: Action = arguments.do
    return action(arguments, console)


# --- plan ------------------------------------------------------------------------------------


def read_hosts(client: Client) -> list[HostFacts]:
    there = cluster.addresses(client)
    return plan.numbered([cluster.ask(client, there[host], plan.look, host) for host in there])


def chosen(arguments: argparse.Namespace) -> list[Backend]:
    known = backends.look_up(arguments.backends)
    backends.choose(known, arguments.backends)
    return known


def planned(
    arguments: argparse.Namespace, connections: int, backend: Backend, client: Client
) -> Checked:
    if arguments.tls and backend.no_https:
        raise plan.FleetPlanError(f"{backend.name} has no HTTPS: {backend.no_https}")
    made = plan.make(
        connections,
        backend.name,
        read_hosts(client),
        threads=backend.family == THREADED,
        share=arguments.share,
        ramp_per_s=arguments.ramp,
        tls=Tls() if arguments.tls else None,
    )
    there = cluster.addresses(client)

    def doctors(needs: Mapping[str, Needs]) -> dict[str, list[CheckResult]]:
        return {
            host: cluster.ask(client, there[host], examine_limits, need)
            for host, need in needs.items()
        }

    return plan.check(made, doctors)


def do_plan(arguments: argparse.Namespace, console: Console) -> int:
    known = chosen(arguments)
    with cluster.connect(arguments.scheduler) as client:
        made = [
            planned(arguments, n, each, client) for n in arguments.connections for each in known
        ]
    for each in made:
        show_plan(each, console)
    return DONE if all(each.fits for each in made) else FAILED


def show_plan(checked: Checked, console: Console) -> None:
    made = checked.plan
    sizes = [share.connections for share in made.shares]
    console.print(
        Text.assemble(
            (f"\n{made.words}", "bold"),
            f": {plural(len(sizes), 'worker')} and as many servers, "
            f"{max(sizes):,} connections each at most; "
            f"{made.ramp_per_s:,.0f}/s, so the last one is due after {made.ramp_s:.0f} s",
        )
    )
    for host, results in checked.found.items():
        if len(checked.found) > 1:
            console.print(f"{host}:")
        show(results)
    if not checked.fits:
        console.print(f"does not fit: at most {checked.most:,} connections do")


# --- hold ------------------------------------------------------------------------------------


def opened(arguments: argparse.Namespace, hosts: Sequence[HostFacts]) -> tuple[Log, int]:
    """The fleet to write to, and how many trials it has."""
    if arguments.into is not None:
        file = arguments.into / FILE_NAME
        if not file.is_file():
            raise StoreError(
                f"{arguments.into} has no {FILE_NAME}, so there is no fleet to append to; "
                "for a new one give --results DIR"
            )
        return Log(file, create=False), len(load(file).trials)
    created = datetime.now(UTC)
    name = f"{created:%Y%m%d-%H%M%S}-{secrets.token_hex(3)}"
    log = create(arguments.results / f"fleet-{name}" / FILE_NAME)
    log.append(
        FleetRecord(
            fleet=name,
            created=created.isoformat(timespec="seconds"),
            command=own_command(sys.argv),
            cluster="local" if arguments.scheduler is None else "remote",
            hosts=list(hosts),
            environment=environment.collect(ROOT),
        )
    )
    return log, 0


def do_hold(arguments: argparse.Namespace, console: Console) -> int:
    known = chosen(arguments)
    trials: list[FleetTrialRecord] = []
    with ExitStack() as stack:
        client = stack.enter_context(cluster.connect(arguments.scheduler))
        once = [(n, backend) for n in arguments.connections for backend in known]
        plans = [planned(arguments, n, backend, client) for n, backend in once]
        if not arguments.fit and not any(checked.fits for checked in plans):
            raise plan.FleetPlanError("; ".join(checked.refusal for checked in plans))
        log, before = opened(arguments, plans[0].plan.hosts)
        stack.enter_context(log)
        progress = Phases(console)
        stack.callback(progress.close)

        def write(trial: FleetTrialRecord, workers: Sequence[WorkerRecord] = ()) -> None:
            # The workers first; the trial's record shows that they are complete.
            log.append(*workers, trial)
            trials.append(trial)
            progress.close()
            console.print(sentence(trial))

        for connections, backend in once:
            checked = planned(arguments, connections, backend, client)
            made = checked.plan
            if not checked.fits:
                write(hold.refused(made, backend, before + len(trials), checked.refusal))
                if not (arguments.fit and checked.most):
                    continue
                made = replace(made, connections=checked.most)
            number = before + len(trials)
            write(*hold.run(client, made, backend, number, progress, arguments.answer))
    folder, bad = log.path.parent, sum(trial.status != "ok" for trial in trials)
    records = load(folder)
    if any(trial.status == "ok" for trial in records.trials):
        # Imported only to draw: matplotlib takes seconds.
        from bench.fleet import report

        report.write(records, folder)
    console.print(f"records, charts and tables: {folder}")
    if arguments.json:
        print(json.dumps({"folder": str(folder), "trials": len(trials), "bad": bad}))
    return FAILED if bad else DONE


def do_report(arguments: argparse.Namespace, console: Console) -> int:
    from bench.fleet import report

    folder = arguments.folder if arguments.folder.exists() else RESULTS / arguments.folder
    records = load(folder)
    out = arguments.out or (folder if folder.is_dir() else folder.parent)
    for file in report.write(records, out):
        console.print(str(file))
    return DONE
