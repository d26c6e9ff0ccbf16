"""Bundles: the same bytes from the same records, and nothing smuggled in."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench import store
from bench.__main__ import main
from bench.claims import records as experiments
from bench.cli.exits import DONE, FAILED, USAGE
from bench.report import archive, charts
from tests.bench.synthetic import campaign, measured


@pytest.fixture(scope="module", autouse=True)
def one_chart() -> Iterator[None]:
    """Drawing takes seconds, and is tested elsewhere."""
    with pytest.MonkeyPatch.context() as patch:
        throughput = tuple(entry for entry in charts.CHARTS if entry[0] == "throughput")
        patch.setattr(charts, "CHARTS", throughput)
        yield


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle of a campaign that hardly has a chart."""
    folder = tmp_path_factory.mktemp("bundle")
    records = campaign(blocks=1, samples=200, workloads=("throughput",), backends=("threads",))
    for name, found in (
        (store.FILE_NAME, records),
        (experiments.FILE_NAME, measured({"awaiting.task_turns": [2.0]})),
    ):
        (folder / name).write_text("".join(r.model_dump_json() + "\n" for r in found))
    assert main(["bundle", str(folder), "--out", str(folder / "a.tar")]) == DONE
    return folder / "a.tar"


def packed(file: Path, members: list[tuple[tarfile.TarInfo, bytes]]) -> Path:
    with tarfile.open(file, "w") as archive:
        for member, data in members:
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return file


def test_a_bundle_holds_everything_and_comes_out_the_same_again(
    made: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bundle", str(made.parent), "--out", str(made.with_name("b.tar"))]) == DONE
    assert made.with_name("b.tar").read_bytes() == made.read_bytes()
    names = set(archive.read(made))
    wanted = {
        store.FILE_NAME,
        experiments.FILE_NAME,
        archive.SUMS,
        "report.html",
        "summary.md",
        "citation.bib",
    }
    assert wanted | {"charts/throughput.svg", "charts/throughput-dark.png"} <= names
    assert b"Well-known claims, then and now" in archive.read(made)["report.html"]
    assert main(["bundle", "--verify", "--rebuild", str(made)]) == DONE
    assert "rebuilding gives the same files" in " ".join(capsys.readouterr().out.split())


def test_a_changed_file_is_named(
    made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = archive.read(made)
    found["summary.md"] += b"and one more line\n"
    del found["citation.bib"]
    found["stray"] = b""
    forged = packed(
        tmp_path / "forged.tar",
        [(tarfile.TarInfo(f"top/{name}"), data) for name, data in found.items()],
    )
    assert main(["bundle", "--verify", str(forged)]) == FAILED
    assert capsys.readouterr().out.splitlines() == [
        "citation.bib: missing",
        "stray: has no checksum",
        "summary.md: does not match its checksum",
    ]


@pytest.mark.parametrize(
    "name", ["/etc/passwd", "top/../../x", "top/..", "other/x", "top", "../x", "top/trials.jsonl"]
)
def test_names_that_lead_elsewhere_are_refused(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    members = [(tarfile.TarInfo("top/trials.jsonl"), b""), (tarfile.TarInfo("top/SHA256SUMS"), b"")]
    file = packed(tmp_path / "x.tar", [*members, (tarfile.TarInfo(name), b"x")])
    assert main(["bundle", "--verify", str(file)]) == USAGE
    assert repr(name.removeprefix("top/") if name == "top/trials.jsonl" else name) in (
        capsys.readouterr().err
    )


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE])
def test_what_is_no_plain_file_is_refused(kind: bytes, tmp_path: Path) -> None:
    member = tarfile.TarInfo("top/link")
    member.type, member.linkname = kind, "/etc/passwd"
    with pytest.raises(archive.BundleError, match="not a regular file"):
        archive.read(packed(tmp_path / "x.tar", [(member, b"")]))


@pytest.mark.parametrize("data", [b"", b"no tar at all" * 100, b"\0" * 10_240])
def test_what_is_no_bundle_is_said_in_one_line(
    data: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "x.tar"
    file.write_bytes(data)
    assert main(["bundle", "--verify", str(file)]) == USAGE
    assert capsys.readouterr().err.count("\n") == 1


def test_a_bundle_that_is_not_there_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bundle", "--verify", "nowhere.tar"]) == USAGE
    assert "nowhere.tar" in capsys.readouterr().err


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="no /dev/zero here")
def test_zeros_without_end_are_no_bundle() -> None:
    """It read on for ever, looking for something odd after the last file."""
    with pytest.raises(archive.BundleError, match="not a bundle"):
        archive.read(Path("/dev/zero"))
