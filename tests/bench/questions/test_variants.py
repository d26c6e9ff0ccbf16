"""Variants: each backend against its baseline, from the records alone; timeouts among them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from bench.analysis import stats
from bench.plan.participants import MAIN_VARIANTS
from bench.questions import against, tls_pages, variants
from bench.questions.timeouts import SUFFIX, WAYS
from bench.schema import Rung, TrialRecord
from bench.show.figures import Bars
from crawlers import registry
from crawlers.registry import about, names
from tests.bench import committed
from tests.bench.questions.campaigns import encrypted, varied
from tests.bench.sure import sure
from tests.bench.synthetic import (
    MODELS,
    altered,
    analysed,
    campaign,
    in_turns,
    replaced,
    rungs,
    where,
)


def test_variants_and_the_table_agree() -> None:
    """One family: the same pair has the same verdict wherever it is shown."""
    analysis = analysed(varied(base="callbacks"))
    found = sure(variants.variants(analysis))
    table = {(c.point, c.label): c.ratio for c in analysis.compare(stats.CPU_PER_1000)}
    (same,) = (label for label, rung in found.about.items() if rung.against == "callbacks")
    assert found.ratios[variants.PAGE][same] == table[found.point, same]


def drawn(ladder: Sequence[Rung]) -> dict[str, set[str]]:
    """Chart -> whom it shows, where these were measured."""
    backends = [rung.name for rung in ladder]
    made = varied(blocks=1, backends=backends, ladder=ladder, workloads=("ladder",))
    figures = sure(variants.answer(analysed(made))).figures
    return {f.name: set(f.data.panels[0].rows) for f in figures if isinstance(f.data, Bars)}


def of_family(rung: Rung, family: str) -> Rung:
    return rung.model_copy(update={"family": family})


def test_stacks_stand_apart_from_models() -> None:
    stacks = ("aiohttp", "httpx")
    made = [rung for rung in rungs((*MODELS, *stacks)) if rung.missing is None]
    shown = drawn([of_family(rung, "stack") if rung.name in stacks else rung for rung in made])
    assert [name for name, labels in shown.items() if "httpx" in labels] == ["variants-stacks"]
    assert "callbacks" in shown["variants"]


def test_every_backend_has_a_chart_with_few_enough_to_read() -> None:
    """With all of asyncio's ways and all other loops on one, lines touched at 16:9."""
    ours = {name: about(name) for name in names()}
    made = [rung for rung in rungs(list(ours)) if rung.name in ours]
    shown = drawn([of_family(rung, ours[rung.name].family) for rung in made]).values()
    assert set().union(*shown) == set(ours) - {"threads"}, "the one without a baseline"
    assert max(map(len, shown)) <= 15, shown


def test_every_main_variant_has_a_way_and_every_way_a_backend() -> None:
    assert set(WAYS) == {*MAIN_VARIANTS, "threads", "async_await"}
    timed = {name for name in registry.names() if name.endswith(SUFFIX)}
    assert timed == {name + SUFFIX for name in WAYS}
    assert all(registry.about(name).against == name.removesuffix(SUFFIX) for name in timed)


OTHERS = ("uvloop", "trio", "aiohttp")
STEPS = (-1.0, 0.5, 0.0, -0.5, 1.0)
"""Of the blocks, about their mean."""


def test_pages_on_new_connections_are_corrected_together() -> None:
    """Each was tested alone: of three that differ in nothing, one in seven was "less"."""

    def opened(trial: TrialRecord) -> Iterator[TrialRecord]:
        yield trial
        if trial.point == "throughput-100" and trial.label == trial.backend:
            # p is 0.03 for uvloop alone, and 1 for the two others
            mean = -0.05 if trial.label == "uvloop" else 0.0
            log = mean + 0.043 * STEPS[trial.block] * (trial.label in OTHERS)
            turned = in_turns(trial, 20 * math.exp(log))
            yield altered(turned, workload="connect", point="connect-100")

    made = campaign(
        backends=("async_await", *OTHERS), blocks=5, workloads=("throughput", "c10k"), samples=30
    )
    found = against.ratios(analysed(replaced(made, opened)))[against.OPENED]
    alone = stats.ratio(
        dict.fromkeys(range(5), 20.0),
        {block: 20 * math.exp(0.043 * step - 0.05) for block, step in enumerate(STEPS)},
        metric=stats.CPU_PER_1000,
    )
    assert alone.shown
    assert found["uvloop"].value == alone.value
    assert found["uvloop"].verdict == "undecided"
    assert against.words(alone).endswith(" %, without an A/A pair)")


def test_intervals_and_other_work_are_named_where_they_are_drawn() -> None:
    """One block has no interval, and nothing said what "other work" is."""
    (figure, *_) = sure(variants.answer(analysed(varied(blocks=1)))).figures
    assert "interval" not in figure.subtitle
    assert variants.UNLIKE not in figure.notes
    (figure, *_) = sure(variants.answer(analysed(varied(blocks=5)))).figures
    assert figure.subtitle.endswith("; lines: 95 % intervals")
    found = sure(variants.answer(committed.analysis("reference"))).figures
    said = {f.name: variants.UNLIKE in f.notes for f in found}
    assert said["variants-stacks"]
    assert not said["variants"]


def test_tls_is_drawn_of_those_who_are_cited_where_no_crawl_is() -> None:
    """All eighteen that shook hands were bars of less than 20 pixels."""
    made = encrypted(workloads=("c10k",))
    other = where(made, lambda t: t.label == "generators", label="tornado", backend="tornado")
    found = sure(tls_pages.answer(analysed(other)))
    (figure,) = found.figures
    assert isinstance(figure.data, Bars)
    assert {*figure.data.panels[0].rows} == {*MODELS} - {"generators"}
