"""What an idle connection takes, recounted from made-up records whose sizes are known."""

from __future__ import annotations

from typing import Any

import pytest

from bench.capacity import model
from bench.questions import memory
from bench.questions.question import Answer
from bench.report import export, findings
from bench.schema import AnyRecord, TrialRecord
from bench.show.figures import Bars, Figure, Lines, Stack
from bench.show.table import text_of
from bench.text import KIB, MIB
from tests.bench.altered import altered, replaced
from tests.bench.encrypted import ADDED, COUNTS, OPENSSL_KIB, encrypted
from tests.bench.sure import sure
from tests.bench.synthetic import KNOWN, MODELS, analysed, campaign, gathered
from tools.quotes import NotShownError, Numbers

EVERY = (*MODELS, "uvloop", "trio", "aiohttp")
FULL = analysed(encrypted(backends=EVERY))
HELD = campaign(blocks=5, samples=20, workloads=("c10k",))


def answered(lines: list[AnyRecord]) -> Answer:
    found = sure(memory.answer(analysed(lines)))
    return found


def bars_of(figure: Figure) -> dict[str, list[Stack]]:
    """The bars of its first panel."""
    assert isinstance(figure.data, Bars)
    rows = figure.data.panels[0].rows.items()
    return {label: [bar for bar in row if isinstance(bar, Stack)] for label, row in rows}


def test_the_headline_has_both_ends_with_their_intervals() -> None:
    headline = sure(answered(HELD).headline)
    assert headline.text == (
        "An idle connection uses 53.9 KiB with threads and 8.8 KiB with callbacks"
    )
    assert (
        "95 % intervals of the fitted slopes, 20 runs with 4 numbers of connections"
        in headline.behind
    )
    (pair,) = headline.pairs
    assert (pair.label, pair.base) == ("threads", "callbacks")
    assert 1 < (pair.ratio.low or 0) < (pair.ratio.value or 0) < (pair.ratio.high or 0)


def test_a_slope_says_of_how_many_runs_it_is_made() -> None:
    """ "From at least 1 block" was four readings, and nobody knew."""
    lines = [t for t in HELD if not isinstance(t, TrialRecord) or t.block == 0 or t.memory is None]
    once = sure(answered(lines).headline).behind
    assert once.endswith("slopes, 4 runs with 4 numbers of connections")
    small = [
        t
        for t in HELD
        if not isinstance(t, TrialRecord) or t.block == 0 or t.params["slots"] == 100
    ]
    uneven = sure(answered(small).headline).behind
    assert uneven.endswith("slopes, 8 runs with 4 numbers of connections")
    behind = answered(FULL.records.all).findings(memory.NAME)["tls-memory"]
    assert f"{3 * len(COUNTS)} runs with {len(COUNTS)} numbers of connections)" in behind


def test_table_and_figures_have_the_numbers_of_the_records() -> None:
    answer = answered(HELD)
    (table,), (by_owner, grown) = answer.tables, answer.figures
    row = next(row for row in table.rows if row[0] == "threads")
    found = dict(zip(table.header, map(text_of, row), strict=True))
    known = {"kernel stacks": 16, "total": 54, "fixed MiB": 21.2}
    for column, value in known.items():
        assert float(found[column]) == pytest.approx(value, rel=0.1)
    (bar,) = bars_of(by_owner)["threads"]
    assert bar.interval is not None
    assert bar.interval[0] <= bar.total <= bar.interval[1]
    assert bar.total == pytest.approx(54, rel=0.05)
    assert "4 numbers of connections up to 10,000" in by_owner.subtitle
    # Ten thousand of them are ten thousand times one, in the picture that is named after them.
    assert isinstance(grown.data, Lines)
    (plot,) = grown.data.plots
    assert plot.dashed["threads"][-1].y.median * MIB == pytest.approx(10_000 * bar.total * KIB)
    assert sure(grown.headline).startswith("10,000 idle connections use 530 MiB with threads and")


def changed(what: str, held: Any, **more: Any) -> list[AnyRecord]:
    """The campaign, with another value for a part of the memory of threads, by connection."""

    def other(line: TrialRecord) -> TrialRecord:
        if not line.memory or line.label != "threads":
            return line
        value = held and held * line.memory.connections
        values = {f"memory__{name}": value_ for name, value_ in more.items()}
        return altered(line, **values, **{f"memory__held__{what}": value})

    return replaced(HELD, other)


def test_memory_that_was_calculated_is_hatched() -> None:
    sources = {"send_buffer_bytes": "calculated: threads that sent × 32 KiB"}
    figure = answered(changed("send_buffer_bytes", 32 * KIB, sources=sources)).figures[0]
    (bar,) = bars_of(figure)["threads"]
    assert bar.hatched == ("send buffers",)


def test_a_part_that_was_not_read_is_missing_and_makes_no_total() -> None:
    answer = answered(
        changed("kernel_socket_bytes", None, reasons={"kernel_socket_bytes": "needs root"})
    )
    (table,) = answer.tables
    assert "Missing: kernel sockets: needs root" in table.notes
    assert "Not in the bars: kernel sockets: needs root." in answer.figures[0].notes
    assert sure(answer.headline).text == (
        "An idle connection uses 22.2 KiB of user memory with threads and 2.6 KiB with callbacks"
    )
    assert "user space alone" in answer.prose
    assert answer.figures[0].title == "User memory per connection"
    bars = bars_of(answer.figures[0]).values()
    assert {part for stacks in bars for stack in stacks for part in stack.parts} == {"user"}
    total = table.header.index("total")
    assert [text_of(row[total]) for row in table.rows if row[0] == "threads"] == ["–"]


def for_users(lines: list[AnyRecord], **of_callbacks: int) -> list[AnyRecord]:
    """The records as a user has them, who cannot read slabinfo."""
    lacks: dict[str, int | None] = {"kernel_socket_bytes": None, "kernel_other_bytes": None}

    def less(line: TrialRecord) -> TrialRecord:
        parts = lacks | (of_callbacks if line.label == "callbacks" else {})
        seen = {f"memory__held__{name}": value for name, value in parts.items()}
        return altered(line, **seen) if line.memory else line

    return replaced(lines, less)


def test_no_ratio_is_formed_to_a_connection_that_takes_nothing() -> None:
    start = next(
        line.memory.before.user_bytes or 0
        for line in HELD
        if isinstance(line, TrialRecord) and line.label == "callbacks" and line.memory
    )
    headline = sure(answered(for_users(HELD, user_bytes=start)).headline)
    assert headline.text == "An idle connection uses 22.2 KiB of user memory with threads"
    assert headline.pairs == ()
    few = [line for line in HELD if not isinstance(line, TrialRecord) or line.point == "c10k-10000"]
    text = sure(answered(for_users(few, user_bytes=start)).headline).text
    assert "of user memory with threads and less than 0.1 KiB with callbacks" in text


def test_a_user_sees_user_memory_everywhere() -> None:
    lines = for_users(encrypted(backends=EVERY))
    analysis = analysed(lines)
    assert {fit.total for fit in analysis.memory.values()} == {None}
    said = answered(lines).findings(memory.NAME)["tls-memory"]
    assert "of user memory with async/await" in said
    assert said in findings.named(analysis).values()
    row = memory.measured(analysis).over_tls["trio"]
    assert (row.fit.total, row.plain_total, row.fit.interval) == (None, None, None)
    (figure,) = (each for each in answered(lines).figures if each.name == "tls-memory")
    assert isinstance(figure.data, Bars)
    assert "user memory" in figure.data.panels[0].axis
    assert not any("kernel" in bar.parts for pair in bars_of(figure).values() for bar in pair)
    costs = sure(model.costs(analysis))
    held = [each.plain for each in costs.backends if each.plain]
    assert {(each.kernel, each.fixed_kernel, each.in_all) for each in held} == {(0.0, 0.0, False)}
    numbers = Numbers(analysis)
    numbers.group = None  # no published campaign read it either
    with pytest.raises(NotShownError, match="not all"):
        numbers.idle("threads")


def test_over_tls_memory_splits_into_plain_openssl_and_the_librarys_part() -> None:
    found = memory.measured(FULL).over_tls
    (figure,) = (f for f in answered(FULL.records.all).figures if f.name == "tls-memory")
    assert list(found) == list(EVERY)
    for label, row in found.items():
        assert (row.at, row.highest) == (None, COUNTS[-1])
        own, known = KNOWN[label].user_kib, ADDED[label].library_kib
        assert row.plain_user == pytest.approx(own * KIB, rel=0.05)
        assert row.openssl == pytest.approx(OPENSSL_KIB * KIB, rel=0.01)
        assert row.user == pytest.approx((own + OPENSSL_KIB + known) * KIB, rel=0.05)
        assert row.library == pytest.approx(known * KIB, abs=2 * KIB)
        above, below = bars_of(figure)[label]
        assert (above.name, below.name) == ("plain", "TLS")
        assert below.total * KIB == pytest.approx(row.fit.total)
        assert above.total * KIB == pytest.approx(row.plain_total)


def test_with_one_number_of_connections_both_are_read_there() -> None:
    """The quick profile holds 1,000 over TLS, and four numbers of plain connections."""
    lines = encrypted(counts=(1000,), pages=False)
    found = memory.measured(analysed(lines)).over_tls
    assert {row.at for row in found.values()} == {1000}
    stream = found["async_await"]
    assert stream.plain_user == pytest.approx(KNOWN["async_await"].user_kib * KIB, rel=0.05)
    assert stream.user == pytest.approx((5.3 + 19 + 275) * KIB, rel=0.05)
    answer = answered(lines)
    (figure,) = (each for each in answer.figures if each.name == "tls-memory")
    assert figure.subtitle.startswith("At 1,000 connections, divided by their number")
    assert "in 3 trials each** (no interval" in answer.findings("memory")["tls-memory"]


def test_without_plain_connections_or_control_there_is_still_a_figure() -> None:
    found = memory.measured(analysed(encrypted(workloads=("throughput",), control=False)))
    rows = found.over_tls.values()
    assert {(row.plain_total, row.openssl, row.library) for row in rows} == {(None, None, None)}
    assert all(row.user > 0 for row in rows)


def test_connections_over_tls_are_not_mixed_with_plain_ones() -> None:
    plain = analysed(campaign(blocks=3, workloads=("c10k",)))
    assert analysed(encrypted(workloads=("c10k",))).memory == plain.memory
    assert not answered(HELD).details
    assert not any(row.point.startswith(("tls-fetch", "tls-hand")) for row in FULL.rows)
    assert not any(point.startswith("tls-handshake") for point in FULL.equal_work.points)


def test_the_export_has_the_trials_over_tls() -> None:
    rows = export.table(gathered(encrypted()))
    modes = {row["mode"] for row in rows}
    assert {"plain", "tls", "churn", "handshake", "tickets", None} == modes
    over = {(row["handshakes_full"], row["tls"]) for row in rows if row["mode"] == "handshake"}
    assert over == {(500, "TLS 1.3, ecdsa, no tickets")}
