"""The process under test: one backend, one crawl, then exit.

Started as ``python -m bench.sides.worker``. It reads a
:class:`~bench.sides.protocol.Command` from standard input, imports the backend,
warms up on the warm-up site, collects garbage and answers ``Ready``. On ``GO``
it crawls, writes the times as raw doubles to the files named in the command,
and answers ``Result``. Before ``GO`` the harness reads the memory of this
process and resets the server's ledger.

Only the standard library, ``crawlers`` and a few small modules of the harness
are imported here: the memory and the start-up time of this process are measured. Standard output
belongs to the protocol, so whatever a backend prints goes to standard error.
"""

from __future__ import annotations

import faulthandler
import gc
import os
import resource
import sys
import time
from array import array
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from math import inf
from operator import sub
from typing import Any, Literal, TextIO

from bench import controls
from bench.machine import build
from bench.sides.protocol import (
    GO,
    Command,
    Ready,
    Result,
    Schedule,
    Worked,
    chosen,
    obey,
    own_times,
    poisson,
    send,
    shared_times,
)
from crawlers import heap, http, registry, tokens
from crawlers.job import CrawlReport, Job, Work
from crawlers.recorder import (
    DueRecorder,
    LockedProgressRecorder,
    NullRecorder,
    ProgressRecorder,
    Recorder,
    SlotRecorder,
    TimesRecorder,
    WindowRecorder,
)

Crawl = Callable[[Job, Any], CrawlReport]
"""What a backend and a control have in common; the second argument is a recorder."""


def due_times(schedule: Schedule, count: int) -> tuple[float, ...]:
    """When ``count`` requests are due, in seconds from the start.

    ``constant`` spaces them ``1 / rate`` apart; ``poisson`` draws exponential
    gaps of that mean, so that arrivals bunch as those of independent users do. In a
    ``ramp`` the first request of each slot is due at that pace. Where the ramp takes longer than
    the server's delay, the second request of a slot is due when all slots have made their
    first, spread over one delay. Every other request is due when its slot is free.
    """
    if schedule.kind == "ramp":
        slots = min(schedule.slots, count)
        lead_s, ramp_s = schedule.lead_s, schedule.slots / schedule.rate
        first = tuple(lead_s + number / schedule.rate for number in range(slots))
        if ramp_s <= schedule.delay_s:
            return first
        apart_s = schedule.delay_s / schedule.slots
        return first + tuple(
            lead_s + ramp_s + number * apart_s for number in range(min(slots, count - slots))
        )
    if schedule.kind == "constant":
        return tuple(number / schedule.rate for number in range(count))
    return poisson(schedule.rate, schedule.seed, count)


OWN_SERVER: dict[str, Any] = {"any_host": True, "polite": False}
"""The harness started the server itself, although in a fleet it may be on another machine."""


def make_job(command: Command) -> Job:
    prefix, count = command.prefix, command.urls
    urls = tuple(f"{prefix}/p/{number}" for number in range(count)) if count else (f"{prefix}/",)
    needed = None
    if (wanted := command.work) is not None:
        pages = chosen(len(urls), wanted.every, wanted.seed)
        needed = Work(frozenset(urls[number] for number in pages), wanted.rounds)
    return Job(
        urls,
        slots=command.slots,
        timeout_s=command.timeout_s,
        follow=count is None,
        schedule=due_times(command.schedule, len(urls)) if command.schedule else None,
        work=needed,
        keep_alive=command.keep_alive,
        cafile=command.cafile,
        **OWN_SERVER,
    )


def gc_collections() -> int:
    return sum(generation["collections"] for generation in gc.get_stats())


def interpreter(family: str) -> dict[str, str | int]:
    """The Python release, its lock (an import can turn that on), its JIT, and the parser."""
    # An HTTP stack brings a parser of its own.
    parser = {} if family == "stack" else {"parser": http.PARSER}
    workaround = {"links": tokens.WORKAROUND} if tokens.WORKAROUND else {}
    switched = {"gil": build.gil(), "jit": build.jit()}
    if by := build.locked_by():
        switched["gil_by"] = by
    return {"python": sys.version.split()[0], **switched, **parser, **workaround}


def write(path: str, values: Sequence[float], kind: Literal["d", "l"] = "d") -> int:
    """Write doubles or integers as an ``array`` keeps them; returns how many there are."""
    try:
        with open(path, "wb") as file:
            array(kind, values).tofile(file)
    except OSError as error:  # of a full disk it names no file
        raise OSError(error.errno, error.strerror, path) from None
    return len(values)


def used() -> tuple[float, float, int, int, int]:
    """User and system seconds, voluntary and involuntary context switches, and page faults.

    Of this process and of its children that have ended, but for the faults: those are its own.
    """
    own, ended = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return (
        own.ru_utime + ended.ru_utime,
        own.ru_stime + ended.ru_stime,
        own.ru_nvcsw + ended.ru_nvcsw,
        own.ru_nivcsw + ended.ru_nivcsw,
        own.ru_minflt,
    )


def without_start(
    user_s: float, system_s: float, mechanism: Mapping[str, str | int]
) -> tuple[float, float]:
    """User and system seconds without those that a backend's own processes took to start.

    Linux knows how long a thread ran, but splits that by ticks, for each thread and each process
    anew (``cputime_adjust`` in kernel/sched/cputime.c). So a thread that has started may show more
    system time than its process does in the end. The sum is right. A part below zero counts as
    zero, and the other part is the sum.
    """
    user_s -= float(mechanism.get("start_user_us", 0)) / 1e6
    system_s -= float(mechanism.get("start_system_us", 0)) / 1e6
    return max(0.0, user_s + min(0.0, system_s)), max(0.0, system_s + min(0.0, user_s))


def make_recorder(command: Command) -> TimesRecorder:
    if command.progress is not None:
        one_at_a_time = build.gil() == "enabled"
        kind = ProgressRecorder if one_at_a_time else LockedProgressRecorder
        ended = shared_times(command.progress)
        return kind(ended, own_times(len(ended)))
    if command.schedule is not None and command.schedule.kind != "ramp":
        return DueRecorder()
    kinds = {"slots": SlotRecorder, "windows": WindowRecorder}
    return kinds.get(command.recorder, TimesRecorder)()


def warm_up(command: Command, crawl: Crawl) -> None:
    """Crawl the warm-up site once, so that nothing is imported or compiled on the clock."""
    slots, where = min(10, command.slots), (f"{command.warmup_prefix}/",)
    job = Job(where, slots=slots, cafile=command.cafile, **OWN_SERVER)
    report = crawl(job, TimesRecorder())
    if report.errors:
        raise RuntimeError(f"the warm-up crawl had errors: {report.errors}")


def load(command: Command, job: Job) -> tuple[str, Crawl]:
    """The family of a backend or a control, and what runs it; a backend has warmed up."""
    if command.backend in controls.CONTROLS:
        # Imported here: the memory of a backend's process is measured.
        from bench.controls.programs import prepare

        return controls.FAMILY, prepare(command.backend, job)
    backend = registry.load(command.backend)
    if command.flip != "cold":
        warm_up(command, backend.crawl)
    if job.work is not None:
        # Imported here, as above; from now on pages are read with the work that they need.
        from crawlers import work

        work.begin(job)
    return backend.family, backend.crawl


def found(name: str) -> tuple[object, str]:
    module, attribute = name.split(":")
    return import_module(module), attribute


def work(command: Command, commands: TextIO, replies: TextIO) -> None:
    for name, value in command.sets.items():
        assert hasattr(*found(name)), f"{name} is not there: it was renamed"
        setattr(*found(name), getattr(*found(value)) if isinstance(value, str) else value)
    if command.flip != "heap":
        heap.settle()
    job = make_job(command)
    family, crawl = load(command, job)
    measure(command, job, family, crawl, commands, replies)


def measure(
    command: Command, job: Job, family: str, crawl: Crawl, commands: TextIO, replies: TextIO
) -> None:
    times = make_recorder(command)
    recorder: Recorder = times
    if command.recorder == "null":
        recorder = NullRecorder()
    watch = None
    if command.cancel:
        # Imported here: the memory of every other worker is measured.
        from bench.sides.leftovers import Watch

        watch = Watch()
    if command.switch_interval_s is not None:
        sys.setswitchinterval(command.switch_interval_s)
    gc.collect()
    if command.flip == "collector":
        gc.disable()
    send(Ready(), replies)
    if commands.readline().strip() != GO:
        return
    collections = gc_collections()
    before = used()
    started = time.monotonic()
    report = crawl(job, recorder)
    call_s = time.monotonic() - started
    cpu_s = time.process_time()
    user_s, system_s, voluntary, involuntary, faults = map(sub, used(), before)
    collections = gc_collections() - collections
    kept = keep(command, times, started)
    # The clock of a crawl in several processes starts when they are ready.
    user_s, system_s = without_start(user_s, system_s, report.mechanism)
    rows = report.rows.values()
    result = Result(
        elapsed_s=report.elapsed_s,
        pages=report.pages,
        bytes=report.bytes,
        answered=sum(row.status is not None for row in rows),
        urls=len(rows),
        redirects=report.redirects,
        statuses={str(status): count for status, count in report.statuses.items()},
        errors=report.errors,
        stopped=report.stopped,
        digest=report.digest,
        mechanism={
            **interpreter(family),
            "malloc": heap.state(),
            **report.mechanism,
            "gc": f"enabled, thresholds {gc.get_threshold()}" if gc.isenabled() else "disabled",
            "gc_collections": collections,
            "recorder": type(recorder).__name__,
        },
        call_s=call_s,
        user_s=user_s,
        system_s=system_s,
        page_faults=faults,
        voluntary=voluntary,
        involuntary=involuntary,
        late=times.late,
        last_due_s=job.schedule[-1] if job.schedule else None,
        kept=kept,
        ending=watch.ending(started + call_s, cpu_s) if watch else None,
        work=worked(command, report, times, kept)
        if command.work is not None and isinstance(times, DueRecorder)
        else None,
    )
    send(result, replies)


def keep(command: Command, times: TimesRecorder, started: float) -> dict[str, int]:
    """Write the times of a crawl that started then; how many there are, by the files' names."""
    out = command.out
    if isinstance(times, ProgressRecorder | DueRecorder):
        times.settle()
    for took in times.service, times.response:
        # By built-in functions: what one more page takes is counted with this.
        if min(took, default=0.0) < 0.0 or not sum(took) < inf:
            raise ValueError(
                "the backend recorded an exchange that ended before it began or was due"
            )
    kept = {
        "service": write(f"{out}.service", times.service),
        "response": write(f"{out}.response", times.response),
    }
    if isinstance(times, SlotRecorder):
        kept["slots"] = write(f"{out}.slots", times.slots, "l")
        kept["ended"] = write(f"{out}.ended", [at - started for at in times.ended])
    elif isinstance(times, WindowRecorder):
        # Rows of four numbers.
        kept["windows"] = write(f"{out}.windows", [value for row in times.used for value in row])
    elif isinstance(times, ProgressRecorder):
        kept["ended"] = write(f"{out}.ended", times.ended[: len(times.service)].tolist())
    elif isinstance(times, DueRecorder):
        first = warmup(command)
        kept["response"] = write(f"{out}.response", times.response[first:])
        kept["warm"] = write(f"{out}.warm", times.service[first:])
    return kept


def warmup(command: Command) -> int:
    """How many requests of a schedule do not count."""
    return command.schedule.warmup if command.schedule is not None else 0


def worked(
    command: Command, report: CrawlReport, times: DueRecorder, kept: dict[str, int]
) -> Worked:
    """The work on the pages of a crawl; the response times of these pages and of the others.

    A page that needed work was answered when that was done. All work counts, but no response time
    during the warm-up.
    """
    from crawlers import work

    pages = work.worked(report.rows)
    theirs = {page.intended for page in pages}
    warm = dict(zip(times.due[warmup(command) :], times.response[warmup(command) :], strict=True))
    others = array("d", (response for due, response in warm.items() if due not in theirs))
    heavy = array("d", (p.done.ended - p.intended for p in pages if p.intended in warm))
    kept["others"] = write(f"{command.out}.others", others)
    kept["worked"] = write(f"{command.out}.worked", heavy)
    return Worked(
        pages=len(pages),
        check=sum(page.done.check for page in pages) % work.LIMIT,
        cpu_s=sum(page.done.cpu_s for page in pages),
        wall_s=sum(page.done.wall_s for page in pages),
        threads=len({(page.done.process, page.done.thread) for page in pages}),
    )


def main() -> int:
    """Run one command, with an exit code as :func:`bench.sides.protocol.obey` has it."""
    faulthandler.enable()  # the harness ends a hung worker with SIGABRT, to learn where it hung
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return obey(work, replies)


if __name__ == "__main__":
    raise SystemExit(main())
