"""Labels: text to value and back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.plan.labels import Label

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
