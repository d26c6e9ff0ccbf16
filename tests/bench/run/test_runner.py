"""Starting and resuming: who may write, what the hint says, and who else is running."""

from __future__ import annotations

import fcntl
import io
import os
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from bench import store
from bench.run import presence, runner
from bench.run.runner import Finished, Options
from bench.schema import EndRecord
from bench.store import Store, StoreError
from bench.terminal import Terminal
from crawlers.backend import Backend
from tests.bench.synthetic import campaign


@pytest.fixture
def interrupted(tmp_path: Path) -> Path:
    """The folder of a made-up campaign that did not finish."""
    folder = tmp_path / "some where" / "20261121-051200-1a2b3c"
    folder.mkdir(parents=True)
    with Store(folder / store.FILE_NAME, create=True) as opened:
        for record in campaign(blocks=1, samples=10, ended=False)[:3]:
            opened.append(record)
    return folder


def test_a_campaign_is_locked_before_it_is_read(
    interrupted: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever a second --resume does meanwhile, it can add nothing that the first did not read."""

    class Stop(Exception):
        """Ends the run."""

    def look_up(names: Sequence[str] | None, pythons: object) -> list[Backend]:
        with pytest.raises(StoreError, match="another run is writing to this campaign"):
            Store(interrupted / store.FILE_NAME, create=False)
        raise Stop

    monkeypatch.setattr(runner, "look_up", look_up)
    with pytest.raises(Stop):
        runner.run(Options(resume=interrupted), Terminal(io.StringIO()))


def hint(folder: Path) -> str:
    """The last word of what is printed after an interrupted campaign."""
    end = EndRecord(ended="x", complete=False, reason="interrupted", wall_s=1, trial_wall_s=1)
    output = io.StringIO()
    code = runner.exit_code(Finished(folder, store.load(folder), end), Terminal(output))
    assert code == 130
    return output.getvalue().partition("--resume ")[2].strip()


def test_the_hint_names_a_campaign_that_can_be_found(
    interrupted: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert shlex.split(hint(interrupted)) == [str(interrupted)]
    monkeypatch.chdir(interrupted.parent)
    (found,) = shlex.split(hint(interrupted))
    assert store.trials_file(Path(found)).samefile(interrupted / store.FILE_NAME)
    monkeypatch.setattr(runner, "RESULTS", interrupted.parent)
    assert hint(interrupted) == interrupted.name


def test_two_campaigns_at_once_are_told_of_each_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    first, second, third = io.StringIO(), io.StringIO(), io.StringIO()
    with presence.announced(Terminal(first)):
        assert first.getvalue() == ""
        with presence.announced(Terminal(second)):
            pass
    assert "ran on this machine at the same time" in first.getvalue()
    assert "is running on this machine" in second.getvalue()
    with presence.announced(Terminal(third)):
        pass
    assert third.getvalue() == ""
    assert list(tmp_path.iterdir()) == []


def test_a_campaign_runs_where_no_other_can_be_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "nowhere"))
    said = io.StringIO()
    with presence.announced(Terminal(said)):
        pass
    assert "go unnoticed: No such file" in said.getvalue()


@pytest.mark.timeout(60)
@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, lambda path: path.symlink_to("/dev/zero")])
def test_nothing_in_place_of_the_file_stops_a_campaign(
    make: Callable[[Path], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Any user may put it there: opening a FIFO waits until somebody opens its other end."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    make(tmp_path / presence.FILE_NAME)
    said = io.StringIO()
    with presence.announced(Terminal(said)):
        pass
    assert "go unnoticed" in said.getvalue()


@pytest.mark.timeout(60)
def test_a_lock_that_somebody_keeps_stops_no_campaign(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(presence, "SHARE_S", 0.1)
    said = io.StringIO()
    with open(tmp_path / presence.FILE_NAME, "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with presence.announced(Terminal(said)):
            pass
    assert "is running on this machine" in said.getvalue()
