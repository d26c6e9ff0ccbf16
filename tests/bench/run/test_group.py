"""A worker with its threads and children stops as one thing, and at once."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import psutil
import pytest

from bench.run.group import Group, GroupEndedError
from bench.run.process import Child
from tests.bench.children import state, wait_for

THREADS = """
import sys, threading
for _ in range(20):
    threading.Thread(target=threading.Event().wait, daemon=True).start()
print("ready", flush=True)
sys.stdin.read()
"""

PARENT = """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "while True: pass"])
print(child.pid, flush=True)
while True: pass
"""


def test_many_threads_are_not_asked_for_their_waits() -> None:
    with Child("threads", ["-c", THREADS]) as child:
        assert child.receive(time.monotonic() + 20) == "ready"
        group = Group(child.pid)
        group.look_for_children()
        assert (group.many, group.threads) == (True, 21)
        assert group.wait_s() is None


@pytest.mark.parametrize("may", [True, False])
def test_many_threads_stop_at_once_and_go_on_as_before(
    may: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The thread that takes the signal waited behind the others, which went on crawling."""
    seen = []

    def schedule(pid: int, policy: int, param: os.sched_param) -> None:
        seen.append((policy & ~os.SCHED_RESET_ON_FORK, param.sched_priority))
        if not may:
            raise PermissionError

    monkeypatch.setattr(os, "sched_setscheduler", schedule)
    with Child("threads", ["-c", THREADS]) as child:
        assert child.receive(time.monotonic() + 20) == "ready"
        group = Group(child.pid)
        group.stop()
        assert not seen  # nobody has counted its threads, and few need no help
        group.resume()
        group.look_for_children()
        group.stop()
        assert state(child.pid) == psutil.STATUS_STOPPED
        assert seen == [(os.SCHED_FIFO, 1), (os.SCHED_OTHER, 0)]
        group.resume()


def test_a_stopped_group_has_its_own_policy_again() -> None:
    with Child("threads", ["-c", THREADS]) as child:
        assert child.receive(time.monotonic() + 20) == "ready"
        group = Group(child.pid)
        group.look_for_children()
        group.stop()
        for task in Path(f"/proc/{child.pid}/task").iterdir():
            policy = os.sched_getscheduler(int(task.name))
            assert policy & ~os.SCHED_RESET_ON_FORK == os.SCHED_OTHER
        group.resume()


def test_a_group_that_has_ended_cannot_be_stopped() -> None:
    child = Child("a child", ["-c", "pass"])
    child.process.wait()
    with pytest.raises(GroupEndedError):
        Group(child.pid).stop()
    child.close()


def test_children_of_a_worker_are_stopped_and_their_time_is_counted() -> None:
    with Child("a parent", ["-c", PARENT]) as parent:
        grandchild = int(parent.receive(time.monotonic() + 300))
        group = Group(parent.pid)
        group.look_for_children()
        group.stop()
        deadline = time.monotonic() + 300
        while state(grandchild) != psutil.STATUS_STOPPED and time.monotonic() < deadline:
            time.sleep(0.001)
        used = group.cpu_s()
        time.sleep(0.05)
        assert group.cpu_s() == used
        group.resume()
        wait_for(lambda: group.cpu_s() > used, "the group does not go on")
        alone = Group(parent.pid).cpu_s()
        assert group.cpu_s() > alone
        parent.process.kill()
        os.kill(grandchild, signal.SIGKILL)
