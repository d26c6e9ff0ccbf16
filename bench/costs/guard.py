"""Does a page of our models take more than it did? Counts compared with their baseline.

The baseline, ``baseline.json``, is committed. It holds for the builds of interpreters that it names
and for no other; on processors of two makers it differed by 0.4 %. Anything but more instructions
passes, with a message:
a machine without valgrind, an interpreter without a baseline, a crawl that failed.
"""

from __future__ import annotations

import platform
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from subprocess import SubprocessError
from typing import Final, Literal

from pydantic import ValidationError

from bench import filesystem
from bench.costs import measure
from bench.errors import BenchError
from bench.machine import instruments
from bench.machine.build import python_build
from bench.machine.instruments import INSTRUCTIONS
from bench.schema import Record
from bench.study.record import StudyError
from bench.study.runner import Lost
from bench.text import now
from crawlers.registry import MODELS

FILE = Path(__file__).with_name("baseline.json")
PAGES, SLOTS = 500, 100
MARGIN = 0.02
MARGINS = {"threads": 0.2}
"""By how much a model may exceed its baseline; counts of the same code differ by 0.3 % at most.

Threads take turns as the moment has it, and theirs differ by 5 %.
"""
TRIES: Final = 3
"""What exceeds the baseline is counted so often, and the least counts.

Beside other programs the server answers later. Then a loop finds fewer answers each time that it
waits, and waits more often: ``callbacks`` took 76,845 instructions a page beside a run of the
tests, and 75,697 alone.
"""
CROWD: Final[Mapping[str, tuple[str, ...]]] = {"fetch": MODELS, "crawl": ("callbacks",)}
"""Who is counted where: on crawl only the shared parts are new."""
UPDATE = "python -m bench study costs --update-baseline"

GuardStatus = Literal["passed", "more", "not checked"]
Count = Callable[[], dict[str, float]]


class Entry(Record):
    """The baseline of one interpreter: instructions per page, by "fetch callbacks"."""

    created: str
    instructions: dict[str, float]

    def exceeded(self, counted: Mapping[str, float]) -> list[str]:
        """Whose count is above the baseline by more than the margin."""
        return [
            name
            for name, value in counted.items()
            if name in self.instructions
            and value > self.instructions[name] * (1 + MARGINS.get(name.split()[1], MARGIN))
        ]


class Baseline(Record):
    """The committed file: entries by :func:`interpreter`."""

    entries: dict[str, Entry]


@dataclass(frozen=True, slots=True)
class Outcome:
    status: GuardStatus
    lines: tuple[str, ...]


def load(file: Path = FILE) -> Baseline:
    """The baseline. Raises :class:`StudyError` if the file is damaged."""
    try:
        return Baseline.model_validate_json(filesystem.read_text(file))
    except ValidationError as error:
        raise StudyError(f"{file.name}: {error.errors()[0]['msg']}; renew it: {UPDATE}") from None


def interpreter() -> str:
    """The release and build that count alike, and the tool. Raises :class:`StudyError`."""
    tool, built = instruments.cachegrind(), python_build()
    if tool.missing is not None:
        raise StudyError(tool.missing)
    release = f"{platform.python_implementation()} {platform.python_version()}"
    optimised = f"{built['level'] or ''}{' with a profile' if built['pgo'] else ''}"
    return ", ".join([release, str(built["compiler"]), optimised, platform.machine(), tool.tool])


def count() -> dict[str, float]:
    """Instructions per page of :data:`CROWD`, without those that failed."""
    counts: dict[str, float] = {}
    tool = instruments.cachegrind()
    with ExitStack() as stack:
        lane = measure.Lane(PAGES, SLOTS, stack)
        for workload, backends in CROWD.items():
            for program in measure.programs(lane, backends, [workload], [tool]):
                with suppress(Lost):
                    crawled = program.measure(0).crawls[workload]
                    key = f"{workload} {program.name.partition('/')[0]}"
                    counts[key] = round(crawled.per_page()[INSTRUCTIONS], 1)
    return counts


def lines(counted: Mapping[str, float], entry: Entry | None) -> list[str]:
    lines = []
    for name, value in counted.items():
        line = f"{name}: {value:,.0f} instructions a page"
        if entry is not None and name in entry.instructions:
            before = entry.instructions[name]
            line += f", {value / before - 1:+.1%} of the baseline's {before:,.0f}"
        lines.append(line)
    return lines


def check(file: Path = FILE, count: Count = count) -> Outcome:
    entries = load(file).entries
    try:
        key = interpreter()
        entry, counted = entries.get(key), count()
        for _ in range(1, TRIES):
            if entry and entry.exceeded(counted):
                again = count().items()
                counted = counted | {name: min(n, counted.get(name, n)) for name, n in again}
    except (BenchError, OSError, SubprocessError) as error:
        # A machine on which nothing can be counted says nothing about the code.
        return Outcome("not checked", (f"instructions are not checked: {error}",))
    words = lines(counted, entry)
    if entry is None:
        words.append(
            f"no baseline for this interpreter ({key}): nothing to compare with. "
            f"To add one: {UPDATE}"
        )
        return Outcome("not checked", tuple(words))
    words += [f"{name}: not counted" for name in entry.instructions if name not in counted]
    names = entry.exceeded(counted)
    if names:
        words.append(
            f"a page takes more instructions than the baseline allows: {', '.join(names)}. If that "
            f"is on purpose, renew the baseline and say why in the commit: {UPDATE}"
        )
    return Outcome("more" if names else "passed", tuple(words))


def update(file: Path = FILE, count: Count = count) -> Outcome:
    """Count, and write the baseline of this interpreter.

    Entries of other interpreters stay only if nothing here got more expensive: otherwise they
    are of other code. Raises :class:`StudyError` where nothing can be counted.
    """
    key = interpreter()
    counted = count()
    wanted = {f"{workload} {who}" for workload, crowd in CROWD.items() for who in crowd}
    if lost := wanted - counted.keys():
        raise StudyError(f"not counted, so the baseline stays as it is: {', '.join(sorted(lost))}")
    old = load(file).entries
    before = old.pop(key, None)
    words = [*lines(counted, before), f"written: {file.name}, for {key}"]
    if old and before is not None and before.exceeded(counted):
        words.append(f"{len(old)} entries of other interpreters are gone: they were of other code")
        old = {}
    entry = Entry(created=now()[:10], instructions=counted)
    baseline = Baseline(entries=dict(sorted({**old, key: entry}.items())))
    filesystem.write_text(file, baseline.model_dump_json(indent=1) + "\n")
    return Outcome("passed", tuple(words))
