"""``python -m bench fleet``: plan, hold, crawl, report."""

from __future__ import annotations

import argparse
import json
import secrets
import signal
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

from bench import backends
from bench.backends import Known
from bench.fleet import cluster, crawl, hold, limits, plan, report
from bench.fleet.limits import Limits
from bench.fleet.progress import Progress
from bench.fleet.schema import FleetRecord, FleetTrialRecord, HostFacts, WorkerRecord
from bench.fleet.store import FILE_NAME, load
from bench.probes import environment
from bench.process import RESULTS, ROOT
from bench.runner import THREADED, create, own_command
from bench.store import Store
from bench.workloads import FANOUT, MODELS, PAGE_BYTES

if TYPE_CHECKING:
    from distributed import Client

DONE, FAILED = 0, 1

ABOUT = """\
Many processes, each running an unchanged backend on its share of the
connections, on one host or on many; dask.distributed places them. Without
--scheduler everything runs on this machine and nothing has to be set up.

  python -m bench fleet plan --connections 1000000       can this machine do it?
  python -m bench fleet hold --connections 100000        hold them, all at once
  python -m bench fleet crawl --workers 1,2,4            share one crawl
  python -m bench fleet report results/fleet-NAME        charts and tables again

On a cluster: dask scheduler on one host, dask worker tcp://HOST:8786 --nthreads 1
on each of the others, then add --scheduler tcp://HOST:8786. See docs/fleet.md.
"""
EXITS = "Exit codes: 0 done, 1 something failed or does not fit, 2 bad usage, 130 interrupted."


def parser() -> argparse.ArgumentParser:
    """The command line."""
    main_parser = argparse.ArgumentParser(
        prog="python -m bench fleet",
        description=ABOUT,
        epilog=EXITS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = main_parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def command(name: str, short: str, text: str) -> argparse.ArgumentParser:
        return commands.add_parser(
            name,
            help=short,
            description=f"{short[0].upper()}{short[1:]}.\n\n{text}",
            epilog=EXITS,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )

    planning = command(
        "plan",
        "say how connections would be shared out, and what stops it",
        "Reads the limits of every host; starts nothing. Each limit that is too low\n"
        "comes with the numbers and the command that lifts it. Exit code 1 when one is.",
    )
    holding = command(
        "hold",
        "hold connections open at one barrier, and read the memory",
        "One trial for each backend and number of connections. Refused before anything\n"
        "starts when it does not fit; --fit then holds as many as do.",
    )
    crawling = command(
        "crawl",
        "share one crawl out over several workers, by the hash of each URL",
        "One trial for each backend and number of workers.",
    )
    for one in (planning, holding):
        one.add_argument(
            "--connections", type=counts, default=[100_000], metavar="N,M",
            help="how many to hold (default: 100000)",
        )  # fmt: skip
        one.add_argument(
            "--share", type=count, metavar="N",
            help="connections of one process at most (default: what its limits allow)",
        )  # fmt: skip
        one.add_argument(
            "--ramp", type=count, default=plan.RAMP_PER_S, metavar="N",
            help="connections opened per second by the whole fleet (default: %(default)s)",
        )  # fmt: skip
    holding.add_argument(
        "--fit", action="store_true", help="where it does not fit, hold as many as do"
    )
    holding.add_argument(
        "--answer", type=float, default=cluster.ANSWER_S, metavar="S",
        help="a host that does not answer for so long is lost (default: %(default)g)",
    )  # fmt: skip
    crawling.add_argument(
        "--workers", type=counts, default=[1, 2], metavar="N,M",
        help="numbers of workers to try (default: 1,2)",
    )  # fmt: skip
    crawling.add_argument("--site", default=f"tree:20000:{FANOUT}:{PAGE_BYTES}", metavar="SPEC")
    crawling.add_argument("--delay", default="none", metavar="SPEC", help="of the server's answers")
    crawling.add_argument("--slots", type=count, default=100, metavar="N", help="of each worker")
    crawling.add_argument(
        "--deadline", type=float, default=600.0, metavar="S", help="give up a trial after S seconds"
    )
    for one in (planning, holding, crawling):
        one.add_argument(
            "--backends", type=names, default=["callbacks"], metavar="A,B",
            help=f"such as {','.join(MODELS)} (default: callbacks)",
        )  # fmt: skip
        one.add_argument(
            "--scheduler", metavar="ADDRESS", help="of a dask cluster, such as tcp://10.0.0.1:8786"
        )
        one.add_argument("--json", action="store_true", help="one JSON object on stdout")
    for one in (holding, crawling):
        one.add_argument(
            "--repeat", type=count, default=1, metavar="N", help="trials of each (default: 1)"
        )
        one.add_argument(
            "--into", type=Path, metavar="FOLDER", help="append to the fleet in this folder"
        )
        one.add_argument("--results", type=Path, default=RESULTS, metavar="DIR")

    reporting = command(
        "report",
        "rebuild the charts and tables of a fleet",
        "Needs fleet.jsonl and nothing else; works on any machine.",
    )
    reporting.add_argument("folder", type=Path, help="folder under results/, or a fleet.jsonl")
    reporting.add_argument("--out", type=Path, help="write there instead of beside the records")
    reporting.add_argument(
        "--docs", type=Path, metavar="FILE",
        help="also put the tables between the markers of this Markdown file",
    )  # fmt: skip
    return main_parser


def count(text: str) -> int:
    """A whole number above 0."""
    number = int(text) if text.isascii() and text.isdigit() else 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number above 0, not {text!r}")
    return number


def counts(text: str) -> list[int]:
    """Several of them, separated by commas."""
    return [count(part) for part in text.split(",")]


def names(text: str) -> list[str]:
    """Names separated by commas."""
    return [name.strip() for name in text.split(",") if name.strip()]


def choose(wanted: Sequence[str]) -> list[Known]:
    """The backends asked for. Raises :class:`bench.backends.BackendsError` for others."""
    known = backends.look_up(wanted)
    backends.choose(known, wanted)
    return known


def read_limits(client: Client) -> list[Limits]:
    """What every host of the cluster allows now."""
    found = []
    for address in cluster.addresses(client):
        future = client.submit(limits.read, cluster.name_of(address), workers=[address], pure=False)
        found.append(future.result(timeout=cluster.START_S))
    return found


def facts_of(hosts: Sequence[Limits]) -> dict[str, HostFacts]:
    """The hosts as a record knows them; machines are numbered, not named."""
    machines = list(dict.fromkeys(host.machine for host in hosts))
    return {
        host.host: HostFacts(
            host=host.host,
            machine=machines.index(host.machine),
            cores=host.cores,
            descriptors=host.descriptors,
            ports=host.ports,
            memory_available_bytes=host.memory_bytes,
        )
        for host in hosts
    }


def plan_of(
    arguments: argparse.Namespace, connections: int, known: Known, hosts: Sequence[Limits]
) -> tuple[plan.Plan, int]:
    """The plan for one backend, and how many connections could be held at most."""
    threads = known.family == THREADED
    made = plan.make(
        connections, known.name, hosts,
        threads=threads, share=arguments.share, ramp_per_s=arguments.ramp,
    )  # fmt: skip
    if not made.stops:
        return made, connections
    most = plan.most(connections, known.name, hosts, threads=threads, share=arguments.share)
    return made, most


def do_plan(arguments: argparse.Namespace, console: Console) -> int:
    """``bench fleet plan``."""
    known = choose(arguments.backends)
    with cluster.connect(arguments.scheduler) as client:
        hosts = read_limits(client)
    code, made = DONE, []
    for connections in arguments.connections:
        for backend in known:
            one, most = plan_of(arguments, connections, backend, hosts)
            made.append((one, most))
            code = FAILED if one.stops else code
    if arguments.json:
        print(json.dumps([as_json(one, most) for one, most in made]))
    else:
        for one, most in made:
            show_plan(one, most, console)
    return code


def as_json(made: plan.Plan, most: int) -> dict[str, object]:
    """A plan for programs."""
    return {
        "connections": made.connections,
        "backend": made.backend,
        "possible": not made.stops,
        "most": most,
        "ramp_s": made.ramp_s,
        "shares": [
            {"host": s.host, "server_host": s.server_host, "connections": s.connections}
            for s in made.shares
        ],
        "needs": [
            {
                "what": n.what, "where": n.where, "needed": n.needed,
                "there": n.there, "mend": n.mend if n.stops else None,
            }
            for n in made.needs
        ],
    }  # fmt: skip


def show_plan(made: plan.Plan, most: int, console: Console) -> None:
    """A plan for people."""
    sizes = [share.connections for share in made.shares]
    console.print(
        f"\n[bold]{made.connections:,} connections of {made.backend}[/bold]: {len(sizes)} workers "
        f"and as many servers, {max(sizes):,} connections each at most; "
        f"{made.ramp_per_s:,.0f}/s, {made.ramp_s:.0f} s until the last is due",
        highlight=False,
    )
    table = Table.grid(padding=(0, 2))
    for need in made.needs:
        there = plan.amount(need.there, need.unit)
        colour = "red" if need.stops else "green"
        table.add_row(
            f"[{colour}]{'stops' if need.stops else 'fits'}[/]",
            need.what,
            f"{plan.amount(need.needed, need.unit)} of {there}",
            need.where,
        )
        if need.stops:
            table.add_row("", f"→ {need.mend}", "", "")
    console.print(table)
    if made.stops:
        console.print(f"not here: at most {most:,} connections fit", highlight=False)


class Fleet:
    """An open ``fleet.jsonl``, and what was written to it."""

    def __init__(
        self, arguments: argparse.Namespace, client: Client, console: Console, stack: ExitStack
    ) -> None:
        self.client, self.console = client, console
        self.trials: list[FleetTrialRecord] = []
        self.number = 0
        if arguments.into is not None:
            self.folder = arguments.into
            self.number = len(load(self.folder).trials)
            self._store = stack.enter_context(Store(self.folder / FILE_NAME, create=False))
        else:
            created = datetime.now(UTC)
            name = f"{created:%Y%m%d-%H%M%S}-{secrets.token_hex(3)}"
            self.folder = arguments.results / f"fleet-{name}"
            self._store = stack.enter_context(create(self.folder / FILE_NAME))
            self._store.append(
                FleetRecord(
                    fleet=name,
                    created=created.isoformat(timespec="seconds"),
                    command=own_command(sys.argv),
                    cluster="local" if arguments.scheduler is None else "remote",
                    hosts=list(facts_of(read_limits(client)).values()),
                    environment=environment.collect(ROOT),
                )
            )
        self.progress = Progress(console)
        stack.callback(self.progress.close)

    def write(self, trial: FleetTrialRecord, workers: Sequence[WorkerRecord] = ()) -> None:
        """Workers first, then the trial that was made from them: it says that all are there."""
        for worker in workers:
            self._store.append(worker)
        self._store.append(trial)
        self.trials.append(trial)
        self.number += 1
        self.progress.close()
        self.console.print(report.sentence(trial), highlight=False, markup=False)


def finish(fleet: Fleet, arguments: argparse.Namespace, console: Console) -> int:
    """Draw what there is; 1 when a trial does not count."""
    bad = [trial for trial in fleet.trials if trial.status != "ok"]
    if any(trial.status == "ok" for trial in load(fleet.folder).trials):
        report.write(load(fleet.folder), fleet.folder)
    console.print(f"records, charts and tables: {fleet.folder}", highlight=False)
    if arguments.json:
        print(
            json.dumps({"folder": str(fleet.folder), "trials": len(fleet.trials), "bad": len(bad)})
        )
    return FAILED if bad else DONE


def do_hold(arguments: argparse.Namespace, console: Console) -> int:
    """``bench fleet hold``."""
    known = choose(arguments.backends)
    with ExitStack() as stack:
        client = stack.enter_context(cluster.connect(arguments.scheduler))
        once = [(n, backend) for n in arguments.connections for backend in known]
        todo = once * arguments.repeat
        first = read_limits(client)
        plans = [plan_of(arguments, n, backend, first) for n, backend in once]
        if not arguments.fit and all(made.stops for made, _ in plans):
            raise plan.PlanError("; ".join(plan.refusal(made, most) for made, most in plans))
        fleet = Fleet(arguments, client, console, stack)
        for connections, backend in todo:
            hosts = read_limits(client)
            made, most = plan_of(arguments, connections, backend, hosts)
            if made.stops:
                reason = plan.refusal(made, most)
                fleet.write(hold.refused(made, backend, fleet.number, reason, len(hosts)))
                if not (arguments.fit and most):
                    continue
                made, _ = plan_of(arguments, most, backend, hosts)
            trial, workers = hold.run(
                client, made, backend, facts_of(hosts), fleet.number, fleet.progress,
                arguments.answer,
            )  # fmt: skip
            fleet.write(trial, workers)
        return finish(fleet, arguments, console)


def do_crawl(arguments: argparse.Namespace, console: Console) -> int:
    """``bench fleet crawl``."""
    known = choose(arguments.backends)
    with ExitStack() as stack:
        client = stack.enter_context(cluster.connect(arguments.scheduler, max(arguments.workers)))
        fleet = Fleet(arguments, client, console, stack)
        once = [(workers, backend) for workers in arguments.workers for backend in known]
        for workers, backend in once * arguments.repeat:
            setting = crawl.Setting(
                backend=backend,
                site=arguments.site,
                delay=arguments.delay,
                workers=workers,
                slots=arguments.slots,
                deadline_s=arguments.deadline,
            )
            fleet.write(*crawl.run(client, setting, fleet.number, fleet.progress))
        return finish(fleet, arguments, console)


def do_report(arguments: argparse.Namespace, console: Console) -> int:
    """``bench fleet report``."""
    folder = arguments.folder if arguments.folder.exists() else RESULTS / arguments.folder
    records = load(folder)
    out = arguments.out or (folder if folder.is_dir() else folder.parent)
    for file in report.write(records, out):
        console.print(str(file), highlight=False)
    if arguments.docs is not None:
        report.fill(arguments.docs, records)
    return DONE


COMMANDS = {"plan": do_plan, "hold": do_hold, "crawl": do_crawl, "report": do_report}


def main(argv: Sequence[str]) -> int:
    """Run one command; returns the exit code. Raises :class:`bench.errors.BenchError`."""
    arguments = parser().parse_args(argv)
    console = Console(stderr=getattr(arguments, "json", False), emoji=False)
    # A fleet that is asked to end stops its processes first, on every host.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    return COMMANDS[arguments.command](arguments, console)
