"""The models follow RFC 9112, and the page about the HTTP stacks is up to date."""

from __future__ import annotations

import pytest

from crawlers import registry
from tests.crawlers.backends import load, models
from tests.torture import framing


@pytest.fixture(scope="module")
def page() -> list[str]:
    return framing.PAGE.read_text().splitlines()


def column(page: list[str], place: int) -> list[str]:
    """The cells of a column of the page's table, in its order."""
    return [line.split(" | ")[place].strip("*| ") for line in page if line.startswith("| ")][2:]


@models
def test_a_model_follows_the_rfc(name: str, page: list[str]) -> None:
    found = framing.outcomes(name)
    assert [
        case.name for case in framing.CASES if not framing.allowed(case, found[case.name])
    ] == []
    assert list(found.values()) == column(page, 2)


OTHERS = [
    name
    for name in registry.names()
    if name not in (*registry.MODELS, "processes")
    and not registry.about(name).alone
    and registry.about(name).family != "stack"
]


@pytest.mark.slow
@pytest.mark.parametrize("name", OTHERS)
def test_every_variant_of_a_model_reads_like_the_models(name: str, page: list[str]) -> None:
    load(name)
    assert list(framing.outcomes(name).values()) == column(page, 2)


@pytest.mark.slow
@pytest.mark.parametrize("name", framing.STACKS)
def test_the_page_says_what_a_stack_does(name: str, page: list[str]) -> None:
    """Only where the versions of the page are installed: other releases may differ."""
    load(name)
    if framing.versions() not in " ".join(page):
        pytest.skip(f"other versions than on the page: {framing.versions()}")
    found = list(framing.outcomes(name).values())
    assert found == column(page, 3 + framing.STACKS.index(name))
