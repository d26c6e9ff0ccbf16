"""Child processes that cannot outlive the harness, hang it, or lose their last words."""

from __future__ import annotations

import ctypes
import os
import resource
import selectors
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import IO

from bench.interrupts import interruptible

ROOT = Path(__file__).resolve().parent.parent
"""Where the packages lie. Children start here, so that they run the same code."""

RESULTS = ROOT / "results"
"""Where campaigns go."""

OWN_PYTHON = (sys.executable, "-s")
"""How a child is started with the harness's own interpreter."""

HASH_SEED = 0
STDERR_LINES = 40
PR_SET_PDEATHSIG = 1
LAST_WORDS_S = 2.0


class ProcessError(Exception):
    """A child did not do what it should; the message says which and how."""


def environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """A clean environment: what the interpreter needs, a fixed hash seed, nothing else.

    ``PYTHONPATH`` is kept, because a backend from outside may lie on it.
    """
    kept = {
        name: os.environ[name]
        for name in ("PATH", "PYTHONPATH", "LD_LIBRARY_PATH", "TMPDIR", "SYSTEMROOT")
        if name in os.environ
    }
    return {**kept, "LANG": "C.UTF-8", "PYTHONHASHSEED": str(HASH_SEED), **(extra or {})}


def dies_with_parent() -> Callable[[], None] | None:
    """What a child runs before ``exec`` so that the kernel ends it with its parent.

    None where there is no such signal (anywhere but Linux). Also forbids core
    dumps: a hung worker is ended with SIGABRT to learn where it hung.
    """
    if not sys.platform.startswith("linux"):
        return None
    libc = ctypes.CDLL(None, use_errno=True)
    parent = os.getpid()

    def prepare() -> None:
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if os.getppid() != parent:  # it died in between
            os._exit(1)

    return prepare


def spawn(
    arguments: Sequence[str],
    *,
    stdin: int,
    stderr: IO[bytes] | int,
    extra_environment: Mapping[str, str] | None = None,
) -> subprocess.Popen[bytes]:
    """Start a child that dies with this process and whose output is read from a pipe."""
    with warnings.catch_warnings():
        # From 3.12 on, Python warns of a fork in a process with threads, and
        # numpy's libraries have some. They are idle, and what the child runs
        # before exec takes no lock of theirs.
        warnings.simplefilter("ignore", DeprecationWarning)
        return subprocess.Popen(
            arguments,
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=stderr,
            cwd=ROOT,
            env=environment(extra_environment),
            preexec_fn=dies_with_parent(),
            process_group=0,  # Ctrl-C is the harness's to handle
        )


class Child:
    """A child that is spoken to in lines, with a deadline on every answer."""

    def __init__(
        self,
        what: str,
        arguments: Sequence[str],
        extra_environment: Mapping[str, str] | None = None,
        python: Sequence[str] = OWN_PYTHON,
    ) -> None:
        self.what = what
        # Closed in close(); a pipe could fill up and block the child.
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115
        self.process = spawn(
            [*python, *arguments],
            stdin=subprocess.PIPE,
            stderr=self._stderr,
            extra_environment=extra_environment,
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self._stdin, self._stdout = self.process.stdin, self.process.stdout
        self._buffer = b""
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._stdout, selectors.EVENT_READ)

    @property
    def pid(self) -> int:
        """The child's process id."""
        return self.process.pid

    def say(self, line: str) -> None:
        """Send one line; a child that is gone will be noticed when it should answer."""
        with suppress(BrokenPipeError):
            self._stdin.write(line.encode() + b"\n")
            self._stdin.flush()

    def hear(
        self,
        deadline: float,
        every_s: float | None = None,
        meanwhile: Callable[[], None] | None = None,
    ) -> str:
        """The next line of the child, by ``deadline`` on the monotonic clock.

        ``meanwhile`` is called each ``every_s`` seconds without an answer.
        Raises :class:`TimeoutError` at the deadline and :class:`ProcessError`
        when the child ended instead.
        """
        while b"\n" not in self._buffer:
            left = deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError(f"{self.what} did not answer in time")
            with interruptible():
                ready = self._selector.select(left if every_s is None else min(left, every_s))
            if ready:
                data = os.read(self._stdout.fileno(), 65536)
                if not data:
                    raise ProcessError(f"{self.what} ended: {self.ending()}")
                self._buffer += data
            elif meanwhile is not None:
                meanwhile()
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line.decode()

    def ending(self) -> str:
        """How the child ended, in words; waits a moment for it."""
        try:
            code = self.process.wait(LAST_WORDS_S)
        except subprocess.TimeoutExpired:
            return "it closed its output and went on"
        if code < 0:
            return f"killed by {signal.Signals(-code).name}"
        return f"exit code {code}"

    def abort(self) -> None:
        """End a hung child so that it says where it hung."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGABRT)
            try:
                self.process.wait(LAST_WORDS_S)
            except subprocess.TimeoutExpired:
                self.process.kill()

    def last_words(self) -> str | None:
        """The last lines of the child's standard error, None when it said nothing.

        Without this machine's folders: they end up in records.
        """
        self._stderr.seek(0)
        lines = self._stderr.read()[-65536:].decode(errors="replace").splitlines()
        text = "\n".join(lines[-STDERR_LINES:])
        for folder in (ROOT, sys.prefix, sys.base_prefix):
            text = text.replace(f"{folder}{os.sep}", "")
        return text or None

    def end(self, grace_s: float = LAST_WORDS_S) -> None:
        """Close the child's input, wait ``grace_s`` for it to end, then kill it."""
        if not self._stdin.closed:
            with suppress(BrokenPipeError):
                self._stdin.close()
        try:
            self.process.wait(grace_s)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def close(self, grace_s: float = LAST_WORDS_S) -> None:
        """End the child and let go of everything that belongs to it."""
        self.end(grace_s)
        self._selector.close()
        self._stdout.close()
        self._stderr.close()

    def __enter__(self) -> Child:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close(0.0 if error is not None else LAST_WORDS_S)
