"""The trace of a crawl: its turns belong to the slots of the model, and tell where they wait."""

from __future__ import annotations

import sys
import threading
from importlib import import_module
from pathlib import Path
from statistics import median
from xml.etree import ElementTree

import pytest

from crawlers import steps
from crawlers.catalogue import MODELS
from crawlers.chapter import judge, trace

SLOTS = 3
WAITS = {  # in which functions a slot waits
    "threads": {"take", "connect", "fetch"},
    "callbacks": set(),
    "generators": {"take", "connect", "receive"},
    "async_await": {"take", "connect", "fetch"},
}


@pytest.fixture(scope="module")
def url() -> object:
    with judge.serving("tree:5:4:1024") as site:
        judge.call(site, "/reset", {"delay": "fixed:20"})
        yield f"http://{site['listening']}/"


@pytest.mark.parametrize("model", MODELS)
def test_every_slot_has_control_and_waits_where_the_model_waits(model: str, url: str) -> None:
    turns = trace.trace(import_module(f"crawlers.{model}"), url, SLOTS)
    assert (sys.getprofile(), threading.getprofile()) == (None, None)
    slots = {f"slot {number}" for number in range(SLOTS)}
    assert {who for who, *_ in turns} == slots | ({"loop"} if model != "threads" else set())
    assert all(0 <= begun <= ended for _, begun, ended, _, _ in turns)
    waits = {place.partition(",")[0] for who, _, _, _, place in turns if who != "loop"}
    assert waits == {"returns", *(f"waits in {function}" for function in WAITS[model])}
    did = [does for who, _, _, does, _ in turns if who != "loop"]
    assert sum("finish" in does.split(" > ") for does in did) == 5, "one for each page"


@pytest.mark.parametrize("model", [model for model in MODELS if model != "threads"])
def test_one_thread_has_one_turn_at_a_time(model: str, url: str) -> None:
    turns = trace.trace(import_module(f"crawlers.{model}"), url, SLOTS)
    ends = [ended for _, _, ended, _, _ in turns]
    assert all(begun >= end for (_, begun, *_), end in zip(turns[1:], ends, strict=False))
    # The longest may be one in which other programs had the processor.
    slot = median(ended - begun for who, begun, ended, *_ in turns if who != "loop")
    rest = sum(ended - begun for who, begun, ended, *_ in turns if who == "loop")
    assert rest > slot, "while the server thinks, the loop rests"


def test_terminal_and_drawing_have_the_four_models(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "trace.svg"
    assert steps.main(["--trace", "5", "--svg", str(file)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if line in MODELS] == list(MODELS)
    assert any("data = slot.sock.recv(RECV_SIZE)" in line for line in lines)
    drawing = ElementTree.fromstring(file.read_text())
    name = "{http://www.w3.org/2000/svg}"
    texts = [text.text for text in drawing.iter(f"{name}text")]
    assert [text for text in texts if text in MODELS] == list(MODELS)
    assert texts.count("slot 2") == len(MODELS)
    assert texts.count("loop") == len(MODELS) - 1
    bars = [bar.attrib for bar in drawing.iter(f"{name}rect")][1:]
    assert all(80 <= float(bar["x"]) <= 982 - float(bar["width"]) for bar in bars)


def test_a_drawing_that_cannot_be_written_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert steps.main(["--trace", "2", "--svg", "/dev/full"]) == 1
    assert capsys.readouterr().err == "crawlers: /dev/full: No space left on device\n"


def test_a_reader_that_leaves_early_still_has_the_drawing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``--trace 5 --svg FILE | head`` wrote no file: the drawing came after the last line."""

    def leave(*_: object) -> None:
        raise BrokenPipeError

    file = tmp_path / "trace.svg"
    monkeypatch.setattr("builtins.print", leave)
    with pytest.raises(BrokenPipeError):
        steps.show_trace(5, file)
    assert file.read_text().startswith("<svg")
