"""Labels: text to value and back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.plan.labels import Label
from bench.plan.tls import WAYS

NAMES = st.from_regex(r"[a-z][a-z0-9_]{0,12}", fullmatch=True)
RELEASES = st.one_of(st.just(""), st.from_regex(r"3\.1[1-4]\.[0-9]t?", fullmatch=True))


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("callbacks", Label("callbacks")),
        ("callbacks#2", Label("callbacks", twin=True)),
        ("callbacks/null", Label("callbacks", null_recorder=True)),
        ("callbacks/asleep", Label("callbacks", asleep=True)),
        ("callbacks/all", Label("callbacks", wide=True)),
        ("callbacks/flipped", Label("callbacks", flipped=True)),
        ("callbacks/tls", Label("callbacks", mode="tls")),
        ("callbacks@3.13.5t", Label("callbacks", "3.13.5t")),
        (
            "callbacks@3.13.5t#2/null",
            Label("callbacks", "3.13.5t", twin=True, null_recorder=True),
        ),
    ],
)
def test_a_label_is_parsed(text: str, label: Label) -> None:
    assert Label.parse(text) == label
    assert str(label) == text
    assert label.backend == text.partition("#")[0].partition("/")[0]
    assert label.recorded == text.partition("/")[0]


FLAGS = (st.booleans(),) * 5
MODES = st.sampled_from(["", *WAYS])


@given(st.builds(Label, NAMES, RELEASES, *FLAGS, MODES))
def test_every_label_survives_as_text(label: Label) -> None:
    assert Label.parse(str(label)) == label
