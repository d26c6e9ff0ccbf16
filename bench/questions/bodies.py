"""How much of a model's cost is left when pages are large?

The kernel copies a large page, and every model waits for that alike. So the same list is fetched
with pages of 2 KB, 64 KB and 1 MB, each backend in turns with the others.
"""

from __future__ import annotations

from dataclasses import replace
from operator import truediv
from typing import Final

from bench.analysis import stats
from bench.analysis.analysis import Analysis
from bench.analysis.stats import Metric, Pair
from bench.analysis.wording import bases, prose
from bench.questions.question import RANGES, Answer, bars, every_two, of_models
from bench.show.measured import TIMES, US, Blocks, Measure, Measured, within
from bench.store import Records

NAME: Final = "bodies"
ASKS: Final = "How much of a model's cost is left when pages are large?"
SIZES: Final = {"fetch-100": "2 KB", "bodies-65536": "64 KB", "bodies-1048576": "1 MB"}
SMALL, *_, LARGE = SIZES.values()
*_, POINT = SIZES
COST: Final = replace(stats.CPU_PER_1000, workloads=(NAME, "fetch"))
HOW: Final = "Processor time of the client per page of a list at 100 slots, in turns"
PROSE: Final = (
    "Pages of a list, fetched and checksummed at 100 slots; the client's processor time. What a "
    "model does for a page it does once, or once for each receive; copying and the checksum grow "
    "with the page and are the same for all. A ratio between models is one of small pages, "
    "unless it names a size. To measure it: `python -m bench run --only fetch-100,bodies`."
)


def pairs(_: Records, metric: Metric) -> list[Pair]:
    return every_two(POINT) if metric is COST else []


def times(size: str) -> str:
    return f"{size} ratio"


def measures(base: str) -> dict[str, Measure]:
    """Microseconds by size, then the ratios to the base."""
    costs = {s: Measure(s, f"a fetched page of {s}, processor time", US) for s in SIZES.values()}
    over = f"over {prose(base)}"
    ratios = {
        times(size): Measure(f"{size} {over}", f"a fetched page of {size} {over}", TIMES)
        for size in SIZES.values()
    }
    return costs | ratios


def measured(analysis: Analysis) -> Measured:
    """Every backend that fetched large pages; those of 2 KB are the pages of ``fetch``."""
    trials = stats.trials_of(analysis.records, *COST.workloads, twins=False)
    companions = stats.companions_of(analysis.records, *COST.workloads)
    costs = stats.block_values(trials, COST)  # ms for 1000 pages: µs for each
    pairs = stats.Values([*trials, *companions], COST)
    values: dict[str, dict[str, Blocks]] = {}
    for label in analysis.labels:
        mine = {s: costs[point, label] for point, s in SIZES.items() if (point, label) in costs}
        if set(mine) - {SMALL}:
            both = {s: pairs.pair(point, analysis.base, label) for point, s in SIZES.items()}
            ratios = {times(s): within(*two[::-1], truediv) for s, two in both.items() if two}
            values[label] = {**mine, **{key: found for key, found in ratios.items() if found}}
    return Measured(measures(analysis.base), values, stats.asleep(trials))


def answer(analysis: Analysis) -> Answer | None:
    found = measured(analysis)
    if not found.values:
        return None
    family = analysis.family(COST)
    compared = family.of(every_two(POINT))
    ratios = {s: family.of((p, analysis.base, x) for x in found.values) for p, s in SIZES.items()}
    notes = [f"{size}: over {bases(mine)}." for size, mine in ratios.items() if mine]
    head = of_models(found, LARGE, f"A {LARGE} page costs", compared=compared)
    table = found.table(
        "Pages of 2 KB, 64 KB and 1 MB",
        f"{HOW}; and the same over the base, within blocks.",
    )
    over = f"processor time per page, times that of {prose(analysis.base)}"
    return Answer(
        found,
        head,
        PROSE,
        tables=[replace(table, notes=[*table.notes, *notes])],
        figures=[
            bars(
                found,
                head,
                NAME,
                f"Processor time per page of {SMALL} and of {LARGE}, over the base",
                HOW,
                {over: (times(SMALL), times(LARGE))},
                (f"a page of {SMALL}", f"a page of {LARGE} (in colour)"),
                notes=[RANGES, *notes],
            )
        ],
    )
