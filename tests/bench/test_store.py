"""Trials and turns: no record gets lost, and no wrong one is read."""

from __future__ import annotations

import errno
import fcntl
import gzip
import json
import os
from collections.abc import Sequence
from pathlib import Path
from unittest.mock import Mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench import store
from bench.report import cite
from bench.run import block
from bench.run.turns import TurnTaken
from bench.schema import AnyRecord, CampaignRecord, EndRecord, ResumeRecord, TrialRecord
from bench.store import Log, StoreError
from tests.bench import small
from tests.bench.sure import sure
from tests.bench.synthetic import campaign, in_turns

RECORDS: Sequence[AnyRecord] = campaign(blocks=1)


def write(path: Path, records: Sequence[AnyRecord]) -> bytes:
    with Log(path, create=True) as opened:
        for record in records:
            opened.append(record)
    return path.read_bytes()


def test_what_was_appended_is_read(tmp_path: Path) -> None:
    file = tmp_path / store.FILE_NAME
    write(file, RECORDS)
    found = store.load(tmp_path)
    assert sorted(map(repr, found.all)) == sorted(map(repr, RECORDS))
    assert found.torn_bytes == 0
    assert store.load(file).campaign == found.campaign


@given(st.data())
def test_any_crash_loses_only_the_line_being_written(data: st.DataObject) -> None:
    text = "".join(record.model_dump_json() + "\n" for record in RECORDS[:4]).encode()
    first = text.index(b"\n") + 1
    cut = data.draw(st.integers(first, len(text)))
    file = Path(os.environ.get("TMPDIR", "/tmp")) / f"torn-{os.getpid()}.jsonl"
    try:
        file.write_bytes(text[:cut])
        found = store.load(file)
    finally:
        file.unlink()
    assert len(found.all) == text[:cut].count(b"\n")
    assert found.torn_bytes == cut - (text[:cut].rfind(b"\n") + 1)


def test_a_torn_line_is_cut_before_the_next(tmp_path: Path) -> None:
    file = tmp_path / store.FILE_NAME
    whole = write(file, RECORDS[:2])
    file.write_bytes(whole + b'{"kind":"trial","tri')
    with Log(file, create=False) as opened:
        assert file.read_bytes() != whole  # not before there is something to add
        opened.append(ResumeRecord(resumed="2026-01-01T00:00:00Z", done=1))
    found = store.load(file)
    assert found.torn_bytes == 0
    assert len(found.resumes) == 1
    assert file.read_bytes().startswith(whole)


def test_an_end_before_a_resume_is_not_the_end(tmp_path: Path) -> None:
    file = tmp_path / store.FILE_NAME
    end = EndRecord(ended="x", complete=False, reason="interrupted", wall_s=1, trial_wall_s=1)
    write(file, [RECORDS[0], end, ResumeRecord(resumed="x", done=0)])
    assert store.load(file).end is None


def line(place: int = 0, **changes: object) -> bytes:
    record = json.loads(RECORDS[place].model_dump_json()) | changes
    return json.dumps(record).encode() + b"\n"


UNEVEN = {
    **dict.fromkeys(("voluntary", "involuntary"), 1),
    "windows": {"exchanges": [], "cpu_us": [1], "voluntary": [1], "involuntary": [1]},
}
PLANNED: dict[str, object] = {"point": "throughput-1", "workload": "few", "blocks": 1, "labels": []}
PLANNED["params"] = {"slots": 1, "delay": "none"}
UNREADABLE = {
    "empty": (b"", "no whole record"),
    "text": (b"not json at all\n", ":1: not JSON.* restore it$"),
    "mark": (b"\xef\xbb\xbf" + line(), ":1: begins with a byte-order mark; save"),
    "utf-16": (b"\xff\xfe" + line(), ":1: begins with a byte-order mark; save"),
    "deep": (b"[" * 100_000 + b"\n", ":1: not JSON"),
    "foreign": (b'{"some": "json"}\n', ":1: not a valid record: .*kind"),
    "version": (
        line(schema_version=99),
        ":1: not a valid .*schema version 99, but this program reads 2",
    ),
    "field": (line(surprise=1), ":1: not a valid record: .*surprise"),
    "kind": (line(kind="novel"), ":1: not a valid record"),
    "month": (line(created="2026-13-45T09:00:00Z"), ":1: not a valid .*created.*month"),
    "zone": (line(created="2026-11-21T09:00:00"), ":1: not a valid .*created.*zone"),
    "bytes": (line() + b"\xff\xfe\n" + line(), ":2: not JSON.*, or delete a single"),
    "two": (line() + line(), "two campaigns in one file"),
    "repeated": (line() + 2 * line(2), "callbacks#2 at throughput-1 is there twice for block 0"),
    "headless": (line(1), "not a campaign record"),
    "negative": (line(2, pages=-1), ":1: not a valid record: trial.pages"),
    "rate": (line(2, pages_per_s=1.0), ":1: .*: trial: pages_per_s is not pages / elapsed_s"),
    "statuses": (line(2, statuses={}), ":1: .*: trial: 2000 pages, but not so many answers"),
    "reason": (line(2, status="void"), ":1: .*: trial: void, but its reason is None"),
    "delay": (line(2, params={"slots": 1, "delay": "x"}), ":1: .*: trial.params.delay"),
    "another": (line(plan=[PLANNED]) + line(2), ":2: .*'throughput', but 'few' was planned"),
    "uneven": (line(2, switches=UNEVEN), "switches.windows: .*columns of unequal length"),
}


@pytest.mark.parametrize(("content", "message"), UNREADABLE.values(), ids=UNREADABLE)
def test_unreadable_records_get_one_clear_line(
    tmp_path: Path, content: bytes, message: str
) -> None:
    file = tmp_path / store.FILE_NAME
    file.write_bytes(content)
    with pytest.raises(StoreError, match=message) as caught:
        store.load(file)
    assert "\n" not in str(caught.value)


def test_nobody_waits_for_a_pipe(tmp_path: Path) -> None:
    write(tmp_path / store.FILE_NAME, RECORDS)
    os.mkfifo(tmp_path / store.TURNS)
    with pytest.raises(StoreError, match="not a file; move it away"):
        store.load(tmp_path)


def test_a_missing_campaign_is_reported(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no campaign here"):
        store.load(tmp_path / "nowhere")
    with pytest.raises(StoreError, match=r"no campaign here|File name too long"):
        store.load(tmp_path / ("x" * 300))


@pytest.mark.parametrize(
    ("file", "create", "why"),
    [
        ("mine", False, "another run is writing"),
        ("mine", True, "exists"),
        # Permission was denied for trials.jsonl, a file that the user had never heard of.
        ("mine/20261128/trials.jsonl", True, "Not a directory; choose another folder"),
    ],
)
def test_no_campaign_is_written_over_another(
    tmp_path: Path, file: str, why: str, *, create: bool
) -> None:
    with Log(tmp_path / "mine", create=True), pytest.raises(StoreError, match=why):
        Log(tmp_path / file, create=create)


def test_a_file_system_need_not_have_locks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """It said that another run was writing. Some of Lustre and of NFS have none."""
    monkeypatch.setattr(fcntl, "flock", Mock(side_effect=OSError(errno.ENOLCK, "No locks")))
    assert write(tmp_path / store.FILE_NAME, RECORDS[:1])


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_a_full_disk_says_what_is_safe_and_what_to_do() -> None:
    with (
        Log(Path("/dev/full"), create=False) as opened,
        pytest.raises(StoreError, match=r"No space left.*are safe; free some space.*--resume"),
    ):
        opened.append(RECORDS[0])


def test_a_campaign_that_a_full_disk_kept_from_beginning_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It left an empty file, told to continue with --resume, and that refused an empty file."""

    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    folder = tmp_path / "campaign"
    words = "No space left on device; nothing ran; free some space and run it again$"
    with (
        Log(folder / store.FILE_NAME, create=True) as opened,
        pytest.raises(StoreError, match=words),
    ):
        opened.append(RECORDS[0])
    assert not folder.exists()
    # Its second file is begun after many records: "nothing ran" was false of that.
    folder.mkdir()
    (folder / store.FILE_NAME).touch()
    with (
        Log(folder / store.TURNS, create=True) as opened,
        pytest.raises(StoreError, match="are safe; free some space and continue with --resume"),
    ):
        opened.append(RECORDS[0])
    assert [file.name for file in folder.iterdir()] == [store.FILE_NAME]


def test_records_of_older_campaigns_without_a_plan_still_load(tmp_path: Path) -> None:
    head = RECORDS[0].model_dump_json(exclude={"plan"})
    (tmp_path / store.FILE_NAME).write_text(head + "\n")
    assert isinstance(store.load(tmp_path).campaign, CampaignRecord)


def test_compressed_records_are_read_and_extended(tmp_path: Path) -> None:
    made = campaign(blocks=1, samples=10)
    lines = b"".join(record.model_dump_json().encode() + b"\n" for record in made)
    packed = tmp_path / store.PACKED
    packed.write_bytes(gzip.compress(lines))
    assert store.trials_file(tmp_path) == packed
    assert len(store.load(tmp_path).all) == len(made)
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain" / store.FILE_NAME).write_bytes(lines)
    assert cite.checksum(packed) == cite.checksum(tmp_path / "plain" / store.FILE_NAME)
    with Log(packed, create=False) as opened:
        opened.append(ResumeRecord(resumed="2026-01-01T00:00:00Z", done=1))
    assert gzip.decompress(packed.read_bytes()).startswith(lines + b'{"kind":"resume"')
    packed.write_bytes(gzip.compress(lines)[:-20])
    with pytest.raises(StoreError, match=r"no whole record: .*restore the file"):
        store.load(tmp_path)


# --- turns -------------------------------------------------------------------------------

TAKEN = [TurnTaken(0, number, 10.0, 1.0, 0.5, 0.5, 3, None, counted=True) for number in (0, 1)]
LOG = block.log(TAKEN, ["callbacks"], small.point(), 0)


def test_turns_are_kept_beside_the_trials(tmp_path: Path) -> None:
    assert store.load_turns(tmp_path) == []
    later = LOG.model_copy(update={"block": 1})
    store.append_turns(tmp_path, LOG)
    store.append_turns(tmp_path, later)
    assert store.load_turns(tmp_path) == [LOG, later]
    file = tmp_path / store.TURNS
    file.write_bytes(file.read_bytes()[:-7])  # torn by a crash
    assert store.load_turns(tmp_path) == [LOG]
    store.append_turns(tmp_path, later)
    assert store.load_turns(tmp_path) == [LOG, later]
    again = later.model_copy(update={"steal_ms": [None] * len(LOG.label)})
    store.append_turns(tmp_path, again)  # of a block that ran twice, the later turns count
    assert store.load_turns(tmp_path) == [LOG, again]


@pytest.mark.parametrize(
    ("condition", "own_s", "kind"),
    [("", 2.7, "trial"), ("", 2.7, "control"), ("asleep", 2.5, "companion")],
)
def test_a_tick_of_stolen_time_is_not_more_than_the_worker_did_without(
    tmp_path: Path, condition: str, own_s: float, kind: str
) -> None:
    """It took 9 ms off other turns, where the worker had run for 9 of the 10 ms of its own."""
    stolen = {"": (0.5, 0.0, 0.2), "asleep": (0.0, 0.8, 0.0)}
    labels = ["callbacks", "callbacks/asleep"]
    taken = [
        TurnTaken(place, number, 10.0, 1.0, 0.5 + 0.4 * (number == 0), 0.5, 3, steal_s, True)
        for place, name in enumerate(stolen)
        for number, steal_s in enumerate(stolen[name])
    ]
    head, *others = campaign(blocks=1, workloads=("throughput",))
    trial = next(r for r in others if isinstance(r, TrialRecord) and r.label == "callbacks")
    turns = sure(in_turns(trial, 20.0).turns)
    update = {"wall_s": 3.0, "cpu_s": 1.9, "counted": 3, "steal_s": sum(stolen[condition])}
    turns = turns.model_copy(update=update)
    params = {**trial.params, "condition": condition or None}
    write(
        tmp_path / store.FILE_NAME,
        [head, trial.model_copy(update={"turns": turns, "params": params, "kind": kind})],
    )

    def own() -> float:
        return sure(store.load(tmp_path).every_trial[0].turns).own_s

    assert own() == pytest.approx(3.0 - sum(stolen[condition])), "no log"
    log = block.log(taken, labels, small.point(), trial.block)
    each = [us for label in labels for us in log.stolen_us(label)]
    assert each == [100_000, 0, 200_000, 0, 500_000, 0]
    store.append_turns(tmp_path, log.model_copy(update={"point": "another"}))
    assert own() == pytest.approx(3.0 - sum(stolen[condition])), "no log of this point"
    log = log.model_copy(update={"point": trial.point})
    for other in ({"label": [99] * 6}, {"counted": [False] * 6}, {"labels": ("x", "y")}):
        store.append_turns(tmp_path, log.model_copy(update=other))
        assert own() == pytest.approx(3.0 - sum(stolen[condition])), "the log of another trial"
    store.append_turns(tmp_path, log)
    assert own() == pytest.approx(own_s)


def test_a_full_disk_leaves_turns_that_can_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A torn member hid all that a resumed campaign wrote after it."""
    store.append_turns(tmp_path, LOG)

    def full(number: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with Log(tmp_path / store.FILE_NAME, create=True) as trials, monkeypatch.context() as patch:
        trials.append(*RECORDS[:2])
        patch.setattr(os, "fsync", full)
        with pytest.raises(StoreError, match="No space left"):
            store.append_turns(tmp_path, LOG)
        with pytest.raises(StoreError, match="are safe; free some space and continue"):
            trials.append(RECORDS[2])
    assert store.load(tmp_path).all == RECORDS[:2]  # the file that this process has made stays
    assert store.load_turns(tmp_path) == [LOG]
    store.append_turns(tmp_path, LOG.model_copy(update={"block": 1}))
    assert len(store.load_turns(tmp_path)) == 2
