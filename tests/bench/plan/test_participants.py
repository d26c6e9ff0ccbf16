"""Who is measured: labels, from text to value and back, and the backends that can run."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.plan.backends import BackendsError, choose
from bench.plan.participants import Label
from crawlers.backend import Backend

NAMES = st.from_regex(r"[a-z][a-z0-9_]{0,12}", fullmatch=True)
RELEASES = st.one_of(st.just(""), st.from_regex(r"3\.1[1-4]\.[0-9]t?", fullmatch=True))


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("callbacks", Label("callbacks")),
        ("callbacks#2", Label("callbacks", condition="2")),
        ("callbacks/asleep", Label("callbacks", condition="asleep")),
        ("callbacks/tls", Label("callbacks", condition="tls")),
        ("callbacks@3.13.5t", Label("callbacks", "3.13.5t")),
        ("callbacks@3.13.5t#2", Label("callbacks", "3.13.5t", "2")),
    ],
)
def test_a_label_is_parsed(text: str, label: Label) -> None:
    assert Label.parse(text) == label
    assert str(label) == text
    assert label.backend == text.partition("#")[0].partition("/")[0]
    assert label.recorded == text.partition("/")[0]


@given(st.builds(Label, NAMES, RELEASES, st.sampled_from(["", "2", "asleep", "headers=5"])))
def test_every_label_survives_as_text(label: Label) -> None:
    assert Label.parse(str(label)) == label


KNOWN = [
    Backend("threads", "", "", "threads", 10),
    Backend("absent", "", "", missing="install the extra"),
]


def test_what_cannot_run_is_left_out_unless_you_asked_for_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("bench.plan.backends.look_up", lambda names, *pythons: KNOWN)
    assert choose(None) == KNOWN[:1]
    with pytest.raises(BackendsError, match="install the extra"):
        choose(["threads", "absent"])


def test_backends_come_in_the_registrys_order_and_an_unknown_one_is_named() -> None:
    assert [backend.name for backend in choose(["callbacks", "threads"])] == [
        "threads",
        "callbacks",
    ]
    with pytest.raises(BackendsError, match="nonesuch"):
        choose(["threads", "nonesuch"])
