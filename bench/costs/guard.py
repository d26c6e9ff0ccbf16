"""Do our own four models take more instructions than they used to?

The baseline, ``baseline.json``, is committed. It holds for the interpreters it names and for no
other: see :mod:`bench.costs.fingerprint`. Anything but more instructions passes, with a message:
a machine without valgrind, an interpreter without a baseline, a crawl that failed.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from bench import filesystem
from bench.costs import measure
from bench.costs.account import per_page
from bench.costs.measure import CostsOptions, Progress
from bench.costs.record import CostsError
from bench.launch import OWN_PYTHON, run_module
from bench.machine import instruments
from bench.machine.instruments import INSTRUCTIONS
from bench.schema import Record
from bench.text import now
from crawlers.registry import MODELS

FILE = Path(__file__).with_name("baseline.json")
PAGES, SLOTS, SEED = 500, 100, 1
MARGIN = 0.02
MARGINS = {"threads": 0.2}
"""By how much a model may exceed its baseline; counts of the same code differ by 0.3 % at most.

Threads take turns as the moment has it, and theirs differ by 5 %.
"""
SCHEDULES = 3
"""How often threads are counted for the baseline: it holds the most that a schedule took."""
AGAIN = 2
"""How often a model that exceeds it is counted again; the lowest count decides."""
CROWD = {"fetch": MODELS, "crawl": ("callbacks",)}
"""Who is counted where: on crawl only the shared parts are new."""
FINGERPRINT_S = 60.0
UPDATE = "python -m bench costs --update-baseline"

Status = Literal["passed", "more", "not checked"]


class Entry(Record):
    """The baseline of one interpreter: instructions per page, by "fetch callbacks"."""

    python: str
    tool: str
    created: str
    instructions: dict[str, float]


class Baseline(Record):
    """The committed file: entries by fingerprint."""

    pages: int = PAGES
    slots: int = SLOTS
    entries: dict[str, Entry]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the guard found, in lines for people."""

    status: Status
    lines: tuple[str, ...]


def load(file: Path = FILE) -> Baseline:
    """The baseline. Raises :class:`CostsError` if the file is damaged."""
    if not file.exists():
        return Baseline(entries={})
    try:
        return Baseline.model_validate_json(filesystem.read_text(file))
    except ValidationError as error:
        raise CostsError(f"{file.name}: {error.errors()[0]['msg']}; renew it: {UPDATE}") from None


def fingerprint(tool: str) -> tuple[str, str]:
    """This interpreter's release and the key of its entry. Raises :class:`CostsError`."""
    try:
        done = run_module(OWN_PYTHON, "bench.costs.fingerprint", timeout_s=FINGERPRINT_S)
        done.check_returncode()
        found = json.loads(done.stdout)
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        raise CostsError(f"this interpreter has no fingerprint: {error}") from None
    return found["python"], f"{found['digest']} {tool}"


def count(wanted: Mapping[str, tuple[str, ...]]) -> dict[str, float]:
    """Instructions per page of the named backends on each workload, without those that failed."""
    found: dict[str, float] = {}

    def keep(progress: Progress) -> None:
        sample = progress.sample
        if sample.status == "ok":
            key = f"{sample.workload} {sample.backend}"
            found[key] = round(per_page(sample, PAGES)[INSTRUCTIONS], 1)

    for workload, backends in wanted.items():
        options = CostsOptions(
            backends=backends,
            workloads=(workload,),
            instruments=("instructions",),
            pages=PAGES,
            slots=SLOTS,
            seeds=(SEED,),
            source="valgrind",
            jobs=measure.processors(),
        )
        measure.run(options, keep)
    return found


def margin(name: str) -> float:
    """By how much "fetch callbacks" may exceed its baseline."""
    return MARGINS.get(name.partition(" ")[2], MARGIN)


def scattered() -> dict[str, tuple[str, ...]]:
    """Who is counted where and has a margin of its own."""
    found = {
        workload: tuple(who for who in crowd if who in MARGINS) for workload, crowd in CROWD.items()
    }
    return {workload: crowd for workload, crowd in found.items() if crowd}


def exceeding(counted: Mapping[str, float], entry: Entry) -> list[str]:
    """The names whose counts are above the baseline by more than their margins."""
    return [
        name
        for name, value in counted.items()
        if name in entry.instructions and value > entry.instructions[name] * (1 + margin(name))
    ]


def lines(counted: Mapping[str, float], entry: Entry | None) -> list[str]:
    """A line for each count."""
    made = []
    for name, value in counted.items():
        line = f"{name}: {value:,.0f} instructions a page"
        if entry is not None and name in entry.instructions:
            before = entry.instructions[name]
            line += f", {value / before - 1:+.1%} of the baseline's {before:,.0f}"
        made.append(line)
    return made


Count = Callable[[Mapping[str, tuple[str, ...]]], dict[str, float]]


def check(file: Path = FILE, count: Count = count) -> Outcome:
    """Compare this tree with the baseline."""
    tool = instruments.cachegrind()
    if tool.missing is not None:
        return Outcome("not checked", (f"instructions are not checked: {tool.missing}",))
    python, key = fingerprint(tool.tool)
    entry = load(file).entries.get(key)
    counted = count(CROWD)
    if entry is None:
        return Outcome(
            "not checked",
            (
                *lines(counted, None),
                f"no baseline for this interpreter ({python}, {key}): nothing to compare with. "
                f"To add one: {UPDATE}",
            ),
        )
    for _ in range(AGAIN):
        names = exceeding(counted, entry)
        if not names:
            break
        wanted = {
            workload: tuple(who for who in crowd if f"{workload} {who}" in names)
            for workload, crowd in CROWD.items()
        }
        again = count({workload: crowd for workload, crowd in wanted.items() if crowd})
        counted |= {name: min(value, counted[name]) for name, value in again.items()}
    made = lines(counted, entry)
    made += [f"{name}: not counted" for name in entry.instructions if name not in counted]
    if names := exceeding(counted, entry):
        made.append(
            f"a page takes more instructions than the baseline allows: {', '.join(names)}. If that "
            f"is on purpose, renew the baseline and say why in the commit: {UPDATE}"
        )
        return Outcome("more", tuple(made))
    return Outcome("passed", tuple(made))


def update(file: Path = FILE, count: Count = count) -> Outcome:
    """Count, and write the baseline of this interpreter.

    Entries of other interpreters stay only if nothing here got more expensive: otherwise they
    are of other code. Raises :class:`CostsError` where nothing can be counted.
    """
    tool = instruments.cachegrind()
    if tool.missing is not None:
        raise CostsError(f"no baseline can be made: {tool.missing}")
    python, key = fingerprint(tool.tool)
    counted = count(CROWD)
    for _ in range(SCHEDULES - 1):
        for name, value in count(scattered()).items():
            counted[name] = max(value, counted.get(name, 0.0))
    wanted = {f"{workload} {who}" for workload, crowd in CROWD.items() for who in crowd}
    if lost := wanted - counted.keys():
        raise CostsError(f"not counted, so the baseline stays as it is: {', '.join(sorted(lost))}")
    old = load(file).entries if file.exists() else {}
    before = old.get(key)
    stay = before is not None and not exceeding(counted, before)
    others = {other: entry for other, entry in old.items() if other != key}
    entry = Entry(python=python, tool=tool.tool, created=now()[:10], instructions=counted)
    kept = others if stay or before is None else {}
    baseline = Baseline(entries=dict(sorted({**kept, key: entry}.items())))
    filesystem.write_text(file, baseline.model_dump_json(indent=1) + "\n")
    made = [*lines(counted, before), f"written: {file.name}, for {python}"]
    if others and not kept:
        made.append(
            f"{len(others)} entries of other interpreters are gone: they were of other code"
        )
    return Outcome("passed", tuple(made))
