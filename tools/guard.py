"""Does a page of our models take more instructions than it did? Counts compared with a baseline.

  python -m tools.guard              exit code 1 if there are more
  python -m tools.guard --update     renew the baseline of this interpreter

The baseline, ``guard.json``, holds for the builds of interpreters that it names and for no other;
on processors of two makers it differed by 0.4 %. Anything but more instructions passes, with a
message: a machine without valgrind, an interpreter without a baseline, a crawl that failed.
"""

from __future__ import annotations

import json
import platform
from collections.abc import Collection, Mapping
from contextlib import ExitStack, suppress
from math import inf
from pathlib import Path
from subprocess import SubprocessError
from typing import Final

from bench import BenchError, filesystem
from bench.costs import measure
from bench.machine import instruments
from bench.machine.build import python_build
from bench.machine.instruments import INSTRUCTIONS
from bench.study import StudyError
from bench.study.runner import Lost
from crawlers.registry import MODELS
from tools import parser, start

FILE = Path(__file__).with_suffix(".json")
PAGES, SLOTS = 500, 100
MARGIN = 0.02
MARGINS = {"threads": 0.2}
"""By how much a model may exceed its baseline; counts of the same code differ by 0.3 % at most.

Threads take turns as the moment has it, and theirs differ by 6 %.
"""
TRIES: Final = 3
"""What exceeds the baseline is counted so often, and the least counts.

Beside other programs the server answers later. Then a loop finds fewer answers each time that it
waits: ``callbacks`` took 76,845 instructions a page beside a run of the tests, and 75,697 alone.
"""
CROWD: Final[Mapping[str, tuple[str, ...]]] = {"fetch": MODELS, "crawl": ("callbacks",)}
"""Who is counted where: on crawl only the shared parts are new."""
NAMES: Final = [f"{workload} {who}" for workload, crowd in CROWD.items() for who in crowd]
UPDATE = "python -m tools.guard --update"


def interpreter() -> str:
    """The release and build that count alike, and the tool. Raises :class:`StudyError`."""
    tool, built = instruments.cachegrind(), python_build()
    if tool.missing is not None:
        raise StudyError(tool.missing)
    release = f"{platform.python_implementation()} {platform.python_version()}"
    optimised = f"{built['level'] or ''}{' with a profile' if built['pgo'] else ''}"
    return ", ".join([release, str(built["compiler"]), optimised, platform.machine(), tool.tool])


def count(names: Collection[str]) -> dict[str, float]:
    """Instructions per page of some of :data:`NAMES`, without those that failed."""
    counts: dict[str, float] = {}
    tool = instruments.cachegrind()
    with ExitStack() as stack:
        lane = measure.Lane(PAGES, SLOTS, stack)
        for workload, crowd in CROWD.items():
            backends = [who for who in crowd if f"{workload} {who}" in names]
            for program in measure.programs(lane, backends, [workload], [tool]):
                with suppress(Lost):
                    crawled = program.measure(0).crawls[workload]
                    key = f"{workload} {program.name.partition('/')[0]}"
                    counts[key] = round(crawled.per_page()[INSTRUCTIONS], 1)
    return counts


def exceeded(counted: Mapping[str, float], before: Mapping[str, float]) -> list[str]:
    """Whose count is above the baseline by more than the margin."""
    margins = {name: MARGINS.get(name.split()[1], MARGIN) for name in counted}
    return [n for n, value in counted.items() if value > before.get(n, inf) * (1 + margins[n])]


def show(counted: Mapping[str, float], before: Mapping[str, float]) -> None:
    for name in dict.fromkeys((*counted, *before)):
        value, base = counted.get(name), before.get(name)
        words = "not counted" if value is None else f"{value:,.0f} instructions a page"
        if value and base:
            words += f", {value / base - 1:+.1%} of the baseline's {base:,.0f}"
        print(f"{name}: {words}")


def check(file: Path = FILE) -> int:
    """Count, compare and print; returns the exit code."""
    try:
        key, counted = interpreter(), count(NAMES)
        before = json.loads(file.read_text(encoding="utf-8")).get(key, {})
        for _ in range(1, TRIES):
            if names := exceeded(counted, before):
                again = count(names).items()
                counted |= {name: min(n, counted[name]) for name, n in again}
    except (BenchError, OSError, SubprocessError) as error:
        # A machine on which nothing can be counted says nothing about the code.
        print(f"instructions are not checked: {error}")
        return 0
    show(counted, before)
    if not before:
        print(f"no baseline for this interpreter ({key}). To add one: {UPDATE}")
    if names := exceeded(counted, before):
        print(
            f"a page takes more instructions than the baseline allows: {', '.join(names)}. If that "
            f"is on purpose, renew the baseline and say why in the commit: {UPDATE}"
        )
    return int(bool(names))


def update(file: Path = FILE) -> int:
    """Count, and write the baseline of this interpreter; returns the exit code.

    Entries of other interpreters stay only if nothing here got more expensive: otherwise they
    are of other code. Raises :class:`StudyError` where nothing can be counted.
    """
    key, counted = interpreter(), count(NAMES)
    if lost := [name for name in NAMES if name not in counted]:
        raise StudyError(f"not counted, so the baseline stays as it is: {', '.join(lost)}")
    entries = json.loads(file.read_text(encoding="utf-8"))
    before = entries.pop(key, {})
    show(counted, before)
    if entries and exceeded(counted, before):
        print(f"{len(entries)} entries of other interpreters are gone: they were of other code")
        entries = {}
    entries = dict(sorted({**entries, key: counted}.items()))
    filesystem.write_text(file, json.dumps(entries, indent=1) + "\n")
    return 0


def main() -> int:
    known = parser("guard", __doc__)
    known.add_argument("--update", action="store_true", help="renew the baseline")
    return update() if known.parse_args().update else check()


if __name__ == "__main__":
    start(main, "guard")
