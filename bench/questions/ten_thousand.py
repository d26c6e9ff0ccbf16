"""Can ten thousand threads crawl?

The crawl of ``crossover`` with 10,000 slots behind a delay of 1 s: the C10K problem, asked of a
client. A crawl that does not end before its deadline is an answer, not a missing value.
"""

from __future__ import annotations

from collections import Counter
from typing import Final

from bench.analysis import stats
from bench.analysis.analysis import Analysis
from bench.analysis.wording import prose, says
from bench.questions.question import Answer, Headline
from bench.show.measured import RATE, Measure, Measured
from bench.text import count, plural
from crawlers.registry import MODELS

NAME: Final = "ten_thousand"
ASKS: Final = "Can ten thousand threads crawl?"
POINT: Final = "crossover-10000x1000ms"
PAGES, ASKED = "pages", "threads"
MEASURES: Final = {
    PAGES: Measure("10,000 slots behind 1 s", "a crawl with 10,000 slots behind 1 s", RATE)
}
PROSE: Final = (
    "10,000 slots behind a delay of 1 s can fetch 10,000 pages per second at most. Every thread "
    "that is ready competes for the interpreter’s lock, and gets a processor of the kernel for "
    "each attempt. To measure it: `python -m bench run --profile reference --only crossover`."
)


def answer(analysis: Analysis) -> Answer | None:
    every = [t for t in stats.trials_of(analysis.records, status=None) if t.point == POINT]
    asked = Counter(t.label for t in every if t.status in ("ok", "failed"))
    values = {
        label: {
            PAGES: {
                t.block: rate
                for t in every
                if t.label == label and t.status == "ok" and (rate := t.pages_per_s)
            }
        }
        for label in analysis.labels
        if asked[label]
    }
    if not values:
        return None
    found = Measured(MEASURES, values)
    return Answer(
        found,
        _headline(found, asked),
        PROSE,
        tables=[found.table("Ten thousand slots", "Pages per second; a dash: none ended in 60 s.")],
    )


def _headline(found: Measured, asked: Counter[str]) -> Headline | None:
    others = found.with_(PAGES, (label for label in MODELS if label != ASKED))
    if not asked[ASKED] or not others:
        return None
    best, most = others[0], found.spread(others[0], PAGES)
    assert most is not None
    ended = found.spread(ASKED, PAGES)
    in_time = ended.count if ended else 0
    trials = plural(asked[ASKED], "trial")
    if ended is None:
        said = f"10,000 threads end no crawl in 60 s ({trials}); {says(best, 'fetch')}"
    else:
        said = f"10,000 threads fetch {count(ended.median)} ({in_time} of {trials}), {prose(best)}"
    return Headline(
        f"With a delay of 1 s, {said} {count(most.median)} pages/s",
        f"{count(most.low)} to {count(most.high)}: lowest and highest of "
        f"{plural(most.count, 'trial')}",
    )
