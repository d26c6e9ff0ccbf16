"""One parse error, raised in a real crawl by each model, and what its traceback still tells.

The site is two pages: the first is whole and links to the second, whose status
line is no HTTP. The shared exchange would turn the parser's error into an
outcome; here, in a process of its own, the clause that does so is made to
match nothing, and the error of the parser comes out. The model files are run
as they are. ``python -m bench.source.stack_ripping MODEL`` prints what came.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import traceback
from contextlib import suppress
from pathlib import Path
from threading import Thread
from types import FrameType
from typing import Final, Literal

from pydantic import BaseModel

from bench.process import ROOT, environment
from bench.workloads import MODELS

TIMEOUT_S: Final = 30
BODY: Final = b'<a href="/broken">next</a>'
WHOLE: Final = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n%s"
BROKEN: Final = b"HTTP/1.1 two hundred OK\r\n\r\n"
RUNNERS: Final = frozenset({"crawl", "run", "main"})
"""Functions that start a crawl."""


Group = Literal["start", "machinery", "slot", "parser"]


class Frame(BaseModel):
    """One entry of the traceback. ``knows`` says that it can see which page was fetched."""

    file: str  # "crawlers/threads.py"; without its folder when it is not ours
    line: int
    function: str
    code: str
    knows: bool


class Ripped(BaseModel):
    """What one model left of the way to the error."""

    model: str
    error: str
    frames: list[Frame]

    @property
    def own(self) -> list[Frame]:
        """Frames of the model's own file."""
        return [frame for frame in self.frames if frame.file == f"crawlers/{self.model}.py"]

    @property
    def breakpoint(self) -> Frame:
        """Where one would stop: the model's last line before the shared parser."""
        return self.own[-1]

    def group(self, frame: Frame) -> Group:
        """What a frame is to the story."""
        if frame.knows:
            return "slot"
        if frame.file == self.own[0].file:
            return "start" if frame.function in RUNNERS else "machinery"
        return (
            "parser" if self.frames.index(frame) > self.frames.index(self.own[-1]) else "machinery"
        )

    def of(self, group: Group) -> list[Frame]:
        """The frames of one group, outermost first."""
        return [frame for frame in self.frames if self.group(frame) == group]

    @property
    def callers(self) -> int:
        """How many of the slot's functions stand above the one that met the error."""
        return len(self.of("slot")) - 1

    @property
    def text(self) -> str:
        """The traceback as Python prints it."""
        lines = ["Traceback (most recent call last):"]
        for frame in self.frames:
            lines.append(f'  File "{frame.file}", line {frame.line}, in {frame.function}')
            if frame.code:
                lines.append(f"    {frame.code}")
        return "\n".join([*lines, self.error])


def rip(model: str) -> Ripped:
    """Run one model in a fresh process.

    Raises :class:`subprocess.SubprocessError` when that fails.
    """
    done = subprocess.run(
        [sys.executable, "-s", "-m", "bench.source.stack_ripping", model],
        capture_output=True,
        check=True,
        cwd=ROOT,
        env=environment(),
        timeout=TIMEOUT_S,
    )
    return Ripped.model_validate_json(done.stdout)


def rip_all() -> list[Ripped]:
    """The four models."""
    return [rip(model) for model in MODELS]


def serve(listener: socket.socket) -> None:
    """Answer each connection's first request with the whole page, any other with no HTTP."""
    whole = WHOLE % (len(BODY), BODY)
    while True:
        with suppress(OSError):
            connection, _ = listener.accept()
            with connection:
                while request := connection.recv(65536):
                    connection.sendall(BROKEN if b"/broken" in request else whole)


def knows_page(frame: FrameType) -> bool:
    """Whether the frame has the fetch at hand, as a variable or in the slot it is a method of."""
    return "item" in frame.f_locals or hasattr(frame.f_locals.get("self"), "item")


def run_here(model: str) -> Ripped:
    """Crawl the two pages in this process and take the traceback apart."""
    from crawlers import http, registry
    from crawlers.job import Job
    from crawlers.recorder import NullRecorder

    parser_error: type[Exception] = vars(http)["HttpParserError"]
    # A clause that catches () catches nothing: the parser's own error comes out.
    vars(http)["HttpParserError"] = ()
    backend = registry.load(model)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        Thread(target=serve, args=(listener,), daemon=True).start()
        root = f"http://127.0.0.1:{listener.getsockname()[1]}/"
        try:
            backend.crawl(Job((root,), slots=1, timeout_s=TIMEOUT_S), NullRecorder())
        except parser_error as error:
            return taken_apart(model, error)
    raise SystemExit(f"{model} came to its end without the error")


def taken_apart(model: str, error: BaseException) -> Ripped:
    """The frames below this file's own, with folders left out."""
    frames = []
    for frame, line in list(traceback.walk_tb(error.__traceback__))[1:]:
        code = frame.f_code
        summary = traceback.FrameSummary(code.co_filename, line, code.co_name)
        frames.append(
            Frame(
                file=short(code.co_filename),
                line=line,
                function=code.co_name,
                code=summary.line or "",
                knows=knows_page(frame),
            )
        )
    words = "".join(traceback.format_exception_only(error)).strip()
    return Ripped(model=model, error=words, frames=frames)


def short(file: str) -> str:
    """A path without this machine's folders: from the repository, or from a package."""
    path = Path(file)
    if path.is_relative_to(ROOT):
        return path.relative_to(ROOT).as_posix()
    return "/".join(path.parts[-2:]) if path.is_absolute() else file


if __name__ == "__main__":
    print(run_here(sys.argv[1]).model_dump_json(), flush=True)
    os._exit(0)
