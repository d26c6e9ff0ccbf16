"""``python -m bench cite``, and which campaign is read where none is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench import store
from bench.__main__ import main
from bench.cli import DONE, USAGE
from tests.bench.cli.test_cli import save
from tests.bench.synthetic import campaign


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder for campaigns."""
    monkeypatch.setattr(store, "RESULTS", tmp_path)
    monkeypatch.setattr(store, "REFERENCE", tmp_path / "reference")
    return tmp_path


def test_the_newest_campaign_is_read_or_else_the_reference(results: Path) -> None:
    records = campaign(blocks=1, samples=10, workloads=["throughput"])
    with pytest.raises(store.StoreError, match="no campaign here"):
        store.usual(None)
    for name in ("reference", "20261120-080000-aaaaaa", "20261122-080000-bbbbbb"):
        file = save(results / name, records) / store.FILE_NAME
        assert store.usual(None) == file
    (results / "20261124-080000-cccccc").mkdir()
    assert store.usual(None) == file, "a folder without records is no campaign"
    assert store.usual(Path("reference")) == results / "reference" / store.FILE_NAME
    with pytest.raises(store.StoreError, match="no campaign here"):
        store.usual(Path("nowhere"))


def test_a_finding_is_quoted_with_interval_machine_and_interpreter(
    results: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    records = campaign(blocks=6, samples=30, workloads=("waiting", "c10k"))
    folder = str(save(results / "one", records))
    head = store.load(results / "one").campaign
    assert main(["cite", folder, "--finding", "memory"]) == DONE
    said = capsys.readouterr().out
    assert said.startswith("An idle connection ")
    for words in (
        "95 % intervals of the fitted slopes",
        head.environment.python,
        head.environment.cpu_model or "",
        head.campaign,
    ):
        assert words in said
    assert len(said.splitlines()) == 1
    assert not {"*", "`"} & set(said)
    assert main(["cite", folder, "--finding", "list"]) == DONE
    names = capsys.readouterr().out.split()
    assert {"memory", "waiting"} <= {*names}
    assert main(["cite", folder, "--finding", "all"]) == DONE
    assert said.partition(" (")[0] in capsys.readouterr().out.replace("*", "").replace("`", "")
    assert main(["cite", folder, "--finding", "memroy"]) == USAGE
    assert f"no finding 'memroy'; it has {', '.join(names)}" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["cite", "talk", "report"])
def test_without_any_campaign_it_says_how_to_run_one(
    command: str, results: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([command]) == USAGE
    assert "no campaign here" in capsys.readouterr().err


def test_what_is_not_finished_is_cited_with_a_warning(
    results: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """While one ran, "the newest" was cited with a checksum that the next trial changed."""
    records = campaign(blocks=1, samples=10, workloads=["throughput"])
    folder = str(save(results / "one", records[:-1]))
    assert main(["cite", folder]) == DONE
    said = capsys.readouterr()
    assert said.out.startswith("The c10k-crawlers authors")
    assert said.err.endswith("is not finished: it has no end record\n")
    assert said.err.startswith("warning: campaign ")
