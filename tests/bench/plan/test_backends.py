"""Which backends are measured."""

from __future__ import annotations

import pytest

from bench import BenchError
from bench.plan.backends import choose
from crawlers.backend import Backend

KNOWN = [
    Backend("threads", "", "", "threads", 10),
    Backend("absent", "", "", missing="install the extra"),
]


def test_what_cannot_run_is_left_out_unless_you_asked_for_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("bench.plan.backends.look_up", lambda names, *pythons: KNOWN)
    assert choose(None) == KNOWN[:1]
    with pytest.raises(BenchError, match="install the extra"):
        choose(["threads", "absent"])


def test_backends_come_in_the_registrys_order_and_an_unknown_one_is_named() -> None:
    assert [backend.name for backend in choose(["callbacks", "threads"])] == [
        "threads",
        "callbacks",
    ]
    with pytest.raises(BenchError, match="nonesuch"):
        choose(["threads", "nonesuch"])
