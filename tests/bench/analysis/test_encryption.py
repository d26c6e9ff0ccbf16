"""What TLS adds, recounted from made-up records whose additions are known."""

from __future__ import annotations

import pytest

from bench.analysis import encryption_words
from bench.analysis.encryption import encryption
from bench.report import findings
from bench.text import KIB
from tests.bench import synthetic
from tests.bench.encrypted import ADDED, COUNTS, OPENSSL_KIB, PLAIN_US, cost_us, encrypted
from tests.bench.synthetic import KNOWN, MODELS, analysed, gathered

EVERY = (*MODELS, "uvloop", "trio", "aiohttp")


def test_memory_splits_into_plain_openssl_and_the_librarys_part() -> None:
    found = encryption(gathered(encrypted(backends=EVERY)))
    assert [row.label for row in found.held] == list(EVERY)
    for row in found.held:
        assert row.connections is None
        assert row.highest == COUNTS[-1]
        assert row.plain_user == pytest.approx(KNOWN[row.label].user_kib * KIB, rel=0.05)
        assert row.openssl == pytest.approx(OPENSSL_KIB * KIB, rel=0.01)
        known = ADDED[row.label]
        assert row.user == pytest.approx(
            (KNOWN[row.label].user_kib + OPENSSL_KIB + known.library_kib) * KIB, rel=0.05
        )
        assert row.library == pytest.approx(known.library_kib * KIB, abs=2 * KIB)
        assert row.plain_total is not None
        assert row.total - row.kernel == row.user


def test_with_one_number_of_connections_both_are_read_there() -> None:
    """The quick profile holds 1,000 over TLS, and four numbers of plain connections."""
    found = encryption(gathered(encrypted(counts=(1000,))))
    assert {row.connections for row in found.held} == {1000}
    stream = found.of("async_await")
    assert stream is not None
    assert stream.plain_user == pytest.approx(KNOWN["async_await"].user_kib * KIB, rel=0.05)
    assert stream.user == pytest.approx((5.3 + 19 + 275) * KIB, rel=0.05)


def test_without_plain_connections_or_control_there_is_still_a_figure() -> None:
    found = encryption(gathered(encrypted(workloads=("throughput",), control=False)))
    assert {(row.plain, row.openssl, row.library) for row in found.held} == {(None, None, None)}
    assert found.openssl is None
    assert all(row.user > 0 for row in found.held)


def test_connections_over_tls_are_not_mixed_with_plain_ones() -> None:
    plain = analysed(synthetic.campaign(blocks=3, workloads=("c10k",)))
    both = analysed(encrypted(workloads=("c10k",)))
    assert both.memory == plain.memory
    assert both.memory_rows == plain.memory_rows


def test_a_page_is_compared_within_blocks() -> None:
    found = encryption(gathered(encrypted(backends=EVERY)))
    for row in found.pages:
        known = ADDED[row.label]
        assert row.encryption is not None
        assert row.encryption.median == pytest.approx(cost_us(row.label, "tls") / PLAIN_US)
        assert row.handshake is not None
        assert row.handshake.median == pytest.approx(known.handshake_us)
        assert row.resumes == known.resumes
        assert (row.resumption is not None) == known.resumes


def test_the_finding_gives_the_numbers_the_cause_and_the_command() -> None:
    analysis = analysed(encrypted(backends=EVERY))
    text = encryption_words.memory(analysis)
    assert text is not None
    rows = {row.label: row for row in analysis.encryption.held}
    for row in rows.values():
        assert f"`{row.label}` {row.total / KIB:.1f} ({(row.plain_total or 0) / KIB:.1f})" in text
    assert f"{rows['async_await'].total / KIB:.0f}"[:2] in text.partition("**")[2]
    assert "TLS turns the order over" in text
    assert "buffer of 256 KiB" in text
    assert encryption_words.COMMAND in text
    assert "OpenSSL’s own part is 19 KiB" in text
    assert text in findings.findings(analysis)


def test_no_cause_is_given_where_the_records_do_not_show_it() -> None:
    text = encryption_words.memory(analysed(encrypted(backends=("threads", "callbacks"))))
    assert text is not None
    assert "SSLProtocol" not in text
    assert "async/await" not in text


def test_a_campaign_without_tls_has_nothing_to_say_about_it() -> None:
    analysis = analysed(synthetic.campaign(blocks=2))
    assert not analysis.measures_tls
    assert analysis.encryption.held == []
    assert encryption_words.memory(analysis) is None


def test_parity_leaves_modes_out_and_summary_rows_do_not_mix_them() -> None:
    analysis = analysed(encrypted())
    assert not any(row.point.startswith("tls-handshake") for row in analysis.parity.rows)
    assert not any(row.point.startswith(("tls-fetch", "tls-hand")) for row in analysis.rows)
    assert any(trial.point == "tls-fetch-10" for trial in analysis.records.trials)


def test_a_refused_backend_keeps_its_reason() -> None:
    analysis = analysed(encrypted(refused={"uvloop": "no HTTPS: sockets alone"}))
    assert analysis.encryption.refused == {"uvloop": "no HTTPS: sockets alone"}
