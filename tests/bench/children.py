"""Small Python processes for the probes to look at."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import psutil

from bench.sides.process import Child

T = TypeVar("T")


def state(pid: int) -> str:
    return str(psutil.Process(pid).status())


def huge_pages(pid: int) -> str | None:
    """Whether a process may have any: "1", "0", or None where the kernel does not say."""
    fields = dict(
        line.split(":\t") for line in Path(f"/proc/{pid}/status").read_text().splitlines()
    )
    return fields.get("THP_enabled")


def wait_for(found: Callable[[], T], what: str, pause_s: float = 0.1) -> T:
    """Wait until something is found, or true, and return that; fail after five minutes."""
    deadline = time.monotonic() + 300
    while not (result := found()):
        assert time.monotonic() < deadline, what
        time.sleep(pause_s)
    return result


class Answering(Child):
    """A Python process that runs ``code``, prints "ready", and answers each line it is sent."""

    def __init__(self, code: str, *arguments: str) -> None:
        super().__init__("a child", ["-u", "-c", code, *arguments])

    def read(self) -> str:
        return self.receive(time.monotonic() + 300).strip()

    def ask(self, line: str) -> str:
        self.send(line)
        return self.read()

    def __exit__(self, *_: object) -> None:
        self.close(0.0)


SLEEPER = """
import sys, threading
for _ in range(int(sys.argv[1])):
    threading.Thread(target=threading.Event().wait, daemon=True).start()
print("ready")
sys.stdin.readline()
"""

PARENT = """
import subprocess, sys
child = subprocess.Popen(["sh", "-c", "cat; :"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
child.stdin.write(b"when it answers, it has opened and closed its libraries\\n")
child.stdin.flush()
child.stdout.readline()
print("ready")
sys.stdin.readline()
"""
