"""One parse error, raised in a real crawl by each model, and what its traceback shows.

The site has two pages: the first is valid and links to the second, whose status line
is not HTTP. Normally the shared exchange turns the parser's error into a result. Here,
in a process of its own, that ``except`` clause is made to match nothing, so the error
gets through. The model files run unchanged. ``python -m bench.exhibits.stack_ripping
MODEL`` prints the result as JSON.
"""

from __future__ import annotations

import os
import socket
import sys
import traceback
from contextlib import suppress
from pathlib import Path
from threading import Thread
from types import FrameType
from typing import Final, Literal

from pydantic import BaseModel

from bench.launch import OWN_PYTHON, ROOT, run_module
from crawlers.registry import MODELS

TIMEOUT_S: Final = 30
BODY: Final = b'<a href="/broken">next</a>'
WHOLE: Final = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n%s"
BROKEN: Final = b"HTTP/1.1 two hundred OK\r\n\r\n"
RUNNERS: Final = frozenset({"crawl", "run", "main"})
"""Functions that start a crawl."""


Group = Literal["start", "machinery", "slot", "parser"]


class Frame(BaseModel):
    """One entry of the traceback. ``knows`` is true if it can see which page was fetched."""

    file: str  # "crawlers/threads.py"; shortened for files of other projects
    line: int
    function: str
    code: str
    knows: bool


class Ripped(BaseModel):
    """What one model's traceback shows of the way to the error."""

    model: str
    error: str
    frames: list[Frame]

    @property
    def own(self) -> list[Frame]:
        """Frames of the model's own file."""
        return [frame for frame in self.frames if frame.file == f"crawlers/{self.model}.py"]

    @property
    def breakpoint(self) -> Frame:
        """Where to set a breakpoint: the model's last frame before the shared parser."""
        return self.own[-1]

    def group(self, frame: Frame) -> Group:
        """The role of a frame."""
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
        """How many of the slot's functions are above the one that met the error."""
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

    Raises :class:`subprocess.SubprocessError` if that fails.
    """
    done = run_module(OWN_PYTHON, "bench.exhibits.stack_ripping", model, timeout_s=TIMEOUT_S)
    done.check_returncode()
    return Ripped.model_validate_json(done.stdout)


def rip_all() -> list[Ripped]:
    """The four models."""
    return [rip(model) for model in MODELS]


def serve(listener: socket.socket) -> None:
    """Answer with the valid page, and for ``/broken`` with the broken one."""
    whole = WHOLE % (len(BODY), BODY)
    while True:
        with suppress(OSError):
            connection, _ = listener.accept()
            with connection:
                while request := connection.recv(65536):
                    connection.sendall(BROKEN if b"/broken" in request else whole)


def knows_page(frame: FrameType) -> bool:
    """Whether the frame has the fetch, as a variable or in the slot it is a method of."""
    return "item" in frame.f_locals or hasattr(frame.f_locals.get("self"), "item")


def run_here(model: str) -> Ripped:
    """Crawl the two pages in this process and analyse the traceback."""
    from crawlers import http, registry
    from crawlers.job import Job
    from crawlers.recorder import NullRecorder

    parser_error: type[Exception] = vars(http)["HttpParserError"]
    # A clause that catches () catches nothing, so the parser's own error gets through.
    vars(http)["HttpParserError"] = ()
    backend = registry.load(model)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        Thread(target=serve, args=(listener,), daemon=True).start()
        root = f"http://127.0.0.1:{listener.getsockname()[1]}/"
        try:
            backend.crawl(Job((root,), slots=1, timeout_s=TIMEOUT_S), NullRecorder())
        except parser_error as error:
            return analysed(model, error)
    raise SystemExit(f"{model} finished without the error")


def analysed(model: str, error: BaseException) -> Ripped:
    """The frames below this file's own, without folders."""
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
    """A path without this machine's folders, relative to the repository or a package."""
    path = Path(file)
    if path.is_relative_to(ROOT):
        return path.relative_to(ROOT).as_posix()
    return "/".join(path.parts[-2:]) if path.is_absolute() else file


if __name__ == "__main__":
    print(run_here(sys.argv[1]).model_dump_json(), flush=True)
    os._exit(0)
