"""``python -m bench advise``: its tables, its JSON, its errors and its exit codes."""

from __future__ import annotations

import argparse
import json
import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.__main__ import main
from bench.capacity import costs as measured
from bench.capacity.advice import BEYOND
from bench.cli.commands import advise
from tests.bench import committed
from tests.bench.cli.test_cli import DONE, FAILED, USAGE, save
from tests.bench.synthetic import MODELS, campaign, rungs

EXAMPLE = ("--connections", "5000", "--rate", "2000", "--delay", "200ms", "--tls", "--work", "1ms")

FURTHER = "The delay is"
"""Of a delay, against the longest that was measured."""


def unwrapped(said: str) -> str:
    """What was said, in one line."""
    return " ".join(said.split())


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("campaigns") / "one"
    records = campaign(
        samples=200, workloads=("throughput", "c10k", "ladder", "waiting"), ladder=rungs(MODELS)
    )
    return save(folder, records)


@pytest.mark.slow
def test_the_example_of_the_help_advises_from_the_reference(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["advise", *EXAMPLE]) == DONE
    said = capsys.readouterr().out
    # Its millisecond of work is nearly all of a page on the quick machine of the reference.
    for words in ("your own work is 93 %", "processors", "callbacks", "costs of a client"):
        assert words in unwrapped(said)
    assert "callbacks_poll" not in said
    assert max(map(len, said.splitlines())) <= advise.WIDTH
    assert committed.records().campaign.campaign in said
    costs = measured.costs(committed.analysis())
    assert costs is not None
    assert (FURTHER in unwrapped(said)) == (costs.longest_delay_ms * BEYOND <= 200)
    assert main(["advise", *EXAMPLE[:-2]]) == DONE
    assert "The least processor time" in unwrapped(capsys.readouterr().out)


def test_next_to_nothing_of_a_processor_has_no_digits(
    small: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A page in ten seconds needed "0.00000395" processors."""
    assert main(["advise", "--rate", "0.1", str(small)]) == DONE
    said = capsys.readouterr().out
    assert "< 0.001" in said
    assert "0.0000" not in said


def test_json_is_one_object_with_every_backend(
    small: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["advise", str(small), "--rate", "100", "--json"]) == DONE
    out, _ = capsys.readouterr()
    found = json.loads(out)
    assert {row["name"] for row in found["rows"]} == set(MODELS)
    assert found["need"]["rate"] == 100
    for row in found["rows"]:
        assert row["can"] in ("yes", "left out", "no")
        assert bool(row["reason"]) == (row["can"] != "yes")
        assert (row["processors"] is None) == (row["can"] != "yes")


def test_nothing_that_carries_the_load_is_a_failure(
    small: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["--connections", "10", "--rate", "10k", "--delay", "1s"]
    assert main(["advise", str(small), *arguments]) == FAILED
    said = unwrapped(capsys.readouterr().out)
    assert "None of these is known to carry it" in said
    assert "--connections 10" in said


def test_what_was_not_measured_is_a_clear_error(
    small: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The profile smoke leaves crawls out on a slow machine; the advice was "as at None"."""
    held = save(tmp_path / "held", campaign(blocks=2, workloads=("c10k",)))
    crawl = "no crawl that compares what a page takes; measure one"
    for folder, words in (small, "treads; it has"), (tmp_path, "no campaign here"), (held, crawl):
        which = ("--backends", "treads") if folder == small else ()
        assert main(["advise", str(folder), *which]) == USAGE
        assert words in capsys.readouterr().err


@pytest.mark.slow
def test_after_the_advice_of_the_reference_your_own_campaign_is_named(
    small: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A newcomer measured this machine first, and was advised from another one."""
    monkeypatch.setattr(advise, "RESULTS", tmp_path)
    shutil.copytree(small, tmp_path / "reference")
    assert main(["advise", "--rate", "100"]) == DONE
    assert "measured this machine" not in capsys.readouterr().out
    for name in ("20261120-080000-aaaaaa", "20261122-080000-bbbbbb"):
        shutil.copytree(small, tmp_path / name)
    assert main(["advise", "--rate", "100"]) == DONE
    assert f"add {tmp_path / '20261122-080000-bbbbbb'}" in capsys.readouterr().out
    assert main(["advise", "--rate", "100", str(tmp_path / "reference")]) == DONE
    assert "measured this machine" not in capsys.readouterr().out


# --- how people write a load: 5k, 200ms, 10% ---------------------------------------------


@given(st.integers(1, 999_999))
def test_k_is_a_thousand_and_m_a_million(number: int) -> None:
    assert advise.count(f"{number / 1000:.3f}k") == number
    assert advise.rate(f"{number}k") == pytest.approx(1000 * number)
    if number < 1000:
        assert advise.count(f"{number}M") == number * 1_000_000


@given(st.integers(0, 86_400_000), st.sampled_from(["", " "]))
def test_a_time_is_the_same_in_every_unit(milliseconds: int, space: str) -> None:
    seconds = milliseconds / 1000
    assert advise.duration(f"{milliseconds}{space}ms") == pytest.approx(seconds)
    assert advise.duration(f"{milliseconds * 1000}{space}us") == pytest.approx(seconds)
    assert advise.duration(f"{seconds:.3f}{space}s") == pytest.approx(seconds)


@pytest.mark.parametrize(
    ("read", "text", "word"),
    [
        (advise.count, "0", "whole number"),
        (advise.count, "1.5", "whole number"),
        (advise.count, "-3", "whole number"),
        (advise.count, "5kk", "whole number"),
        (advise.count, "9999M", "whole number"),
        (advise.count, "", "whole number"),
        (advise.rate, "0", "above 0"),
        (advise.rate, "nan", "above 0"),
        (advise.rate, "1e3", "above 0"),
        (advise.duration, "200", "unit"),
        (advise.duration, "200m", "such as"),
        (advise.duration, "-1ms", "such as"),
        (advise.duration, "2days", "such as"),
        (advise.duration, "100000s", "a day"),
        (advise.load, "0%", "share"),
        (advise.load, "2", "share"),
        (advise.load, "96%", "95%"),
        (advise.rate, "９9", "above 0"),
        (advise.duration, "٣s", "such as"),
    ],
)
def test_what_is_wrong_is_said_with_an_example(read: object, text: str, word: str) -> None:
    assert callable(read)
    with pytest.raises(argparse.ArgumentTypeError, match=word):
        read(text)
