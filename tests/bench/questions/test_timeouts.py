"""What a timeout costs, recounted from made-up variants with a known difference."""

from __future__ import annotations

from bench.plan.participants import MAIN_VARIANTS
from bench.questions.timeouts import SUFFIX, WAYS
from crawlers import registry


def test_every_main_variant_has_a_way_and_every_way_a_backend() -> None:
    assert set(WAYS) == {*MAIN_VARIANTS, "threads", "async_await"}
    timed = {name for name in registry.names() if name.endswith(SUFFIX)}
    assert timed == {name + SUFFIX for name in WAYS}
    assert all(registry.about(name).against == name.removesuffix(SUFFIX) for name in timed)
