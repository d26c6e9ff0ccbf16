"""Runs or resumes a campaign from its options, for the command line and for pytest."""

from __future__ import annotations

import random
import secrets
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console
from rich.text import Text

from bench import BenchError, store
from bench.controls import CONTROLS
from bench.launch import OWN_PYTHON, RESULTS, ROOT, shown
from bench.machine import doctor, environment, interpreters
from bench.machine.interpreters import FoundInterpreter
from bench.plan import backends, plan, profiles
from bench.plan.durations import plan_s
from bench.plan.participants import TWIN, Label, on_each
from bench.plan.plan import Plan, PlannedPoint, Selection
from bench.plan.profiles import Profile
from bench.run import judge, preflight
from bench.run.campaign import INTERRUPTED, Campaign
from bench.run.trial import Bench
from bench.schema import CampaignRecord, EndRecord, ResumeRecord, Rung
from bench.store import Log, Records
from bench.terminal import Phases, Terminal
from bench.text import minutes, now, plural
from crawlers.backend import Backend


def own_command(arguments: Sequence[str]) -> list[str]:
    """The command line for the record, without folders of this machine."""
    words = []
    for argument in arguments:
        name, equals, value = argument.rpartition("=")
        words.append(f"{name}{equals}{Path(value).name}" if value.startswith("/") else argument)
    return words


@dataclass(slots=True)
class Options:
    profile: str = "quick"
    backends: Sequence[str] | None = None
    base: str | None = None  # of all ratios, if it is not the usual one
    only: Sequence[str] | None = None
    selection: Selection | None = None
    blocks: int | None = None  # at every point
    seed: int | None = None
    results: Path = RESULTS
    resume: Path | None = None  # a campaign to continue, with its own options
    deadline_s: float | None = None
    interpreters: Sequence[FoundInterpreter] = ()  # every backend runs on each of them
    missing: Mapping[str, str] = field(default_factory=dict)  # releases not found, and why
    command: Sequence[str] = field(default_factory=lambda: own_command(sys.argv))


@dataclass(slots=True)
class Finished:
    folder: Path
    records: Records
    end: EndRecord


def run(options: Options, console: Console) -> Finished:
    """Run a new campaign. Raises :class:`bench.BenchError` when it cannot start."""
    doctor.require_proc()
    profile, known, names, entries = choose(options)
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(10**6)
    todo, created = plan.make(entries, seed), datetime.now(UTC)
    labels = [label for entry in todo.entries for label in entry.labels]
    used = {label.backend for label in labels}
    measured = [name for name in names if name in used]
    record = CampaignRecord(
        campaign=f"{created:%Y%m%d-%H%M%S}-{secrets.token_hex(3)}",
        created=created.isoformat(timespec="seconds"),
        profile=profile.name,
        seed=seed,
        blocks=len(todo.blocks),
        backends=measured,
        base=backends.base_of(measured),
        twin=next((label.backend for label in labels if label.condition == TWIN), None),
        points=[entry.point.id for entry in todo.entries],
        command=list(options.command),
        environment=environment.collect(ROOT),
        plan=[entry.record for entry in todo.entries],
        interpreters=[python.record for python in options.interpreters],
        interpreters_missing=dict(options.missing),
        rungs=[Rung.model_validate(backend, from_attributes=True) for backend in known],
    )
    if options.base is not None:
        record = backends.rebased(record, options.base)
    with Log(options.results / record.campaign / store.FILE_NAME, create=True) as log:
        log.append(record)
        return measure(log, Records(record), todo, known, options, console)


def resume(options: Options, console: Console) -> Finished:
    """Continue the campaign that the options name. Raises what :func:`run` raises."""
    assert options.resume is not None
    doctor.require_proc()
    # Locked before it is read: another --resume may be adding to it.
    with Log(store.trials_file(options.resume), create=False) as log:
        earlier = store.load(log.path)
        record = earlier.campaign
        if earlier.end is not None and earlier.end.complete:
            if earlier.refusals:
                return Finished(log.path.parent, earlier, earlier.end)
            raise BenchError(f"campaign {record.campaign} is complete; nothing to resume")
        names = list(dict.fromkeys(Label.parse(name).name for name in record.backends))
        pythons = options.interpreters
        if record.interpreters:
            pythons = interpreters.again(record.interpreters, pythons or interpreters.find()[0])
        known = backends.choose(names, *(python.command for python in pythons))
        todo = plan.rebuild(record)
        note_resumption(log, earlier, console)
        options = replace(options, interpreters=pythons)
        return measure(log, earlier, todo, known, options, console)


def measure(
    log: Log,
    earlier: Records,
    todo: Plan,
    known: Sequence[Backend],
    options: Options,
    console: Console,
) -> Finished:
    """Say what will be measured, and what this machine forbids, and measure it."""
    record, folder = earlier.campaign, log.path.parent
    if on := [python.name for python in options.interpreters]:
        known = [replace(b, name=name) for b in known for name in on_each([b.name], on)]
    by_name = CONTROLS | {backend.name: backend for backend in known}
    campaign = Campaign(
        earlier=earlier,
        plan=todo,
        store=log,
        display=Phases(console),
        bench=Bench(
            backends=by_name,
            seed=record.seed,
            deadline_s=options.deadline_s,
            ceilings=earlier.ceilings,
            pythons={"": OWN_PYTHON}
            | {found.name: found.command for found in options.interpreters},
            free_threaded=record.free_threaded,
            refusals=preflight.refusals(todo, by_name, folder, console),
        ),
    )
    console.print(
        f"campaign {record.campaign}: profile {record.profile}, {plural(record.blocks, 'block')}, "
        f"{plural(len(todo.trials), 'trial')} of {', '.join(record.backends)}, seed {record.seed}; "
        f"about {minutes(plan_s(todo.entries))} min on the usual machine\n"
        f"records: {shown(log.path)}",
        soft_wrap=True,
    )
    with preflight.announced(console):
        end = campaign.run()
    return Finished(folder, store.load(folder), end)


def choose(options: Options) -> tuple[Profile, list[Backend], list[str], list[PlannedPoint]]:
    """The profile, the backends to measure, their names, and its points before any is cut."""
    profile = profiles.profile(options.profile, options.only)
    pythons = [python.command for python in options.interpreters]
    if options.backends is not None:
        known = backends.choose(options.backends, *pythons)
    else:
        known = backends.look_up(profile.backends, *pythons)
        for backend in known:
            wanted = any(point.who.blocks_of(backend.name) for point in profile.points)
            if backend.missing and wanted:
                Terminal(stderr=True).print(f"left out: {backend.missing}")
        known = [backend for backend in known if not backend.missing]
    names = [backend.name for backend in known]
    if options.interpreters:
        names = on_each(names, [python.name for python in options.interpreters])
    entries = plan.select(
        profile,
        names,
        selection=options.selection,
        blocks=options.blocks,
        named=options.backends is not None,
        sharing=plan.sharing(known),
    )
    taking = {label.name for entry in entries for label in entry.labels}
    for backend in known if options.backends is not None else ():
        if backend.name not in taking:
            Terminal(stderr=True).print(f"left out: {backend.name}: in none of these points")
    if options.base not in (None, *names):
        raise BenchError(f"--base {options.base}: not among {', '.join(names)}")
    return profile, known, names, entries


def planned(options: Options) -> tuple[str, Sequence[PlannedPoint]]:
    """A profile's name and the points of a campaign; raises what :func:`run` raises for such."""
    if options.resume is None:
        profile, _, _, entries = choose(options)
        return profile.name, entries
    record = store.load(options.resume).campaign
    return record.profile, plan.rebuild(record).entries


def dry_run(options: Options, console: Console) -> tuple[str, Sequence[PlannedPoint]]:
    """Print what would be measured and how long that takes, and start nothing."""
    name, entries = planned(options)
    for entry in entries:
        trials = plural(sum(entry.labels.values()), "trial")
        labels = ", ".join(map(str, entry.labels))
        console.print(
            f"{entry.point.id}: {plural(entry.blocks, 'block')}, {trials}, "
            f"{plan_s([entry]):.0f} s: {labels}",
            soft_wrap=True,
        )
    console.print(f"profile {name}: about {minutes(plan_s(entries))} min on the usual machine")
    return name, entries


def note_resumption(opened: Log, earlier: Records, console: Console) -> None:
    """Record that the campaign was resumed, over what a crash left half written."""
    store.load_turns(opened.path.parent)  # a damaged file had better be said before it is measured
    if earlier.torn_bytes:
        console.print(
            f"cut {earlier.torn_bytes} bytes of a record that a crash left unfinished",
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
            f"warning: changed since this campaign was started: {', '.join(changed)}. "
            "The two parts of the campaign may differ for that reason",
            style="yellow",
        )


def exit_code(finished: Finished, console: Console, *, explained: bool = False) -> int:
    """0 for a complete campaign, 130 for an interrupted one, else 1; prints why it is not 0.

    A campaign whose trials were all refused fails. ``explained``: its report says what to do.
    """
    if not finished.end.complete:
        folder = finished.folder
        known_by_name = folder.parent.absolute() == RESULTS.absolute()
        campaign = folder.name if known_by_name else shlex.quote(str(shown(folder)))
        console.print(
            f"not finished: {finished.end.reason}; continue with --resume {campaign}",
            style="yellow",
            soft_wrap=True,
        )
        return 130 if finished.end.reason == INTERRUPTED else 1
    if refusals := finished.records.refusals:
        console.print("nothing was measured: this machine's limits allow none of the trials")
        for reason in refusals:
            console.print(Text(reason), soft_wrap=True)
        return 1
    trials = finished.records.trials
    bad = [t for t in trials if t.status in ("failed", "void")]
    if bad:
        console.print(f"{len(bad)} of {len(trials)} trials failed or are void")
        for line in () if explained else judge.unusable(trials):
            console.print(Text(line), soft_wrap=True)
    return 1 if bad else 0
