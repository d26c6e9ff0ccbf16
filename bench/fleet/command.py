"""The actions of ``python -m bench fleet``: plan, hold, report.

The charts are imported only to draw them: matplotlib takes seconds to import.
"""

from __future__ import annotations

import argparse
import json
import secrets
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table
from rich.text import Text

from bench.fleet import cluster, hold, hold_record, limits, plan
from bench.fleet.limits import Limits
from bench.fleet.progress import Progress
from bench.fleet.schema import FleetRecord, FleetTrialRecord, HostFacts, WorkerRecord
from bench.fleet.sentence import sentence
from bench.fleet.store import FILE_NAME, load
from bench.launch import RESULTS, ROOT
from bench.machine.probes import environment
from bench.plan import backends
from bench.plan.tls import Tls
from bench.run.preflight import THREADED
from bench.run.runner import create, own_command
from bench.store import Store, StoreError
from bench.text import plural
from crawlers.backend import Backend

if TYPE_CHECKING:
    from distributed import Client

DONE, FAILED = 0, 1


def choose(wanted: Sequence[str]) -> list[Backend]:
    """The backends with these names. Raises :class:`bench.plan.backends.BackendsError`."""
    known = backends.look_up(wanted)
    backends.choose(known, wanted)
    return known


def read_limits(client: Client) -> list[Limits]:
    """The limits of every host of the cluster now."""
    found = []
    for address in cluster.addresses(client):
        future = client.submit(limits.read, cluster.name_of(address), workers=[address], pure=False)
        found.append(future.result(timeout=cluster.START_S))
    return found


def facts_of(hosts: Sequence[Limits]) -> dict[str, HostFacts]:
    """The hosts as recorded, with a number for each machine."""
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
    arguments: argparse.Namespace, connections: int, known: Backend, hosts: Sequence[Limits]
) -> tuple[plan.FleetPlan, int]:
    """The plan for one backend, and the most connections that fit."""
    threads = known.family == THREADED
    tls = Tls() if arguments.tls else None
    if tls and known.no_https:
        raise plan.FleetPlanError(f"{known.name} has no HTTPS: {known.no_https}")
    made = plan.make(
        connections, known.name, hosts,
        threads=threads, share=arguments.share, ramp_per_s=arguments.ramp, tls=tls,
    )  # fmt: skip
    if not made.unmet:
        return made, connections
    most = plan.most(
        connections, known.name, hosts, threads=threads, share=arguments.share, tls=tls
    )
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
            code = FAILED if one.unmet else code
    if arguments.json:
        print(json.dumps([as_json(one, most) for one, most in made]))
    else:
        for one, most in made:
            show_plan(one, most, console)
    return code


def as_json(made: plan.FleetPlan, most: int) -> dict[str, object]:
    """A plan as JSON."""
    return {
        "connections": made.connections,
        "backend": made.backend,
        "tls": made.tls.words if made.tls else None,
        "possible": not made.unmet,
        "most": most,
        "ramp_s": made.ramp_s,
        "shares": [
            {"host": s.host, "server_host": s.server_host, "connections": s.connections}
            for s in made.shares
        ],
        "needs": [
            {
                "what": n.what, "where": n.where, "needed": n.needed,
                "there": n.there, "fix": n.fix if n.unmet else None,
            }
            for n in made.requirements
        ],
    }  # fmt: skip


def show_plan(made: plan.FleetPlan, most: int, console: Console) -> None:
    """Print a plan."""
    sizes = [share.connections for share in made.shares]
    console.print(
        Text.assemble(
            (
                f"\n{made.connections:,} connections of {made.backend}"
                + (" over TLS" if made.tls else ""),
                "bold",
            ),
            f": {plural(len(sizes), 'worker')} and as many servers, "
            f"{max(sizes):,} connections each at most; "
            f"{made.ramp_per_s:,.0f}/s, so the last one is due after {made.ramp_s:.0f} s",
        )
    )
    table = Table.grid(padding=(0, 2))
    for one in made.requirements:
        there = plan.amount(one.there, one.unit)
        table.add_row(
            Text("too low", "red") if one.unmet else Text("fits", "green"),
            one.what,
            f"{plan.amount(one.needed, one.unit)} of {there}",
            one.where,
        )
        if one.unmet:
            table.add_row("", f"→ {one.fix}", "", "")
    console.print(table)
    if made.unmet:
        console.print(f"does not fit: at most {most:,} connections do")


class Fleet:
    """An open ``fleet.jsonl``, and the trials written to it."""

    def __init__(
        self, arguments: argparse.Namespace, client: Client, console: Console, stack: ExitStack
    ) -> None:
        self.client, self.console = client, console
        self.trials: list[FleetTrialRecord] = []
        self.number = 0
        if arguments.into is not None:
            self.folder = arguments.into
            if not (self.folder / FILE_NAME).is_file():
                raise StoreError(
                    f"{self.folder} has no {FILE_NAME}, so there is no fleet to append to; "
                    "for a new one give --results DIR"
                )
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
        """Write the workers first; the trial's record shows that they are complete."""
        for worker in workers:
            self._store.append(worker)
        self._store.append(trial)
        self.trials.append(trial)
        self.number += 1
        self.progress.close()
        self.console.print(sentence(trial))


def finish(fleet: Fleet, arguments: argparse.Namespace, console: Console) -> int:
    """Draw the charts; returns 1 if a trial does not count."""
    bad = [trial for trial in fleet.trials if trial.status != "ok"]
    records = load(fleet.folder)
    if any(trial.status == "ok" for trial in records.trials):
        from bench.fleet import report

        report.write(records, fleet.folder)
    console.print(f"records, charts and tables: {fleet.folder}")
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
        if not arguments.fit and all(made.unmet for made, _ in plans):
            raise plan.FleetPlanError("; ".join(plan.refusal(made, most) for made, most in plans))
        fleet = Fleet(arguments, client, console, stack)
        for connections, backend in todo:
            hosts = read_limits(client)
            made, most = plan_of(arguments, connections, backend, hosts)
            if made.unmet:
                reason = plan.refusal(made, most)
                fleet.write(hold_record.refused(made, backend, fleet.number, reason, len(hosts)))
                if not (arguments.fit and most):
                    continue
                made, _ = plan_of(arguments, most, backend, hosts)
            trial, workers = hold.run(
                client, made, backend, facts_of(hosts), fleet.number, fleet.progress,
                arguments.answer,
            )  # fmt: skip
            fleet.write(trial, workers)
        return finish(fleet, arguments, console)


def do_report(arguments: argparse.Namespace, console: Console) -> int:
    """``bench fleet report``."""
    from bench.fleet import report

    folder = arguments.folder if arguments.folder.exists() else RESULTS / arguments.folder
    records = load(folder)
    out = arguments.out or (folder if folder.is_dir() else folder.parent)
    for file in report.write(records, out):
        console.print(str(file))
    if arguments.docs is not None:
        report.fill(arguments.docs, records)
    return DONE
