"""From options to a campaign on the disk: what the command line and pytest share."""

from __future__ import annotations

import random
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from rich.console import Console

from bench import backends, doctor, interpreters, plan, store, workloads
from bench.campaign import INTERRUPTED, Campaign
from bench.interpreters import Found
from bench.plan import Plan, PlanError, Selection
from bench.probes import environment
from bench.process import OWN_PYTHON, RESULTS, ROOT
from bench.progress import Display, Estimate, minutes
from bench.schema import CampaignRecord, EndRecord, ResumeRecord, Rung
from bench.store import Records, Store, StoreError
from bench.trial import now
from bench.workloads import Point, backend_of, model_of

THREADED = "threads"
"""The family that starts a thread for each slot."""


def own_command(arguments: Sequence[str]) -> list[str]:
    """The command line for the record: no folder of this machine in it."""
    shown = []
    for argument in arguments:
        name, equals, value = argument.rpartition("=")
        shown.append(f"{name}{equals}{Path(value).name}" if value.startswith("/") else argument)
    return shown


@dataclass(slots=True)
class Options:
    """What to run. ``resume`` is the folder of a campaign to finish; the rest is then its own.

    With ``interpreters`` every backend runs on each of them; ``missing`` are
    those that should be among them and are not, with the reasons.
    """

    profile: str = "quick"
    backends: Sequence[str] | None = None
    only: Sequence[str] | None = None
    selection: Selection | None = None
    blocks: int | None = None
    seed: int | None = None
    results: Path = RESULTS
    resume: Path | None = None
    deadline_s: float | None = None
    interpreters: Sequence[Found] = ()
    missing: Mapping[str, str] = field(default_factory=dict)
    command: Sequence[str] = field(default_factory=lambda: own_command(sys.argv))


@dataclass(slots=True)
class Finished:
    """A campaign that was run, to its end or not."""

    folder: Path
    records: Records
    end: EndRecord


def run(options: Options, console: Console) -> Finished:
    """Run or resume a campaign.

    Raises :class:`bench.errors.BenchError` when it cannot even begin.
    """
    doctor.require_proc()
    earlier: Records | None = None
    pythons = options.interpreters
    if options.resume is not None:
        file, earlier = reopen(options.resume)
        record, todo = earlier.campaign, plan.rebuild(earlier.campaign)
        names = list(dict.fromkeys(map(model_of, record.backends)))
        if record.interpreters:
            pythons = interpreters.again(record.interpreters, pythons or interpreters.find()[0])
        known = look_up(names, pythons)
        backends.choose(known, names)
        opened = Store(file, create=False)
    else:
        wanted = options.backends or workloads.profile(options.profile).backends
        known = look_up(wanted, pythons)
        record, todo = begin(options, known)
        file = options.results / record.campaign / store.FILE_NAME
        opened = create(file)
    if pythons:
        known = [replace(b, name=name) for b in known for name in on_each([b.name], pythons)]
    with opened:
        if earlier is None:
            opened.append(record)
        else:
            # Only now that nobody else can be writing to it.
            take_up(opened, earlier, console)
        refusals = preflight(todo, known, file.parent, console)
        campaign = Campaign(
            record=record,
            plan=todo,
            store=opened,
            display=Display(console, len(todo.turns), len(earlier.trials) if earlier else 0),
            backends={backend.name: backend for backend in known},
            trials=list(earlier.trials) if earlier else [],
            ceilings=list(earlier.ceilings) if earlier else [],
            refusals=refusals,
            deadline_s=options.deadline_s,
            pythons={"": OWN_PYTHON} | {found.name: found.command for found in pythons},
        )
        announce(record, todo, file.parent, console)
        end = campaign.run()
    return Finished(file.parent, store.load(file), end)


def begin(options: Options, known: Sequence[backends.Known]) -> tuple[CampaignRecord, Plan]:
    """A new campaign's first record and plan."""
    usual = workloads.profile(options.profile).backends
    names = backends.choose(known, options.backends, usual)
    if options.backends is None:
        for backend in known:
            if backend.missing:
                Console(stderr=True, emoji=False).print(
                    f"left out: {backend.missing}", highlight=False
                )
    if options.interpreters:
        names = on_each(names, options.interpreters)
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(10**6)
    chosen = plan.select(
        options.profile,
        names,
        only=options.only,
        selection=options.selection,
        blocks=options.blocks,
        everyone=options.backends is not None,
    )
    todo = plan.make(chosen, seed)
    record = plan.campaign_record(
        todo,
        profile=options.profile,
        backends=names,
        seed=seed,
        command=options.command,
        environment=environment.collect(ROOT),
        interpreters=[found.record for found in options.interpreters],
        missing=options.missing,
        rungs=[Rung(**asdict(backend)) for backend in known],
    )
    return record, todo


def look_up(names: Sequence[str] | None, pythons: Sequence[Found]) -> list[backends.Known]:
    """The backends as the campaign's interpreters have them.

    Raises :class:`bench.backends.BackendsError` when one cannot run on a later of them.
    """
    if not pythons:
        return backends.look_up(names)
    known = backends.look_up(names, pythons[0].command)
    for later in pythons[1:]:
        backends.choose(backends.look_up(names, later.command), names)
    return known


def on_each(names: Sequence[str], pythons: Sequence[Found]) -> list[str]:
    """Every backend on every interpreter."""
    return workloads.on_each(names, [found.name for found in pythons])


def create(file: Path) -> Store:
    """A new campaign's file in a folder of its own."""
    try:
        file.parent.mkdir(parents=True)
    except OSError as error:
        raise StoreError(f"{file.parent}: {error.strerror}") from None
    return Store(file, create=True)


def reopen(folder: Path) -> tuple[Path, Records]:
    """The file and the records of a campaign to be finished."""
    file = store.trials_file(folder)
    records = store.load(file)
    if records.end is not None and records.end.complete:
        raise PlanError(f"campaign {records.campaign.campaign} is complete; nothing to resume")
    return file, records


def take_up(opened: Store, earlier: Records, console: Console) -> None:
    """Cut what a crash left half written, and say that the campaign was resumed."""
    if earlier.torn_bytes:
        opened.cut(earlier.torn_bytes)
        console.print(
            f"cut {earlier.torn_bytes} bytes of a record that a crash left unfinished",
            highlight=False,
        )
    opened.append(ResumeRecord(resumed=now(), done=len(earlier.trials)))
    then, here = earlier.campaign.environment, environment.collect(ROOT)
    changed = [
        name
        for name in ("python", "commit", "dirty", "kernel", "cpu_model", "cpu_count", "packages")
        if getattr(then, name) != getattr(here, name)
    ]
    if changed:
        console.print(
            f"warning: not as it was when this campaign began: {', '.join(changed)}; "
            "its halves may differ for that reason",
            style="yellow",
            highlight=False,
        )


def preflight(
    todo: Plan, known: Sequence[backends.Known], folder: Path, console: Console
) -> dict[tuple[str, str], str]:
    """Look the machine over; which (point, label) pairs its limits forbid, and why."""
    doctor.raise_descriptor_limit()
    connections = max(point.slots for point in todo.points.values())
    for finding in doctor.examine(connections, connections, folder):
        # Connections are opened at a paced rate, so the backlog is deep enough.
        if finding.level in ("warning", "refusal") and finding.check != "backlog":
            text = f"{finding.level}: {finding.check}: {finding.found}: {finding.effect}"
            mend = f" ({finding.mend})" if finding.mend else ""
            console.print(text + mend, highlight=False, markup=False)
    by_name = {backend.name: backend for backend in known}
    refused = {}
    for entry in todo.entries:
        point = todo.points[entry.point]
        for label in entry.labels:
            backend = by_name[backend_of(label)]
            threads = point.slots if backend.family == THREADED else 0
            reason = unable(backend, point) or doctor.refuse(point.slots, threads, folder=folder)
            if reason:
                refused[entry.point, label] = reason
    return refused


def unable(backend: backends.Known, point: Point) -> str | None:
    """Why a backend can never hold the connections of this point, None when it can."""
    if point.kind != "hold" or backend.most is None or backend.most >= point.slots:
        return None
    return f"{backend.name} holds at most {backend.most} connections at once ({backend.changes})"


def announce(record: CampaignRecord, todo: Plan, folder: Path, console: Console) -> None:
    """Say what is about to happen and how long it should take."""
    expected = Estimate(todo.points).left_s(todo.turns)
    where = folder.relative_to(ROOT) if folder.is_relative_to(ROOT) else folder
    console.print(
        f"campaign {record.campaign}: profile {record.profile}, {record.blocks} blocks, "
        f"{len(todo.turns)} trials of {', '.join(record.backends)}, seed {record.seed}; "
        f"about {minutes(expected)} min\nrecords: {where / store.FILE_NAME}",
        highlight=False,
    )


def exit_code(finished: Finished, console: Console) -> int:
    """0 for a whole campaign, 130 when it was interrupted, else 1; says why it is not 0.

    A campaign of which nothing could be run is not whole.
    """
    if not finished.end.complete:
        how = f"--resume {finished.records.campaign.campaign}"
        console.print(f"not finished: {finished.end.reason}; go on with {how}", style="yellow")
        return 130 if finished.end.reason == INTERRUPTED else 1
    trials = finished.records.trials
    if all(trial.status == "refused" for trial in trials):
        console.print("nothing was measured: this machine's limits allow none of the trials")
        return 1
    bad = [t for t in trials if t.status in ("failed", "void")]
    if bad:
        console.print(f"{len(bad)} of {len(trials)} trials do not count")
    return 1 if bad else 0
