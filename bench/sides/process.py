"""Child processes that cannot outlive the harness, block it, or lose their error output.

Ctrl-C takes effect only where it is safe: an exception at an arbitrary moment could leave a child
or a file half open. While :func:`deferred` is active, SIGINT, SIGTERM and SIGHUP (a closed
terminal) take effect only where the harness waits, in an :func:`interruptible` section. That is
nearly always. A second signal takes effect at once.
"""

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
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from types import FrameType
from typing import IO, Self, TypeVar

from bench.launch import OWN_PYTHON, ROOT, environment
from bench.machine import procfs
from bench.sides.group import Group
from bench.sides.protocol import (
    GO,
    Command,
    Failed,
    Message,
    Ready,
    Result,
    decode,
    encode,
)

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

_pending = False
_waiting = False


def _handle(number: int, frame: FrameType | None) -> None:
    global _pending
    if _waiting or _pending:
        raise KeyboardInterrupt
    _pending = True


@contextmanager
def deferred() -> Iterator[None]:
    """Let :data:`SIGNALS` raise KeyboardInterrupt in interruptible sections only.

    A signal that the parent process ignores (``nohup``, ``&``) stays ignored.
    """
    global _pending
    before = {number: signal.getsignal(number) for number in SIGNALS}
    handled = [number for number in SIGNALS if before[number] != signal.SIG_IGN]
    for number in handled:
        signal.signal(number, _handle)
    _pending = False
    try:
        yield
    finally:
        for number in handled:
            signal.signal(number, before[number])


@contextmanager
def interruptible() -> Iterator[None]:
    """A section in which a signal, also an earlier one, raises KeyboardInterrupt."""
    global _pending, _waiting
    _waiting = True
    try:
        if _pending:
            _pending = False
            raise KeyboardInterrupt
        yield
    finally:
        _waiting = False


def kill(group: int) -> None:
    """Kill a group of processes, if there is one."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)


# --- children ----------------------------------------------------------------------------


STDERR_LINES = 40
PR_SET_PDEATHSIG, PR_SET_THP_DISABLE = 1, 41
GRACE_S = 2.0
"""How long a child may take to exit before it is killed."""
MEANWHILE_S = 0.25
"""Between looks at something else while a child is waited for."""


class ProcessError(Exception):
    """A child ended, or did not say what it should; the message says which one and why."""


def dies_with_parent() -> Callable[[], None]:
    """A function for a child to run before ``exec``, so that the kernel kills it with its parent.

    It also disables core dumps: a hung worker gets SIGABRT so that it prints where it hung.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    parent = os.getpid()

    def prepare() -> None:
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if os.getppid() != parent:  # the parent died in between
            os._exit(1)

    return prepare


@contextmanager
def without_huge_pages() -> Iterator[None]:
    """Give no transparent huge pages to children that are started here (prctl(2), inherited).

    CPython 3.15 asks for them, and some kernels give them to all. Which ones is chance, and each
    counts 2 MB, touched or not: 8 KiB for each of a thousand connections in one trial of eight.
    """
    libc = ctypes.CDLL(None)
    libc.prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0)
    try:
        yield
    finally:
        libc.prctl(PR_SET_THP_DISABLE, 0, 0, 0, 0)


def spawn(
    arguments: Sequence[str],
    *,
    stdin: int,
    stderr: IO[bytes] | int,
    extra_environment: Mapping[str, str] | None = None,
) -> subprocess.Popen[bytes]:
    """Start a child that dies with this process and writes its output to a pipe."""
    with warnings.catch_warnings():
        # From 3.12 on, Python warns of a fork in a process with threads, and
        # numpy's libraries have some. They are idle, and the child does not
        # use them before exec.
        warnings.simplefilter("ignore", DeprecationWarning)
        return subprocess.Popen(
            arguments,
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=stderr,
            cwd=ROOT,
            env=environment(extra_environment),
            preexec_fn=dies_with_parent(),
            process_group=0,  # so that Ctrl-C reaches the harness only
        )


def without_folders(text: str) -> str:
    """What a program printed, without this machine's folders, because it goes into records."""
    for folder in (ROOT, sys.prefix, sys.base_prefix):
        text = text.replace(f"{folder}{os.sep}", "")
    return text


class Child(Group):
    """A child that reads and writes lines, with a deadline on every line that it should write."""

    def __init__(
        self,
        what: str,
        arguments: Sequence[str],
        extra_environment: Mapping[str, str] | None = None,
        python: Sequence[str] = OWN_PYTHON,
    ) -> None:
        self.what = what
        # A file, because a full pipe would block the child; close() closes it.
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115
        try:
            self.process = spawn(
                [*python, *arguments],
                stdin=subprocess.PIPE,
                stderr=self._stderr,
                extra_environment=extra_environment,
            )
        except OSError as error:
            self._stderr.close()
            raise ProcessError(f"{what} did not start: {error.strerror}") from None
        super().__init__(self.process.pid)
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self._stdin, self._stdout = self.process.stdin, self.process.stdout
        self._buffer = b""
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._stdout, selectors.EVENT_READ)

    def send(self, line: str) -> None:
        """Send one line. A child that has ended goes unnoticed until it should answer."""
        with suppress(BrokenPipeError):
            self._stdin.write(line.encode() + b"\n")
            self._stdin.flush()

    def receive(self, deadline: float, meanwhile: Callable[[], None] | None = None) -> str:
        """The child's next line, by ``deadline`` on the monotonic clock.

        ``meanwhile`` is called every :data:`MEANWHILE_S` seconds until it comes. Raises
        :class:`TimeoutError` at the deadline and :class:`ProcessError` if the
        child ends first.
        """
        late = False
        while b"\n" not in self._buffer:
            left = deadline - time.monotonic()
            if left <= 0:
                if late:
                    raise TimeoutError(f"{self.what} did not answer in time")
                # Look once more: the line may have come in time while this process was stopped.
                late, left = True, 0.0
            with interruptible():
                ready = self._selector.select(min(left, MEANWHILE_S) if meanwhile else left)
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
        """How the child ended, in words. Waits a moment for it to exit."""
        try:
            code = self.process.wait(GRACE_S)
        except subprocess.TimeoutExpired:
            return "it closed its output and kept running"
        if code < 0:
            memory = ", as by the kernel when memory runs out" if -code == signal.SIGKILL else ""
            return f"killed by {signal.Signals(-code).name}{memory}"
        return f"exit code {code}"

    def abort(self) -> None:
        """Let a hung child print where it hung; :meth:`end` comes next."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGABRT)
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(GRACE_S)

    def stderr_tail(self) -> str | None:
        if self._stderr.closed:
            return None
        self._stderr.seek(0)
        lines = self._stderr.read()[-65536:].decode(errors="replace").splitlines()
        return without_folders("\n".join(lines[-STDERR_LINES:])) or None

    def end_input(self) -> None:
        if not self._stdin.closed:
            with suppress(BrokenPipeError):
                self._stdin.close()

    def end(self, grace_s: float = GRACE_S) -> None:
        self.end_input()
        try:
            self.process.wait(grace_s)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def close(self, grace_s: float = GRACE_S) -> None:
        self.end(grace_s)
        self._selector.close()
        self._stdout.close()
        self._stderr.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self.close(0.0 if error is not None else GRACE_S)


# --- workers -----------------------------------------------------------------------------


M = TypeVar("M", bound=Message)


class WorkerProcess(Child):
    def __init__(
        self,
        name: str = "the worker",
        python: Sequence[str] = OWN_PYTHON,
        extra_environment: Mapping[str, str] | None = None,
        module: str = "bench.sides.worker",
    ) -> None:
        super().__init__(name, ["-m", module], extra_environment, python)

    def command(self, command: Command) -> None:
        """Tell the worker what to crawl, or to ask for; it warms up at once."""
        self.send(encode(command))

    def ready(self, timeout_s: float) -> None:
        self._receive(Ready, time.monotonic() + timeout_s)

    def go(self) -> None:
        self.send(GO)

    def result(self, deadline: float, meanwhile: Callable[[], None] | None = None) -> Result:
        """The worker's result, received as in :meth:`receive`.

        Raises :class:`ProcessError` too, when the worker gives none.
        """
        return self._receive(Result, deadline, meanwhile)

    def _receive(
        self, kind: type[M], deadline: float, meanwhile: Callable[[], None] | None = None
    ) -> M:
        try:
            message = decode(self.receive(deadline, meanwhile))
        except ValueError as error:
            raise ProcessError(f"{self.what}: {error}") from None
        if isinstance(message, Failed):
            raise ProcessError(f"{self.what} failed: {message.error}")
        if not isinstance(message, kind):
            expected, got = kind.__name__, type(message).__name__
            raise ProcessError(f"{self.what}: expected {expected}, got {got}")
        return message


def threads(pid: int) -> int:
    """How many threads a process has now; 0 where that cannot be read cheaply."""
    return procfs.status(pid).get("Threads", 0)
