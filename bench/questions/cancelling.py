"""How long does an interrupted crawl take to end?

Times count from the moment when the crawl noticed the interrupt. *Closed* is the later of two
moments: when the call of the crawl returned, and when the server had seen the last connection
end. The control ``bare_close`` closes the same number of sockets and does nothing else, so what
a backend takes beyond it is its own.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Final

from bench.analysis import stats
from bench.analysis.analysis import Analysis
from bench.questions.question import Answer, of_models
from bench.show.figures import Bars, Figure
from bench.show.measured import MS, Blocks, Measure, Measured
from bench.show.words import of_blocks
from bench.text import plural

NAME: Final = "cancel"
ASKS: Final = "How long does an interrupted crawl take to end?"
CONTROL: Final = "bare_close"
PROSE: Final = (
    "Everything is closed when the call of the crawl has returned and the server has seen the "
    "last connection end; a trial that leaves a descriptor, thread, task or connection behind is "
    "void. What takes the time: a thread is woken for each socket and needs the interpreter’s "
    "lock to end; `task.cancel()` resumes each coroutine once more, with an exception; in trio "
    "that exception passes through handlers in Python. The control `bare_close` closes as many "
    "sockets in a loop. To measure it: `python -m bench run --profile reference --only cancel`."
)


def closed(size: int) -> str:
    """The measure of the time until everything is closed."""
    return f"closed-{size}"


def busy(size: int) -> str:
    """The measure of the client's processor time."""
    return f"cpu-{size}"


def measured(analysis: Analysis) -> Measured:
    """Every backend, and the control last, with each number of exchanges in flight."""
    values: dict[str, dict[str, Blocks]] = defaultdict(dict)
    sizes: dict[str, int] = {}
    trials = stats.trials_of(analysis.records, NAME, twins=False)
    controls = [t for t in analysis.records.controls if t.label == CONTROL and t.status == "ok"]
    order = [*stats.labels_of(analysis.records), CONTROL]
    for trial in sorted([*trials, *controls], key=lambda trial: order.index(trial.label)):
        if (found := trial.cancelled) is None:
            continue
        size, mine = found.in_flight, values[trial.label]
        for key, seconds in (
            (closed(size), max(found.returned_s, found.closed_s)),
            (busy(size), found.client_cpu_s),
        ):
            sizes[key] = size
            mine[key] = {**mine.get(key, {}), trial.block: 1000 * seconds}
    measures = {
        key: Measure(
            f"{'all closed' if key == closed(size) else 'client CPU'}, {size:,} in flight",
            f"from an interrupt until all is closed, {plural(size, 'exchange')} in flight"
            if key == closed(size)
            else "… processor time of the client",
            MS,
        )
        for key, size in sorted(sizes.items(), key=lambda item: item[1])
    }
    return Measured(measures, values)


def answer(analysis: Analysis) -> Answer | None:
    """The headline is about the most exchanges that were interrupted in five blocks, if any."""
    found = measured(analysis)
    sizes = sorted({int(key.partition("-")[2]) for key in found.measures})
    if not sizes:
        return None
    enough = [n for n in sizes if min(found.blocks([closed(n)])) >= stats.MIN_BLOCKS]
    size = max(enough or sizes)
    headline = of_models(found, closed(size), f"Interrupting {plural(size, 'exchange')} takes")
    return Answer(
        found,
        headline,
        PROSE,
        tables=[
            found.table(
                "Interrupted crawls",
                "All exchanges were in flight, and the server held the answers. From the moment "
                "when the crawl noticed the interrupt until its call had returned and the server "
                f"had seen the last connection end. {CONTROL} closes sockets in a loop.",
            )
        ],
        figures=[
            Figure(
                name=NAME,
                title="Time until an interrupted crawl has closed everything",
                headline=headline.text if headline else None,
                subtitle="From the moment when the crawl notices the interrupt until its call has "
                "returned and the server has seen the last connection end; median of "
                f"{of_blocks(found.blocks())}",
                data=Bars(
                    [found.panel(plural(n, "exchange"), busy(n), closed(n)) for n in sizes],
                    "processor time of the client",
                    "until everything is closed (in colour)",
                ),
                notes=(
                    "The server held all answers. SIGINT, as Ctrl-C sends it, is noticed at the "
                    "next tick, which comes four times a second in every backend and is not "
                    f"counted. {CONTROL}: sockets that are closed in a loop, the least possible.",
                ),
            )
        ],
    )
