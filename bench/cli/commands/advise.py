"""Advise on a backend for your program: processors, processes and memory for your load.

Calculates what each backend needs for it from the costs that a campaign measured. It measures
nothing, and says what it cannot know.

  python -m bench advise --connections 5000 --rate 2000 --delay 200ms --tls --work 1ms
  python -m bench advise --connections 100 --delay 1s     how many pages can these fetch?
  python -m bench advise --rate 500 --work 1ms            one page in ten needs 10 ms of processor
  python -m bench advise --rate 20k --delay 10ms --backends threads,aiohttp
  python -m bench advise results/CAMPAIGN --json          with the costs of your machine

--delay is the time from a request to its answer. --connections are those that you hold open at
once; of these, rate times the time that a page takes are in use. Numbers may end in k or M, and
times need a unit: us, ms, s or min. docs/advice.md explains the model and what it assumes.
"""

from __future__ import annotations

import argparse
import json
import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, fields, replace
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.text import Text

from bench import store, text
from bench.capacity import costs
from bench.capacity.advice import BEYOND, MOST_LOAD, Advice, AdviceRow, Need, advise
from bench.capacity.costs import Costs
from bench.cli import DONE, FAILED, options
from bench.cli.options import N
from bench.launch import RESULTS, shown
from bench.questions import analysis_in
from bench.report import tables
from bench.show.table import MISSING, CellMakers, Column, name, tabled
from bench.text import capital, listing, plural, significant, size_words
from crawlers.registry import PEOPLE

DEFAULT: Final = Need()
MOST: Final = 1e9
"""Connections, pages per second and pages per connection: more is a slip of the pen."""

MOST_S: Final = 86_400.0
SCALES: Final = {"": 1.0, "k": 1e3, "m": 1e6}
SHARES: Final = {"": 1.0, "%": 0.01}
UNITS: Final = {"us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0}
AMOUNT: Final = re.compile(r"(\d+(?:\.\d+)?|\.\d+)\s*([a-zµμ%]*)", re.IGNORECASE | re.ASCII)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    value = partial(options.value, parser.add_argument)
    value("--connections", count, "N", "connections held open at once", DEFAULT.connections)
    value("--rate", rate, "N", "pages per second", shown="as many as one process can do")
    value("--delay", duration, "TIME", "from a request to its answer", DEFAULT.delay_s, "100ms")
    parser.add_argument("--tls", action="store_true", help="over TLS")
    words = "of the processor for an average page, beyond fetching and parsing it"
    value("--work", duration, "TIME", words, DEFAULT.work_s, "none")
    words = "open a new connection every N pages"
    value("--pages-per-connection", count, "N", words, shown="connections are kept")
    words = "of what a processor can do that you plan to use, at most 95%%"
    value("--load", load, "SHARE", words, DEFAULT.load, "70%%")
    words = "ten that people choose between"
    value("--backends", options.names, "A,B", "only these backends", shown=words)
    parser.add_argument("--all", action="store_true", help="every backend of the campaign")
    options.add_campaign(parser, usual="the reference, or the newest")
    options.add_json(parser)


def run(arguments: argparse.Namespace, console: Console) -> int:
    given = vars(arguments) | {"delay_s": arguments.delay, "work_s": arguments.work}
    asked = Need(**{field.name: given[field.name] for field in fields(Need)})
    file = campaign_file(arguments.campaign)
    measured = known(file)
    everything = arguments.all or arguments.json
    advice = advise(weighed(measured, arguments.backends, everything=everything), asked)
    if arguments.json:
        print(json.dumps({**asdict(advice), "answer": answer(advice)}))
    else:
        show(advice, measured, console)
        if file.parent == store.REFERENCE and arguments.campaign is None:
            hint(console)
    return DONE if advice.able else FAILED


def known(file: Path) -> Costs:
    """The costs of a campaign.

    Raises :class:`bench.store.StoreError` where it cannot compare backends.
    """
    measured = costs.costs(analysis_in(file))
    if measured is None:
        raise store.StoreError(
            f"{file.parent}: this campaign compares interpreters, or has no trials; "
            "advice needs one that compares backends"
        )
    if measured.point is None:
        raise store.StoreError(
            f"{file.parent}: this campaign has no crawl that compares what a page takes; measure "
            "one with python -m bench run, or name none to use the reference"
        )
    return measured


def weighed(measured: Costs, named: Sequence[str] | None, *, everything: bool) -> Costs:
    """The costs of the backends as named, of all, or of those that people choose between.

    Raises :class:`bench.store.StoreError` for one that was not measured.
    """
    backends = {backend.name: backend for backend in measured.backends}
    people = [name for name in backends if name in PEOPLE]
    wanted = named or ([] if everything else people) or list(backends)
    if unknown := [name for name in wanted if name not in backends]:
        raise store.StoreError(
            f"not in campaign {measured.campaign}: {', '.join(unknown)}; "
            f"it has {', '.join(sorted(backends))}"
        )
    return replace(measured, backends=[backends[name] for name in wanted])


def campaign_file(given: Path | None) -> Path:
    """The records to read: of the given campaign, of the reference, or of the newest campaign.

    Raises :class:`bench.store.StoreError` where there is none.
    """
    if given is None and store.REFERENCE.is_dir():
        return store.trials_file(store.REFERENCE)
    return store.usual(given)


def hint(console: Console) -> None:
    """Say how to get advice from what your own machine takes, if it has been measured."""
    # The name of a campaign begins with the time. A published one has a word for a name.
    own = sorted(file.parent for file in RESULTS.glob(f"[0-9]*/{store.FILE_NAME}"))
    if own:
        words = f"You have measured this machine too: add {shown(own[-1])}"
        console.print(Text(words, "dim"), soft_wrap=True)


# --- an advice on the terminal: the answer, a table, and what to know about it ------------

WIDTH: Final = 80
LIGHT: Final = 0.1
"""Of a processor: who needs no more than this may choose by other things."""

LEAST: Final = 0.001
"""Of a processor: less is not shown in digits."""


def processors(row: AdviceRow) -> str:
    needed = row.processors or 0.0
    return significant(needed, 3) if needed >= LEAST else f"< {LEAST:g}"


COLUMNS: Final[CellMakers[AdviceRow]] = [
    (name("backend"), lambda row: row.name),
    (Column("group", drop=1), lambda row: str(row.group)),
    (Column("processors"), processors),
    (Column("processes", drop=1), lambda row: text.count(row.processes or 0)),
    (Column("memory"), lambda row: size_words(row.memory_bytes) if row.memory_bytes else MISSING),
    (Column("page", drop=2), lambda row: text.duration((row.total_us or 0.0) / 1000, 3)),
    (Column("pages/s"), lambda row: text.count(row.rate or 0)),  # only where no rate was asked for
]


def show(advice: Advice, costs: Costs, console: Console) -> None:
    console.width = min(WIDTH, console.width)
    console.print(Text(answer(advice), style="bold"))
    columns = COLUMNS if advice.need.rate is None else COLUMNS[:-1]
    tables.show(tabled("", columns, advice.able), console)
    for line in (*_left(advice.rows), *remarks(costs, advice)):
        console.print(Text.assemble(("• ", "dim"), line))
    console.print(
        Text(
            f"From campaign {advice.campaign}: {advice.machine}. These are costs of a client that "
            "fetches pages of 2 KB and follows their links: see docs/advice.md.",
            "dim",
        )
    )


def answer(advice: Advice) -> str:
    able = advice.able
    if not able:
        return "None of these is known to carry it."
    if advice.need.rate is None:
        rates = sorted(row.rate or 0.0 for row in able)
        ends = dict.fromkeys(
            significant(rate, 2).removesuffix(".0") for rate in (rates[0], rates[-1])
        )
        delay = all(row.limit == "connections" for row in able)
        why = "the delay sets the rate" if delay else "the processor, or the delay, sets the rate"
        return f"One process of these fetches about {' to '.join(ends)} pages/s: {why}."
    if len(able) == 1:
        return f"Only {able[0].name} carries it."
    alike = [row for row in able if row.group == 1]
    light = [row for row in able if (row.processors or 0.0) <= LIGHT]
    will_do = max(alike, light, key=len)
    if 2 * len(will_do) <= len(able):
        return f"The least processor time is that of {listing([row.name for row in alike])}."
    rest = [row.name for row in able if row not in will_do]
    share = min(1e6 * advice.need.work_s / (row.total_us or 1.0) for row in will_do)
    used = max(row.processors or 0.0 for row in will_do)
    why = "nothing tells their processor time apart"
    if share >= 0.5:
        why = f"your own work is {math.floor(100 * share)} % of the processor time"
    elif used <= LIGHT:
        why = f"none uses more than {math.ceil(100 * used)} % of what a processor can do"
    but = f" but {listing(rest)}" if rest else ""
    return f"Any of these{but} will do: {why}. Memory decides."


# --- what to know about it ---------------------------------------------------------------


def _left(rows: Sequence[AdviceRow]) -> Iterator[str]:
    # Who does not carry it or is left out, and what was not measured; each thing once.
    names_by_note: dict[str, list[str]] = defaultdict(list)
    for row in rows:
        for note in row.notes if row.can == "yes" else [row.reason]:
            names_by_note[capital(note.removesuffix("."))].append(row.name)
    for note, names in names_by_note.items():
        yield f"{listing(names)}: {note}."


def remarks(costs: Costs, advice: Advice) -> Iterator[str]:
    """What of the need is beyond what was measured, for every row."""
    need = advice.need
    if need.delay_s and 1e3 * need.delay_s >= BEYOND * costs.longest_delay_ms:
        longest = costs.longest_delay_ms
        measured = f"measured up to {text.duration(longest)}" if longest else "measured without one"
        yield f"The delay is {text.duration(1e3 * need.delay_s)}, {measured}."
    if max((row.processes or 1 for row in advice.able), default=1) > costs.processors:
        yield (
            f"More than {plural(costs.processors, 'processor')} were not measured: more "
            "processes are calculated as multiples of one."
        )


# --- how people write a load: 5k, 200ms, 10% ---------------------------------------------


def quantity(
    kind: Callable[[float], N], units: Mapping[str, float], least: float, most: float, words: str
) -> Callable[[str], N]:
    """What reads a number of this range with one of these units; ``words`` name it in errors."""

    def read(text: str) -> N:
        match = AMOUNT.fullmatch(text.strip())
        if match is not None and (unit := match[2].lower()) in units:
            # In decimals: as a float, 95 times 0.01 is more than 0.95.
            value = float(Decimal(match[1]) * Decimal(str(units[unit])))
            if least <= value <= most and kind(value) == value:
                return kind(value)
        raise argparse.ArgumentTypeError(f"must be {words}, not {text!r}")

    return read


rate = quantity(
    float, SCALES, options.ABOVE_0, MOST, "pages per second above 0, such as 2000 or 2k"
)
duration = quantity(
    float, UNITS, 0.0, MOST_S, "a time with its unit, at most a day, such as 250us, 200ms or 1s"
)
load = quantity(
    float, SHARES, options.ABOVE_0, MOST_LOAD, f"a share above 0 and at most {100 * MOST_LOAD:.0f}%"
)
count = quantity(int, SCALES, 1, MOST, "a whole number from 1 to 1,000M, such as 5000 or 5k")
