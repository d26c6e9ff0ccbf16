"""Which backends are measured."""

from __future__ import annotations

import pytest

from bench.plan.backends import BackendsError, choose
from crawlers.backend import Backend

KNOWN = [
    Backend("threads", "threads", 10, "", ""),
    Backend("callbacks", "callbacks", 20, "", ""),
    Backend("absent", "", -1, "", "", missing="install the extra"),
]


def test_backends_are_chosen_in_the_registrys_order() -> None:
    assert choose(KNOWN, None) == ["threads", "callbacks"]
    assert choose(KNOWN, None, usual=["callbacks", "absent", "other"]) == ["callbacks"]
    assert choose(KNOWN, ["callbacks", "threads"]) == ["threads", "callbacks"]
    with pytest.raises(BackendsError, match="unknown backend 'x': choose from threads"):
        choose(KNOWN, ["x"])
    with pytest.raises(BackendsError, match="install the extra"):
        choose(KNOWN, ["absent"])
