"""Advise on a backend for your program: processors, processes and memory for your load.

Calculates what each backend needs for it from the costs that a campaign measured. It measures
nothing, and says what it cannot know.

  python -m bench advise --connections 5000 --rate 2000 --delay 200ms --tls --work 1ms
  python -m bench advise --connections 100 --delay 1s     how many pages can these fetch?
  python -m bench advise --rate 500 --work 10ms --share 10%    one page in ten needs the processor
  python -m bench advise --rate 20k --delay 10ms --backends threads,aiohttp
  python -m bench advise --results results/reference --json

--delay is the time from a request to its answer. --connections are those that you hold open at
once; of these, rate times the time that a page takes are in use. Numbers may end in k or M, and
times need a unit: us, ms, s or min. docs/advice.md explains the model and what it assumes.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, fields, replace
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.text import Text

from bench import store
from bench.capacity import costs, report
from bench.capacity.advice import MOST_LOAD, Need, advise
from bench.capacity.costs import Costs
from bench.cli import DONE, FAILED, options
from bench.launch import RESULTS, shown
from bench.questions import analysis_in
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
    words = "of the processor for each page, beyond fetching and parsing it"
    value("--work", duration, "TIME", words, DEFAULT.work_s, "none")
    words = "of the pages that need the work, such as 10%% or 0.1"
    value("--share", share, "SHARE", words, DEFAULT.share, "all")
    words = "open a new connection every N pages"
    value("--pages-per-connection", count, "N", words, shown="connections are kept")
    words = "of what a processor can do that you plan to use, at most 95%%"
    value("--load", load, "SHARE", words, DEFAULT.load, "70%%")
    value("--backends", options.names, "A,B", "only these", shown="ten that people choose between")
    parser.add_argument("--all", action="store_true", help="every backend of the campaign")
    words = "the reference, or else the newest under results"
    value("--results", Path, "DIR", "a campaign", shown=words)
    options.add_json(parser)


def run(arguments: argparse.Namespace, console: Console) -> int:
    given = vars(arguments) | {"delay_s": arguments.delay, "work_s": arguments.work}
    asked = Need(**{field.name: given[field.name] for field in fields(Need)})
    file = campaign_file(arguments.results)
    measured = known(file)
    everything = arguments.all or arguments.json
    advice = advise(weighed(measured, arguments.backends, everything=everything), asked)
    if arguments.json:
        print(json.dumps({**asdict(advice), "answer": report.answer(advice)}))
    else:
        report.show(advice, measured, console)
        if file.parent == store.REFERENCE and arguments.results is None:
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
            "one with python -m bench run, or leave out --results to use the reference"
        )
    return measured


def weighed(measured: Costs, named: Sequence[str] | None = None, *, everything: bool) -> Costs:
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
        words = f"You have measured this machine too: add --results {shown(own[-1])}"
        console.print(Text(words, "dim"), soft_wrap=True)


# --- how people write a load: 5k, 200ms, 10% ---------------------------------------------


def quantity(
    units: Mapping[str, float], least: float, most: float, words: str, *, whole: bool = False
) -> Callable[[str], float]:
    """What reads a number of this range with one of these units; ``words`` name it in errors."""

    def read(text: str) -> float:
        match = AMOUNT.fullmatch(text.strip())
        if match is not None and (unit := match[2].lower()) in units:
            # In decimals: as a float, 95 times 0.01 is more than 0.95.
            value = float(Decimal(match[1]) * Decimal(str(units[unit])))
            if least <= value <= most and not (whole and value % 1):
                return value
        raise argparse.ArgumentTypeError(f"must be {words}, not {text!r}")

    return read


rate = quantity(SCALES, options.ABOVE_0, MOST, "pages per second above 0, such as 2000 or 2k")
duration = quantity(
    UNITS, 0.0, MOST_S, "a time with its unit, at most a day, such as 250us, 200ms or 1s"
)
share = quantity(SHARES, options.ABOVE_0, 1.0, "a share above 0 and at most 1, such as 0.1 or 10%")
load = quantity(
    SHARES, options.ABOVE_0, MOST_LOAD, f"a share above 0 and at most {100 * MOST_LOAD:.0f}%"
)
whole = quantity(
    SCALES, 1.0, MOST, "a whole number from 1 to 1,000M, such as 5000 or 5k", whole=True
)


def count(text: str) -> int:
    return int(whole(text))
