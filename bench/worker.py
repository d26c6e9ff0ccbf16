"""The process under test: one backend, one crawl, then the end.

Started as ``python -m bench.worker``, it speaks one JSON object per line:

1. it reads a :class:`bench.command.Command` from standard input,
2. imports the backend, warms up on the warm-up site, collects garbage, and
   prints ``{"event": "ready", ...}``,
3. waits for the line ``go`` (the harness reads the memory, and resets the
   server's ledger, before it),
4. crawls, writes the times as raw doubles to the files it was told, and prints
   ``{"event": "result", ...}``.

Only the standard library and ``crawlers`` are imported here: the memory and
the start-up of this process are measured. Its standard output is the
protocol's, so what a backend prints goes to standard error.
"""

from __future__ import annotations

import faulthandler
import gc
import json
import os
import random
import resource
import sys
import time
from array import array
from typing import Any, TextIO

from crawlers import http, registry
from crawlers.job import CrawlReport, Job
from crawlers.recorder import NullRecorder, SlotRecorder, TimesRecorder

READY, RESULT, FAILED = "ready", "result", "failed"


def due_times(kind: str, rate: float, count: int, seed: int) -> tuple[float, ...]:
    """When ``count`` requests are due, in seconds from the start.

    ``constant`` spaces them ``1 / rate`` apart; ``poisson`` draws exponential
    gaps of that mean, so that arrivals bunch as independent users' do.
    """
    if kind == "constant":
        return tuple(number / rate for number in range(count))
    rng = random.Random(seed)
    now, due = 0.0, []
    for _ in range(count):
        now += rng.expovariate(rate)
        due.append(now)
    return tuple(due)


OURS: dict[str, Any] = {"any_host": True, "polite": False}
"""The harness has started the server itself, in a fleet maybe on another machine."""


def make_job(command: dict[str, Any]) -> Job:
    """The job a command asks for.

    ``urls`` counts the pages ``/p/0 ...`` of a list site; without it the
    crawl starts from the site's root and follows links.
    """
    prefix, urls = command["prefix"], command["urls"]
    schedule = command["schedule"]
    if urls is None:
        return Job((f"{prefix}/",), slots=command["slots"], timeout_s=command["timeout_s"], **OURS)
    return Job(
        tuple(f"{prefix}/p/{number}" for number in range(urls)),
        slots=command["slots"],
        timeout_s=command["timeout_s"],
        follow=False,
        schedule=due_times(count=urls, **schedule) if schedule else None,
        **OURS,
    )


def gc_collections() -> int:
    """How many collections of any generation have run."""
    return sum(generation["collections"] for generation in gc.get_stats())


def interpreter(family: str) -> dict[str, str | int]:
    """What runs here, with or without its lock (an import can bring that back), and what parses."""
    enabled = getattr(sys, "_is_gil_enabled", None)
    gil = "enabled" if enabled is None or enabled() else "disabled"
    # A stack brings a parser of its own.
    parser = {} if family == "stack" else {"parser": http.PARSER}
    return {"python": sys.version.split()[0], "gil": gil, **parser}


def write(path: str, values: array[float] | array[int]) -> int:
    """Write the values as they lie in memory; how many there were."""
    with open(path, "wb") as file:
        values.tofile(file)
    return len(values)


def describe(report: CrawlReport) -> dict[str, Any]:
    """What the harness records of a crawl; computed after the clock has stopped."""
    rows = report.rows.values()
    return {
        "elapsed_s": report.elapsed_s,
        "pages": report.pages,
        "bytes": report.bytes,
        "answered": sum(row.status is not None for row in rows),
        "urls": len(report.rows),
        "redirects": report.redirects,
        "retries": report.retries,
        "statuses": report.statuses,
        "errors": report.errors,
        "stopped": report.stopped,
        "digest": report.digest,
        "mechanism": dict(report.mechanism),
    }


def processor_s() -> tuple[float, float]:
    """User and system seconds of this process and of its children that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime for one in used), sum(one.ru_stime for one in used)


def spent_on_start(report: CrawlReport, name: str) -> float:
    """Processor seconds that a backend's own processes took to start; 0 where there are none."""
    return float(report.mechanism.get(name, 0)) / 1e6


def watch_parent() -> None:
    """End this process when its parent is gone, where the kernel cannot be asked to.

    One more thread: only used where there is no parent-death signal.
    """
    import threading

    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(3)

    threading.Thread(target=watch, daemon=True).start()


def work(command: dict[str, Any], commands: TextIO, say: TextIO) -> None:
    """Warm up, wait for the word, crawl, report."""
    backend = registry.load(command["backend"])
    warmup = Job((f"{command['warmup_prefix']}/",), slots=min(10, command["slots"]), **OURS)
    warm = backend.crawl(warmup, TimesRecorder())
    if warm.errors:
        raise RuntimeError(f"the warm-up crawl had errors: {warm.errors}")
    del warm
    job = make_job(command)
    times = SlotRecorder() if command["recorder"] == "slots" else TimesRecorder()
    recorder = NullRecorder() if command["recorder"] == "null" else times
    if command["switch_interval_s"] is not None:
        sys.setswitchinterval(command["switch_interval_s"])
    gc.collect()
    print(json.dumps({"event": READY}), file=say, flush=True)
    if commands.readline().strip() != "go":
        return
    collections = gc_collections()
    before, (user, system) = resource.getrusage(resource.RUSAGE_SELF), processor_s()
    started = time.monotonic()
    report = backend.crawl(job, recorder)
    call_s = time.monotonic() - started
    after, (user_after, system_after) = resource.getrusage(resource.RUSAGE_SELF), processor_s()
    collections = gc_collections() - collections
    result = describe(report)
    result["mechanism"] = (
        interpreter(backend.family)
        | result["mechanism"]
        | {
            "gc": f"enabled, thresholds {gc.get_threshold()}" if gc.isenabled() else "disabled",
            "gc_collections": collections,
            "recorder": type(recorder).__name__,
        }
    )
    result |= {
        "event": RESULT,
        "call_s": call_s,
        # The clock of a crawl in several processes starts when they are ready.
        "user_s": user_after - user - spent_on_start(report, "start_user_us"),
        "system_s": system_after - system - spent_on_start(report, "start_system_us"),
        "switches_voluntary": after.ru_nvcsw - before.ru_nvcsw,
        "switches_involuntary": after.ru_nivcsw - before.ru_nivcsw,
        "page_faults": after.ru_minflt - before.ru_minflt,
        "late": times.late,
        "last_due_s": job.schedule[-1] if job.schedule else None,
        "service": write(command["out"] + ".service", times.service),
        "response": write(command["out"] + ".response", times.response),
    }
    if isinstance(times, SlotRecorder):
        times.ended = array("d", (ended - started for ended in times.ended))
        result["slots"] = write(command["out"] + ".slots", times.slots)
        result["ended"] = write(command["out"] + ".ended", times.ended)
    print(json.dumps(result), file=say, flush=True)


def main() -> int:
    """Serve one command; 0 when a result was given."""
    faulthandler.enable()  # the harness ends a hung worker with SIGABRT, to learn where it hung
    say = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    command = json.loads(sys.stdin.readline() or "null")
    if command is None:
        return 2
    if command["watch_parent"]:
        watch_parent()
    try:
        work(command, sys.stdin, say)
    except Exception as error:
        message = f"{type(error).__name__}: {error}"
        print(json.dumps({"event": FAILED, "error": message}), file=say, flush=True)
        raise
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
