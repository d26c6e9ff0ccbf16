"""An earlier campaign against a later one: what was wrong, what was blind, and in what words."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.analysis import changed, changed_words, findings, past, stats
from bench.analysis.analysis import Analysis
from bench.analysis.stats import Ratio
from bench.schema import AnyRecord, TrialRecord
from bench.schema.past import PastCampaign, PastClaim, PastRatio
from bench.store import StoreError
from tests.bench.synthetic import analysed, campaign

SHOWN = {stats.CPU_PER_1000.more, stats.CPU_PER_1000.less}


def made(scale: dict[str, float] | None = None, **how: object) -> list[AnyRecord]:
    """A campaign without effects, but those in ``scale``: backend -> factor of its speed."""
    values: dict[str, object] = {
        "blocks": 8, "effects": False, "noise": 0.004, "drift": 0.0, "base": "callbacks",
        "twin": "callbacks", "workloads": ["throughput"],
    }  # fmt: skip
    lines = campaign(**(values | how))  # type: ignore[arg-type]
    return [scaled(line, scale or {}) for line in lines]


def scaled(line: AnyRecord, scale: dict[str, float]) -> AnyRecord:
    if not isinstance(line, TrialRecord) or line.pages_per_s is None or line.cpu is None:
        return line
    factor = scale.get(line.backend, 1.0)
    cpu = line.cpu.model_copy(
        update={
            "client_user_s": line.cpu.client_user_s / factor,
            "client_system_s": line.cpu.client_system_s / factor,
        }
    )
    return line.model_copy(update={"pages_per_s": line.pages_per_s * factor, "cpu": cpu})


def compared(
    then: Analysis, now: Analysis, documents: dict[str, str] | None = None
) -> changed.Changes:
    return changed.changes(past.condense(then, documents), now)


def kinds(found: changed.Changes, label: str) -> set[str]:
    return {c.kind for c in found.every if c.then.label == label and c.then.base == "callbacks"}


def test_a_campaign_confirms_itself() -> None:
    one = analysed(made({"threads": 0.6}))
    found = compared(one, one)
    assert found.every
    assert {c.kind for c in found.every} <= {"confirmed", "open"}
    assert not any(c.apart for c in found.every)
    text = changed_words.markdown(found)
    assert "wrong" not in text
    assert "What else is not the same" not in text


def test_a_difference_of_another_size_and_one_that_is_not_there_are_wrong() -> None:
    then = analysed(made({"threads": 0.6, "generators": 0.7, "async_await": 0.8}))
    now = analysed(made({"threads": 0.3, "async_await": 1.25}, seed=2))
    found = compared(then, now)
    assert kinds(found, "threads") == {"size"}
    assert kinds(found, "generators") == {"gone"}
    assert kinds(found, "async_await") == {"reversed"}
    assert "more than the noise has changed" in changed_words.paragraph(found)


def test_what_was_undecided_is_blind_and_not_wrong() -> None:
    then = analysed(made(noise=0.15, seed=3))
    now = analysed(made({"threads": 0.9}, seed=4))
    found = compared(then, now)
    assert "seen" in kinds(found, "threads")
    assert not found.of(*changed.WRONG)
    paragraph = changed_words.paragraph(found)
    assert "undecided, which reads as no difference. Of these, " in paragraph
    assert "The noise floor went from ±" in paragraph


def test_an_equivalence_that_does_not_hold_is_wrong() -> None:
    found = compared(analysed(made()), analysed(made({"threads": 0.8}, seed=2)))
    assert kinds(found, "threads") == {"unequal"}


def test_only_figures_that_a_document_quotes_are_called_published() -> None:
    lines = made({"threads": 0.6, "async_await": 0.7})
    then, now = analysed(lines), analysed(made({"threads": 0.3, "async_await": 0.3}, seed=2))
    (question,) = [q for q in findings.QUESTIONS if q.metric is stats.PAGES_PER_S]
    told = findings.answer(then, question)
    assert told
    found = compared(then, now, {"README.md": f"# Us\n- {told}\n", "docs/other.md": "nothing"})
    quoted = changed.published(found.every)
    assert {(c.metric.name, c.then.point) for c in quoted} == {("pages_per_s", "throughput-100")}
    assert {c.then.label for c in quoted} >= {"threads", "async_await"}
    text = changed_words.markdown(found)
    assert "**Published, and wrong**" in text
    assert "- README.md: `threads` fetches 40 % fewer pages per second than `callbacks`" in text
    assert changed.published(compared(then, now).every) == []


def test_an_interval_in_a_document_is_found_by_its_figures() -> None:
    then = analysed(made({"threads": 0.6}))
    one = next(c for c in then.compare(stats.CPU_PER_1000) if c.label == "threads")
    told = past.figures(one)[0]

    def published(text: str) -> set[tuple[str, str]]:
        ratios = past.condense(then, {"docs/findings.md": text}).ratios
        return {(r.metric, r.label) for r in ratios if r.published}

    assert published(f"`threads` took {told} times the time of\n`callbacks`") == {
        ("cpu_ms_per_1000", "threads")
    }
    assert published(f"`threads` and\n`callbacks`\n\nSomething else took {told}") == set()


def test_other_work_is_named_beside_the_figure_it_may_explain() -> None:
    def faulty(lines: list[AnyRecord], each: float) -> Analysis:
        return analysed(
            line.model_copy(update={"extra": {**line.extra, "page_faults": each * line.pages}})
            if isinstance(line, TrialRecord) and line.backend == "async_await" and line.pages
            else line
            for line in lines
        )

    then = faulty(made({"async_await": 0.8}), 0.1)
    now = faulty(made({"async_await": 0.4}, seed=2), 2.2)
    found = compared(then, now)
    ((label, faults),) = changed.other_work(found.every).items()
    assert label == "async_await"
    assert faults == pytest.approx((0.1, 2.2))
    text = changed_words.markdown(found)
    assert "`async_await`: 0.1 page faults per page then, 2.2 now." in text
    assert "concern `async_await`, which do other work per page now" in text


def test_a_cheaper_base_and_a_server_that_polls_are_named() -> None:
    def polling(line: AnyRecord) -> AnyRecord:
        if not isinstance(line, TrialRecord):
            return line
        return line.model_copy(update={"extra": {**line.extra, "server_polls": 1.0}})

    then = analysed(made())
    now = analysed([polling(line) for line in made({"callbacks": 2.0}, seed=2)])
    found = compared(then, now)
    text = changed_words.markdown(found)
    assert (
        "The server slept between requests in the earlier campaign and polled in the later" in text
    )
    before, after = found.past.base_ms["throughput-100"], found.now.base_ms["throughput-100"]
    assert after == pytest.approx(before / 2, rel=0.02)
    assert f"took {before:.1f} ms" in text
    assert "a larger share" in text
    elsewhere = replace(found, past=found.past.model_copy(update={"machine": "another"}))
    assert "a larger share" not in changed_words.markdown(elsewhere)


def test_claims_are_compared_by_their_verdicts() -> None:
    page = (
        "# Claims\n| claim | then | now | verdict |\n| --- | --- | --- | --- |\n"
        "| [One](#one) | – | 2 times | not reproduced here |\n"
        "| [Two](#two) | 3 KiB | 2 KiB<br>4 KiB | reproduced here if small; not if large |\n"
        "\n## Details\n| [Three](#three) | – | 1 | inside a claim |\n"
    )
    kept = past.condense(analysed(made()), {"docs/claims.md": page})
    assert kept.claims == [
        PastClaim(title="One", verdict="not reproduced here"),
        PastClaim(title="Two", verdict="reproduced here if small; not if large"),
    ]
    lines = changed_words.claims_lines(kept, {"One": "reproduced here", "Two": "undecided"})
    assert lines[0] == "*One*: not reproduced here. Now: reproduced here."
    assert len(changed_words.claims_lines(kept, {"One": "not reproduced here"})) == 0


def test_what_is_kept_is_small_and_reads_back(tmp_path: Path) -> None:
    kept = past.condense(analysed(made({"threads": 0.6})), {"README.md": "nothing"})
    file = tmp_path / "kept.json"
    file.write_text(past.dump(kept))
    assert past.load(file) == kept
    assert len(past.dump(kept)) < 200 * len(kept.ratios) + 4000
    file.write_text('{"kind": "past", "schema_version": 9}')
    with pytest.raises(StoreError, match="schema version 9"):
        past.load(file)
    file.write_text('{"kind": "past", "schema_version": 1}')
    with pytest.raises(StoreError, match="not a valid record"):
        past.load(file)


def test_nothing_in_common_is_said() -> None:
    kept = past.condense(analysed(made()))
    found = changed.changes(kept.model_copy(update={"ratios": []}), analysed(made(seed=2)))
    assert "no verdict can be checked" in changed_words.paragraph(found)


VALUES = st.tuples(st.floats(0.2, 5.0), st.floats(0.001, 0.5), st.sampled_from(["shown", "not"]))


def pair(value: float, half: float, kind: str) -> tuple[PastRatio, Ratio]:
    """The same ratio as an earlier and as a later campaign holds it."""
    low, high = value * math.exp(-half), value * math.exp(half)
    metric = stats.CPU_PER_1000
    verdict = "undecided"
    if low > 1 or high < 1:
        verdict = metric.more if value > 1 else metric.less
    elif kind == "shown":
        verdict = "equivalent"
    then = PastRatio(
        metric=metric.name, point="p", base="a", label="b", value=value, low=low, high=high,
        verdict=verdict,
    )  # fmt: skip
    return then, Ratio(value, low, high, 8, 0.5, (), verdict, "", None)


@given(VALUES, VALUES)
def test_the_judgement_does_not_depend_on_the_side_it_is_seen_from(
    first: tuple[float, float, str], second: tuple[float, float, str]
) -> None:
    (then, _), (_, now) = pair(*first), pair(*second)
    kind = changed.judge(then, now)
    assert kind in get_args(changed.Kind)
    turned = now.inverse(stats.CPU_PER_1000)
    (swapped, _) = pair(1 / then.value, first[1], first[2])
    assert changed.judge(swapped, turned) == kind
    if kind == "confirmed":
        assert not changed.disjoint(then, now) or then.verdict == now.verdict == "equivalent"
    if kind in ("size", "reversed", "confirmed") and then.verdict in SHOWN:
        assert now.shown
    assert changed.judge(then, replace(now, verdict="undecided")) != "reversed"


@pytest.mark.parametrize(
    ("seconds", "words"), [(None, ""), (61.0, ", 1 minute"), (1620.0, ", 27 minutes")]
)
def test_how_long_a_campaign_took_is_counted_in_words(seconds: float | None, words: str) -> None:
    made: dict[str, Any] = {"wall_s": seconds}
    one = PastCampaign.model_construct(**made)
    assert changed_words.took(one) == words


def test_the_build_of_an_interpreter_is_told_in_words() -> None:
    """It said "level -O3, pgo False"."""
    one = past.condense(analysed(made()))
    build = {"level": "-O3", "pgo": "False", "lto": "True"}
    assert changed_words.build(replace_build(one, build)) == "-O3, no PGO, LTO"
    assert changed_words.build(replace_build(one, {})) == "its build was not recorded"


def replace_build(one: PastCampaign, build: dict[str, str]) -> PastCampaign:
    return one.model_copy(update={"build": build})
