"""How each cost is counted: with which program, and what its output says.

An *instrument* is a program that runs the worker. Each counts from the start of the
worker to its end, so a cost per page is the difference between crawls of N and of 2 N pages:
what start, warm-up and end take cancels.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from bench.launch import output

Counts = Mapping[str, int]
"""What one crawl took in total: names of costs -> numbers."""

INSTRUCTIONS = "instructions"
SYSCALLS = "system_calls"
SYSCALL = "system_call."
"""Before the name of a system call."""

OUTPUT = "count"
"""Instruments write to files of this name in the scratch folder; one for each process."""

PROBE_S = 60.0


@dataclass(frozen=True, slots=True)
class Instrument:
    name: str
    tool: str  # the program and its version, for records
    words: Sequence[str] = ()  # before the interpreter's; ``{}`` is the file to write to
    read: Callable[[str], Counts] = lambda _: {}  # the counts in what it wrote
    slowness: float = 1.0  # how many times longer the worker may take
    missing: str | None = None  # why it cannot be used here, and what to do

    def wrap(self, folder: Path) -> list[str]:
        return [word.replace("{}", str(folder / OUTPUT)) for word in self.words]

    def clear(self, folder: Path) -> None:
        for left in folder.glob(f"{OUTPUT}*"):
            left.unlink()

    def results(self, folder: Path) -> Counts:
        """The counts that it left in the folder; removes the files.

        Raises :class:`ValueError` when there is none, or it cannot be read.
        """
        files = sorted(folder.glob(f"{OUTPUT}*"))
        texts = [file.read_text(encoding="utf-8", errors="replace") for file in files]
        self.clear(folder)
        return self.read("\n".join(texts))


# --- what the programs write -------------------------------------------------------------


def read_instructions(text: str) -> Counts:
    counts = re.findall(r"\bI\s+refs:\s+([\d,]+)", text)
    if not counts:
        raise ValueError("cachegrind wrote no count of instructions")
    return {INSTRUCTIONS: sum(int(count.replace(",", "")) for count in counts)}


def read_system_calls(text: str) -> Counts:
    """How often each system call was made, from strace's log of all threads.

    A call that another thread interrupts takes two lines; it counts where it begins.
    """
    counts = Counter(re.findall(r"^(?:\d+ +)?(\w+)\(", text, re.MULTILINE))
    if not counts:
        raise ValueError("strace wrote no system calls")
    return {
        SYSCALLS: counts.total(),
        **{f"{SYSCALL}{name}": counts[name] for name in sorted(counts)},
    }


# --- which programs are here -------------------------------------------------------------


def fault(words: Sequence[str], cannot: str) -> str | None:
    """Why a tool is of no use, with what it ``cannot`` do; None if it works.

    A slow machine is not the tool's fault, and another version would not help.
    """
    try:
        return cannot if output(words, PROBE_S).returncode else None
    except subprocess.TimeoutExpired:
        return f"did not answer in {PROBE_S:g} s: this machine is overloaded; try again later"
    except OSError as error:
        return f"cannot be started: {error.strerror}"


def version(program: str) -> str | None:
    if shutil.which(program) is None:
        return None
    words = ""
    with suppress(OSError, subprocess.SubprocessError):
        done = output([program, "--version"], PROBE_S)  # wrk says it with its usage, and exits 1
        words = done.stdout + done.stderr
    number = re.search(r"\d+(?:\.\d+)+", words)
    return f"{program} {number.group()}" if number else program


def checked(program: str, words: Sequence[str], cannot: str) -> tuple[str, str | None]:
    """A program and its version, and why it is of no use, if it is not: see :func:`fault`."""
    tool = version(program)
    if tool is None:
        return "", f"{program} is not installed; install it with: apt-get install {program}"
    why = fault(words, cannot)
    return tool, f"{tool} {why}" if why else None


def prefixed() -> list[str]:
    """The words that let counts repeat: the server first, and no random layout of addresses.

    An answer that comes late makes one more round of an event loop. Few come late when the worker
    is a hundred times slower than usual and lets the server go first, and a busy machine must not
    change that. The hashes of objects that have none of their own are their addresses; a container
    may forbid to fix those, and counts then repeat less well.
    """
    wanted = (["nice", "-n", "10"], ["setarch", "-R"])
    return [word for words in wanted if not fault([*words, "true"], "fails") for word in words]


def cachegrind() -> Instrument:
    options = ("--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null")
    words = [*prefixed(), "valgrind", "--trace-children=yes", "--vgdb=no", *options]
    cannot = "cannot run this interpreter; try a newer one"
    tool, missing = checked("valgrind", [*words, sys.executable, "-S", "-c", ""], cannot)
    if tool and "setarch" not in words:
        tool += ", random addresses"
    words.append("--log-file={}.%p")
    return Instrument("instructions", tool, words, read_instructions, 60, missing)


def strace() -> Instrument:
    words = [*prefixed(), "strace", "-qq", "-s", "0", "-e", "signal=none", "-o"]
    cannot = "may not trace here (ptrace is forbidden, as in many containers)"
    # Not with -ff, which writes to /dev/null.PID, as only root may.
    tool, missing = checked("strace", [*words, "/dev/null", "-f", "true"], cannot)
    return Instrument("system calls", tool, [*words, "{}", "-ff"], read_system_calls, 40, missing)


MAKERS = {"instructions": cachegrind, "system calls": strace}
NAMES = tuple(MAKERS)
"""Every instrument; see :func:`find`."""


def find(names: Iterable[str]) -> list[Instrument]:
    return [make() for name, make in MAKERS.items() if name in names]
