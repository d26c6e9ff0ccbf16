"""Whatever is in a field: the records are refused in one line, or every reader can read them."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, Final

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rich.console import Console

from bench import BenchError, store
from bench.analysis.analysis import Analysis
from bench.capacity.advice import Need, advise
from bench.capacity.costs import costs
from bench.questions import analysis_of
from bench.report import cite, comparison, export, files, findings, page, summary
from bench.report.campaigns import numbers
from bench.report.charts import story
from bench.schema import RECORD
from bench.store import StoreError
from bench.talk import slides
from tests.bench.questions.campaigns import BACKENDS, MEASURED
from tests.bench.synthetic import gathered

PLAIN: Final = (None, True, -1, 0, 1, 7, 10**18, 10**30, -0.5, 0.0, 1e-9, 1e11, 1e308)
NESTED: Final[tuple[object, ...]] = ([], {}, [1], [None], {"x": 1})
WORDS: Final = ("", "x", "threads", "none", "lognormal:x", "<b>|`*\n\x1b[31m{x}")
LACKING: Final = object()
ODD: Final = (*PLAIN, *NESTED, *WORDS, float("nan"), LACKING)
"""What is put into a field; the last takes it out."""

Way = tuple[str | int, ...]


def within(value: Any) -> Iterator[Way]:
    """The way to everything in a record, of lists to the first."""
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value[:1]):
        yield (key,)
        if isinstance(inner, dict | list):
            yield from ((key, *way) for way in within(inner))


@cache
def lines_of(question: str) -> list[dict[str, Any]]:
    made = MEASURED[question](backends=BACKENDS, blocks=2)
    return [json.loads(record.model_dump_json()) for record in made]


@cache
def places_of(question: str) -> dict[tuple[str, Way], list[int]]:
    """Kind and way -> the lines that have it."""
    found: dict[tuple[str, Way], list[int]] = {}
    for number, line in enumerate(lines_of(question)):
        for way in within(line):
            found.setdefault((line["kind"], way), []).append(number)
    return found


def put(line: dict[str, Any], way: Way, value: object) -> dict[str, Any]:
    """The line with this value in one place, or without it."""
    changed = copy.deepcopy(line)
    place: Any = changed
    for key in way[:-1]:
        place = place[key]
    if value is LACKING:
        del place[way[-1]]
    else:
        place[way[-1]] = value
    return changed


def read(lines: Iterable[object]) -> Analysis:
    """The analysis of these lines. Raises :class:`StoreError`."""
    dumped = (json.dumps(line).encode() for line in lines)
    made = [store.parse(x, f"trials.jsonl:{n}", RECORD) for n, x in enumerate(dumped, 1)]
    return analysis_of(gathered(made))


def compared(analysis: Analysis) -> None:
    found = comparison.compare(analysis, analysis, force=True)
    comparison.show(found, Console(quiet=True))


def advised(analysis: Analysis) -> None:
    if known := costs(analysis):
        advise(known, Need(connections=5000, rate=2000.0, delay_s=0.2, tls=True))


def quoted(analysis: Analysis) -> None:
    campaign, records = analysis.campaign, analysis.records
    findings.show(analysis, Path(), Console(quiet=True))
    findings.listed(findings.named(analysis).values(), findings.source(analysis))
    cite.text(campaign, "") + cite.bibtex(campaign, "")
    files.record_faults(records) + files.work_faults(records)


READERS: Final[Sequence[Callable[[Analysis], object]]] = (
    *(summary.to_markdown, story, page.trusted, numbers, compared, advised, quoted),
    lambda analysis: export.to_csv(analysis.records),
    lambda analysis: slides.tell(slides.Material(analysis, Path())),
)
"""All that is made of records, without drawing and writing."""


def test_a_backend_that_is_not_its_label_has_a_price() -> None:
    """Pairs are of labels, so ``timeouts`` must not look for their trials by backend."""
    lines = (put(x, ("backend",), "x") if "backend" in x else x for x in lines_of("timeouts"))
    numbers(read(lines))


@settings(max_examples=30, deadline=None, suppress_health_check=[*HealthCheck])
@given(data=st.data())
def test_an_odd_value_is_refused_in_a_line_or_can_be_read(data: st.DataObject) -> None:
    """Several at a time, in one line or in all that have the field; what is refused stays out."""
    question = data.draw(st.sampled_from([*MEASURED]))
    lines, places = [*lines_of(question)], places_of(question)
    one = st.tuples(st.sampled_from([*places]), st.sampled_from(ODD), st.booleans())
    for place, value, everywhere in data.draw(st.lists(one, min_size=1, max_size=12)):
        for number in places[place] if everywhere else places[place][-1:]:
            with suppress(StoreError, LookupError, TypeError):
                changed = put(lines[number], place[1], value)
                store.parse(json.dumps(changed).encode(), "trials.jsonl:1", RECORD)
                lines[number] = changed
    with suppress(StoreError):
        analysis = read(lines)
        for reader in READERS:
            with suppress(BenchError):
                reader(analysis)
