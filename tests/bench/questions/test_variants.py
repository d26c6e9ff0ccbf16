"""Variants: each backend against its baseline, from the records alone."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from itertools import pairwise
from typing import Any

import pytest

from bench.analysis import stats
from bench.questions import analysis_of, variants
from bench.questions.question import Answer
from bench.report.tables import section
from bench.show.figures import Bars
from bench.store import Records
from crawlers.registry import about, names
from tests.bench.sure import sure
from tests.bench.synthetic import MODELS, campaign, gathered, rungs

BACKENDS = (*MODELS, "uvloop")


@lru_cache
def made(**changes: Any) -> Records:
    values: dict[str, Any] = {
        "backends": BACKENDS,
        "workloads": ("throughput", "c10k", "ladder"),
        "ladder": tuple(rungs(BACKENDS, {"uvloop": 960})),
        "samples": 30,
    }
    return gathered(campaign(**(values | changes)))


def compared(records: Records) -> variants.Variants:
    found = sure(variants.variants(analysis_of(records)))
    return found


def answered(records: Records) -> Answer:
    found = sure(variants.answer(analysis_of(records)))
    return found


def without(records: Records, unwanted: Any) -> Records:
    return replace(records, trials=[t for t in records.trials if not unwanted(t)])


def test_each_variant_is_compared_with_its_baseline() -> None:
    found = compared(made())
    assert list(found.measured.values) == list(BACKENDS)
    assert BACKENDS[0] not in found.cpu
    for base, label in pairwise(BACKENDS):
        ratio, page = found.cpu[label].ratio, found.measured
        expected = page.median(label, "page") / page.median(base, "page")
        assert ratio.value == pytest.approx(expected, rel=0.1)
        assert ratio.shown


def test_variants_and_the_table_agree() -> None:
    """One family: the same pair has the same verdict wherever it is shown."""
    analysis = analysis_of(made(base="callbacks"))
    found = sure(variants.variants(analysis))
    table = {(c.point, c.label): c.ratio for c in analysis.compare(stats.CPU_PER_1000)}
    (same,) = (c for c in found.cpu.values() if c.base == "callbacks")
    assert same.ratio == table[found.point, same.label]


def test_memory_is_compared_within_blocks() -> None:
    for blocks in (2, 6):
        ratio = compared(made(blocks=blocks)).memory[BACKENDS[1]]
        assert ratio.blocks == blocks
        assert (ratio.low is not None) == (blocks >= 5)
        assert ratio.value == pytest.approx(0.16, rel=0.1)


def test_memory_over_tls_is_not_memory_of_the_variant() -> None:
    """Trials that hold as many connections over TLS were mixed in: async_await "took" 313 KiB."""
    plain = made()
    over_tls = [
        trial.model_copy(
            update={
                "workload": "tls-c10k",
                "point": f"tls-{trial.point}",
                "memory": trial.memory.model_copy(
                    update={
                        "held": trial.memory.held.model_copy(
                            update={"user_bytes": 40 * (trial.memory.held.user_bytes or 0)}
                        )
                    }
                ),
            }
        )
        for trial in plain.trials
        if trial.workload == "c10k" and trial.memory
    ]
    assert over_tls
    both = compared(replace(plain, trials=[*plain.trials, *over_tls]))
    assert both.measured == compared(plain).measured


def test_memory_is_shown_where_most_backends_were_measured() -> None:
    """In a full campaign only some hold ten thousand; bars at two numbers do not compare."""
    assert compared(made()).connections == 10_000
    some = compared(
        without(made(), lambda t: t.point == "c10k-10000" and t.label not in MODELS[:2])
    )
    assert some.connections == 5000
    few = without(made(), lambda t: t.workload == "c10k" and t.point != "c10k-100")
    assert compared(few).connections == 100


def test_a_variant_without_its_baseline_has_no_ratio() -> None:
    found = compared(without(made(), lambda t: t.label == "callbacks"))
    assert "generators" in found.measured.values
    assert not any("generators" in mine for mine in found.ratios.values())


def test_nothing_is_claimed() -> None:
    """Its crawls share the caches of one processor."""
    found = answered(made())
    assert found.headline is None
    assert not any(figure.headline for figure in found.figures)


def test_an_old_campaign_has_no_variants() -> None:
    for records in (made(ladder=()), replace(made(), trials=[])):
        assert variants.answer(analysis_of(records)) is None


def test_the_table_lists_every_variant_and_what_did_not_run() -> None:
    (table,) = answered(made()).tables
    text = "\n".join(section(table))
    for label in BACKENDS[1:]:
        assert f"what {label} changes" in text
    assert "Not run: absent: absent needs a library" in text


def drawn(found: Answer) -> dict[str, set[str]]:
    return {f.name: set(f.data.panels[0].rows) for f in found.figures if isinstance(f.data, Bars)}


def test_stacks_stand_apart_from_models() -> None:
    ladder = tuple(
        one.model_copy(update={"family": "stack"}) if one.name in ("aiohttp", "httpx") else one
        for one in rungs((*MODELS, "aiohttp", "httpx"))
    )
    found = answered(made(blocks=1, backends=(*MODELS, "aiohttp", "httpx"), ladder=ladder))
    shown = drawn(found)
    assert [name for name, labels in shown.items() if "httpx" in labels] == ["variants-stacks"]
    assert "callbacks" in shown["variants"]


def test_every_backend_has_a_chart_with_few_enough_to_read() -> None:
    """With all of asyncio's ways and all other loops on one, lines touched at 16:9."""
    ours = {name: about(name) for name in names()}
    ladder = tuple(
        one.model_copy(update={"family": ours[one.name].family})
        for one in rungs(list(ours))
        if one.name in ours
    )
    found = answered(made(blocks=1, backends=tuple(ours), ladder=ladder, workloads=("ladder",)))
    shown = drawn(found).values()
    assert set().union(*shown) == set(ours) - {"threads"}, "the one without a baseline"
    assert max(map(len, shown)) <= 15, shown
