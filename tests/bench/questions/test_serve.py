"""Servers under load, in made-up records."""

from __future__ import annotations

from typing import Any

from bench.questions import serve
from bench.schema import AnyRecord
from tests.bench.altered import where
from tests.bench.costed import US, costed
from tests.bench.sure import sure
from tests.bench.synthetic import MODELS, analysed


def loaded(label: str = "", point: str = "", **update: Any) -> list[AnyRecord]:
    """A campaign of servers under load, in which something is different for one of them."""
    lines = costed(serve.COLUMNS, lambda name, key: US[name] + len(key), blocks=5)
    return where(lines, lambda t: t.label == label and point in ("", t.point), **update)


def test_without_the_floor_nothing_is_compared_with_it() -> None:
    lines = [line for line in loaded() if getattr(line, "label", "") != "bare"]
    found = serve.measured(analysed(lines))
    assert list(found.values) == list(MODELS)
    assert not found.with_("over", MODELS)


def test_a_load_that_was_the_limit_is_named() -> None:
    answer = sure(serve.answer(analysed(loaded("callbacks", "serve-10", limiter="client"))))
    (warning,) = answer.warnings
    assert "The load was slower than callbacks at 10 connections: " in warning
    assert sure(answer.headline).text.startswith("On one processor, serving a request costs ")
    assert "Every server ran on one processor, threads as well." in answer.tables[0].about


def test_a_server_on_several_processors_is_named() -> None:
    """One word, ``threads``, was two processors as a client and one as a server."""
    lines = loaded("threads", pinning={"client": [0], "server": [1, 2]})
    answer = sure(serve.answer(analysed(lines)))
    assert sure(answer.headline).text.startswith("Serving a request costs ")
    said = "Every server ran on one processor, but threads on 2 processors."
    assert said in answer.tables[0].about
    assert said in answer.figures[0].subtitle
