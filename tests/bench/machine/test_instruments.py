"""What the counting programs write, and what happens where one is missing."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.machine import instruments
from bench.machine.instruments import Instrument, read_instructions
from bench.machine.instruments import read_system_calls as read_calls
from tests.programs import program

STRACE = """\
101   epoll_wait(3, [{events=EPOLLIN, data={u32=7, u64=7}}], 3, -1) = 1
101   sendto(7, ""..., 90, 0, NULL, 0) = 90
102   recvfrom(8,  <unfinished ...>
101   recvfrom(7, ""..., 65536, 0, NULL, NULL) = 2148
102   <... recvfrom resumed>""..., 65536, 0, NULL, NULL) = 2148
102   +++ exited with 0 +++
101   exit_group(0)                     = ?
101   +++ exited with 0 +++
"""


def test_a_system_call_in_two_lines_counts_once() -> None:
    assert read_calls("recvfrom(7) = 1\n")["system_calls"] == 1  # a log of one process
    with pytest.raises(ValueError, match="no system calls"):
        read_calls("[pid 7] recvfrom(7) = 1\n")
    assert read_calls(STRACE) == {
        "system_calls": 5,
        "system_call.epoll_wait": 1,
        "system_call.exit_group": 1,
        "system_call.recvfrom": 2,
        "system_call.sendto": 1,
    }


@given(st.lists(st.integers(0, 10**12), min_size=1, max_size=5))
def test_the_instructions_of_all_processes_are_added(counts: list[int]) -> None:
    logs = [f"==7== \n==7== I   refs:      {count:,}\n" for count in counts]
    assert read_instructions("".join(logs)) == {"instructions": sum(counts)}


def test_results_are_read_once(tmp_path: Path) -> None:
    (tmp_path / "count.17").write_text("==17== I refs: 1,200\n")
    (tmp_path / "times.service").write_text("")
    tool = Instrument("instructions", "valgrind 3.19.0", read=read_instructions)
    assert tool.results(tmp_path) == {"instructions": 1200}
    assert [file.name for file in tmp_path.iterdir()] == ["times.service"]
    with pytest.raises(ValueError, match="no count of instructions"):
        tool.results(tmp_path)


def test_without_the_programs_there_are_reasons_and_commands(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    found = {each.name: each for each in instruments.find(instruments.NAMES)}
    assert list(found) == list(instruments.NAMES)
    for name, tool in (("instructions", "valgrind"), ("system calls", "strace")):
        assert "apt-get install " + tool in str(found[name].missing)


def test_a_probe_leaves_nothing_in_dev() -> None:
    """As root it left a file there each time, and anybody else "may not trace here"."""
    before = {*Path("/dev").iterdir()}
    instruments.find(["system calls"])
    assert not [file for file in {*Path("/dev").iterdir()} - before if file.name[:5] == "null."]


BUSY = "did not answer in 0.5 s: this machine is overloaded"


@pytest.mark.parametrize(
    ("does", "patience_s", "words"),
    [
        ("exit 1", None, ("cannot run this interpreter", "may not trace here")),
        # It said that valgrind cannot run this interpreter, and to try a newer one.
        ("sleep 9", 0.5, (BUSY, BUSY)),
    ],
)
def test_a_tool_that_cannot_run_the_interpreter_is_missing_with_the_reason(
    does: str,
    patience_s: float | None,
    words: tuple[str, str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    for name in ("valgrind", "strace"):
        script = f'#!/bin/sh\n[ "$1" = --version ] && echo "tool-9.1" && exit 0\n{does}\n'
        program(tmp_path / name, script)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setattr(instruments, "PROBE_S", patience_s or instruments.PROBE_S)
    first, second = instruments.find(instruments.NAMES)
    assert f"valgrind 9.1 {words[0]}" in str(first.missing)
    assert f"strace 9.1 {words[1]}" in str(second.missing)


def test_a_killed_count_leaves_no_file_of_valgrind_behind(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Ctrl-C left three pipes of vgdb in TMPDIR for each count."""
    tool = instruments.cachegrind()
    if tool.missing:
        pytest.skip(tool.missing)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    words = [*tool.wrap(tmp_path), "cat"]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as counted:
        assert counted.stdin is not None
        assert counted.stdout is not None
        counted.stdin.write(b"answered\n")
        counted.stdin.flush()
        assert counted.stdout.readline() == b"answered\n"
        counted.send_signal(signal.SIGKILL)
    assert not list(tmp_path.glob("vgdb*"))
