"""The guard of our four models fails for one reason only."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from bench.costs import fingerprint, guard
from bench.costs.guard import CROWD, Baseline, Entry
from bench.costs.record import CostsError
from bench.machine import instruments
from bench.machine.instruments import Instrument

NAMES = [f"{workload} {who}" for workload, crowd in CROWD.items() for who in crowd]
BEFORE = dict.fromkeys(NAMES, 100_000.0)


class Counting:
    """Gives counts in turn, and remembers who was counted."""

    def __init__(self, *answers: dict[str, float]) -> None:
        self.answers = list(answers)
        self.asked: list[Mapping[str, tuple[str, ...]]] = []

    def __call__(self, wanted: Mapping[str, tuple[str, ...]]) -> dict[str, float]:
        self.asked.append(wanted)
        return self.answers.pop(0) if len(self.answers) > 1 else dict(self.answers[0])


@pytest.fixture(autouse=True)
def _machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(instruments, "cachegrind", lambda: Instrument("instructions", "tool 1"))
    monkeypatch.setattr(guard, "fingerprint", lambda tool: ("CPython 3.11.7", f"abc {tool}"))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A baseline of this machine and of another."""
    entry = Entry(python="CPython 3.11.7", tool="tool 1", created="2026-11-22", instructions=BEFORE)
    made = Baseline(entries={"abc tool 1": entry, "def tool 1": entry})
    path = tmp_path / "baseline.json"
    path.write_text(made.model_dump_json())
    return path


def test_the_same_and_less_pass(file: Path) -> None:
    for factor in (1.0, 1.015, 0.5):
        counted = {name: value * factor for name, value in BEFORE.items()}
        assert guard.check(file, Counting(counted)).status == "passed"


def test_more_fails_and_says_what_to_do(file: Path) -> None:
    count = Counting(BEFORE | {"fetch generators": 102_500.0})
    outcome = guard.check(file, count)
    assert outcome.status == "more"
    assert "fetch generators" in outcome.lines[-1]
    assert guard.UPDATE in outcome.lines[-1]
    assert count.asked[1:] == [{"fetch": ("generators",)}] * 2, "only it is counted again"


def test_one_high_count_does_not_fail(file: Path) -> None:
    high = BEFORE | {"fetch callbacks": 130_000.0}
    assert guard.check(file, Counting(high, {"fetch callbacks": 100_100.0})).status == "passed"


def test_threads_have_a_wider_margin(file: Path) -> None:
    for value, status in ((119_000.0, "passed"), (121_000.0, "more")):
        assert guard.check(file, Counting(BEFORE | {"fetch threads": value})).status == status


def test_the_baseline_of_threads_is_the_most_that_a_schedule_took(file: Path) -> None:
    first = dict.fromkeys(NAMES, 90_000.0)
    count = Counting(first, {"fetch threads": 94_000.0}, {"fetch threads": 91_000.0})
    guard.update(file, count)
    assert count.asked[1:] == [{"fetch": ("threads",)}] * 2, "others have one schedule"
    found = guard.load(file).entries["abc tool 1"].instructions
    assert found == first | {"fetch threads": 94_000.0}


def test_a_crawl_that_failed_is_not_more(file: Path) -> None:
    outcome = guard.check(file, Counting({"fetch callbacks": 100_000.0}))
    assert outcome.status == "passed"
    assert "fetch threads: not counted" in outcome.lines


def test_another_interpreter_is_recorded_and_passes(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guard, "fingerprint", lambda _: ("CPython 3.14.0", "0123 tool 1"))
    outcome = guard.check(file, Counting(dict.fromkeys(NAMES, 9e9)))
    assert outcome.status == "not checked"
    assert "no baseline for this interpreter (CPython 3.14.0" in outcome.lines[-1]


def test_a_machine_without_valgrind_passes(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = Instrument("instructions", "", missing="valgrind is not installed")
    monkeypatch.setattr(instruments, "cachegrind", lambda: gone)
    outcome = guard.check(file, Counting(BEFORE))
    assert (outcome.status, outcome.lines) == (
        "not checked",
        ("instructions are not checked: valgrind is not installed",),
    )
    with pytest.raises(CostsError, match="valgrind is not installed"):
        guard.update(file, Counting(BEFORE))


def test_a_damaged_baseline_is_an_error_with_a_command(tmp_path: Path) -> None:
    path = tmp_path / "baseline.json"
    path.write_text("{")
    with pytest.raises(CostsError, match="--update-baseline"):
        guard.check(path, Counting(BEFORE))


def test_an_update_keeps_others_only_if_nothing_got_more_expensive(file: Path) -> None:
    less = dict.fromkeys(NAMES, 90_000.0)
    guard.update(file, Counting(less))
    assert set(guard.load(file).entries) == {"abc tool 1", "def tool 1"}
    assert guard.load(file).entries["abc tool 1"].instructions == less
    outcome = guard.update(file, Counting(dict.fromkeys(NAMES, 120_000.0)))
    assert set(guard.load(file).entries) == {"abc tool 1"}
    assert "1 entries of other interpreters are gone" in outcome.lines[-1]


def test_an_update_needs_every_count(file: Path) -> None:
    before = file.read_text()
    with pytest.raises(CostsError, match="fetch threads"):
        guard.update(file, Counting({"fetch callbacks": 1.0}))
    assert file.read_text() == before


def test_the_committed_baseline_is_whole() -> None:
    for entry in guard.load().entries.values():
        assert set(entry.instructions) == set(NAMES)
        assert all(value > 1000 for value in entry.instructions.values())


def test_a_fingerprint_is_of_code_and_processor(tmp_path: Path) -> None:
    maps = (
        "00400000-00401000 r-xp 00000000 08:01 17   /usr/bin/python3.11\n"
        "00402000-00403000 rw-p 00000000 08:01 17   /usr/bin/data\n"
        "7f00-7f01 r-xp 00000000 00:00 0            [vdso]\n"
        "7f02-7f03 r-xp 00000000 08:01 18           /usr/lib/a library.so\n"
    )
    files = [Path("/usr/bin/python3.11"), Path("/usr/lib/a library.so")]
    assert fingerprint.mapped(maps) == files
    info = "vendor_id\t: AuthenticAMD\nflags\t\t: fpu avx2 sse4_2 mystery\n"
    assert fingerprint.processor(info) == "AuthenticAMD avx2 sse4_2"
    assert fingerprint.processor("")
    library = tmp_path / "library"
    library.write_bytes(b"one")
    one = fingerprint.digest([library], ["3.11.7"])
    library.write_bytes(b"two")
    assert len({one, fingerprint.digest([library], ["3.11.7"]), fingerprint.digest([], [])}) == 3
