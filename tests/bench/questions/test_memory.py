"""What only a user's memory of a connection may be used for."""

from __future__ import annotations

import pytest

from bench.capacity import costs
from bench.report import export
from tests.bench.questions.campaigns import encrypted, for_users
from tests.bench.sure import sure
from tests.bench.synthetic import analysed, gathered
from tools.quotes import NotShownError, Numbers


def test_a_user_is_advised_and_quoted_by_user_memory() -> None:
    analysis = analysed(for_users(encrypted()))
    assert {fit.total for fit in analysis.memory.values()} == {None}
    measured = sure(costs.costs(analysis))
    held = [backend.plain for backend in measured.backends if backend.plain]
    assert {memory.in_all for memory in held} == {False}
    assert {memory.each for memory in held} == {fit.user for fit in analysis.memory.values()}
    numbers = Numbers(analysis)
    numbers.group = None  # no published campaign read it either
    with pytest.raises(NotShownError, match="not all"):
        numbers.idle("threads")


def test_the_export_has_the_trials_over_tls() -> None:
    rows = export.table(gathered(encrypted()))
    modes = {row["mode"] for row in rows}
    assert {"plain", "tls", "churn", "handshake", "tickets", None} == modes
    over = {(row["handshakes_full"], row["tls"]) for row in rows if row["mode"] == "handshake"}
    assert over == {(500, "TLS 1.3, ecdsa, no tickets")}
