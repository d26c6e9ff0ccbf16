"""Files for people: complete or not there at all, in UTF-8 whatever the locale."""

from __future__ import annotations

import resource
import tempfile
from pathlib import Path
from unittest.mock import Mock

import pytest

from bench import BenchError, filesystem
from tests.bench.children import Answering
from tests.programs import python

WRITES_TOO_MUCH = """
import resource, sys
from pathlib import Path
from bench import BenchError, filesystem
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))  # as if the disk were full
try:
    filesystem.write_text(Path(sys.argv[1]), "x" * 5000)
except BenchError as error:
    print(error)
"""


def test_text_is_utf_8_in_any_locale(tmp_path: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from bench import filesystem; "
        "file = Path(sys.argv[1]); "
        "filesystem.write_text(file, '\\u2013'); filesystem.read_text(file)"
    )
    locale = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = python("-c", script, str(tmp_path / "a"), env=locale)
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "a").read_bytes() == "–".encode()


@pytest.mark.parametrize("before", [None, "the old text"])
def test_a_full_disk_leaves_what_was_there(tmp_path: Path, before: str | None) -> None:
    file = tmp_path / "report"
    if before is not None:
        file.write_text(before)
    done = python("-c", WRITES_TOO_MUCH, str(file))
    assert done.stdout == f"{file}: File too large; choose another\n"
    assert [(f.name, f.read_text()) for f in tmp_path.iterdir()] == (
        [] if before is None else [("report", before)]
    )
    assert resource.getrlimit(resource.RLIMIT_FSIZE) != (1000, 1000)


def test_an_interrupt_leaves_no_file(tmp_path: Path) -> None:
    def interrupted() -> None:
        with filesystem.replacing(tmp_path / "a") as part:
            part.write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert list(tmp_path.iterdir()) == []


def test_a_link_and_the_mode_of_a_file_stay(tmp_path: Path) -> None:
    (tmp_path / "target").write_text("old")
    (tmp_path / "target").chmod(0o640)
    (tmp_path / "link").symlink_to("target")
    filesystem.write_text(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_text() == "new"
    assert (tmp_path / "target").stat().st_mode & 0o777 == 0o640


def test_a_device_is_written_to_and_not_replaced() -> None:
    filesystem.write_text(Path("/dev/null"), "text")
    assert Path("/dev/null").is_char_device()


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("a/file/below", "File exists|Not a directory"),
        (".", "Is a directory"),
        ("x" * 300, "too long"),
    ],
)
def test_a_file_that_cannot_be_written_is_named(tmp_path: Path, path: str, message: str) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "file").touch()
    with pytest.raises(BenchError, match=message) as caught:
        filesystem.write_text(tmp_path / path, "text")
    assert "\n" not in str(caught.value)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(BenchError, match="nowhere: No such file"):
        filesystem.read_text(tmp_path / "nowhere")
    (tmp_path / "latin").write_bytes(b"\xe9")
    with pytest.raises(BenchError, match="latin: not UTF-8 text"):
        filesystem.read_text(tmp_path / "latin")


HOLDS = """
import sys
from bench import filesystem
with filesystem.scratch() as folder:
    (folder / "there").mkdir()
    print(folder.name, flush=True)
    sys.stdin.readline()
"""


def test_what_a_killed_process_leaves_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And nothing that is in use. Each campaign that was killed left a folder of times."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    with Answering(HOLDS) as alive, Answering(HOLDS) as killed:
        names = {alive.read(), killed.read()}
        killed.process.kill()
        killed.process.wait()
        assert names == {folder.name for folder in tmp_path.iterdir()}
        with filesystem.scratch() as folder:
            assert folder.name not in names
            assert len(list(tmp_path.iterdir())) == 2
        alive.send("")
        assert alive.process.wait(300) == 0
    assert not list(tmp_path.iterdir())
    monkeypatch.setattr(tempfile, "gettempdir", Mock(side_effect=OSError(2, "no usable one")))
    with pytest.raises(BenchError, match="TMPDIR: no usable one"):
        filesystem.scratch().__enter__()
