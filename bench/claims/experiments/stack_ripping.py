"""How many of a slot's callers each model's traceback shows after one parse error in a crawl.

The site has two pages: the first is valid and links to the second, whose status line is not HTTP.
Normally the shared exchange turns the parser's error into a result. Here, in a process of its own,
that ``except`` clause is made to match nothing, so the error gets through. The model files run
unchanged. As a program, with a model, this module prints the result as JSON. docs/stack-ripping.md
shows it.
"""

from __future__ import annotations

import ast
import os
import socket
import sys
import traceback
from contextlib import suppress
from pathlib import Path
from threading import Thread
from types import FrameType
from typing import Final

from pydantic import BaseModel

from bench.claims.experiments import ExperimentResult
from bench.launch import OWN_PYTHON, ROOT, run_module
from crawlers.registry import MODELS

TIMEOUT_S: Final = 30
BODY: Final = b'<a href="/broken">next</a>'
WHOLE: Final = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n%s"
BROKEN: Final = b"HTTP/1.1 two hundred OK\r\n\r\n"
ENDS: Final = frozenset({"fail", "wait"})
"""What is called to end a failed exchange; callbacks ``wait``, unless TLS only wants to."""


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
    def callers(self) -> int:
        """How many of the slot's functions are above the one that met the error."""
        return sum(frame.knows for frame in self.frames) - 1


def stack_ripping() -> ExperimentResult:
    result = ExperimentResult()
    for ripped in rip_all():
        result.values[f"{ripped.model}_callers"] = float(ripped.callers)
        result.values[f"{ripped.model}_handlers"] = float(len(handlers(ripped.model)))
    return result


def catches(model: str) -> list[tuple[str, ast.ExceptHandler]]:
    """Each ``except`` in the source of a model, with its function."""
    tree = ast.parse((ROOT / "crawlers" / f"{model}.py").read_text(encoding="utf-8"))
    functions = (n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef))
    return [(f.name, n) for f in functions for n in ast.walk(f) if isinstance(n, ast.ExceptHandler)]


def handlers(model: str) -> list[str]:
    """The functions that end an exchange where they catch an error."""
    ends = {
        function
        for function, handler in catches(model)
        for node in ast.walk(handler)
        if isinstance(node, ast.Attribute) and node.attr in ENDS
    }
    return sorted(ends)


def rip_all() -> list[Ripped]:
    """The four models, each in a fresh process.

    Raises :class:`subprocess.SubprocessError` if one fails.
    """
    found = []
    for model in MODELS:
        done = run_module(OWN_PYTHON, __name__, model, timeout_s=TIMEOUT_S)
        done.check_returncode()
        found.append(Ripped.model_validate_json(done.stdout))
    return found


def serve(listener: socket.socket) -> None:
    whole = WHOLE % (len(BODY), BODY)
    while True:
        with suppress(OSError):
            connection, _ = listener.accept()
            with connection:
                while request := connection.recv(65536):
                    connection.sendall(BROKEN if b"/broken" in request else whole)


def run_here(model: str) -> Ripped:
    """Crawl the two pages in this process and analyze the traceback."""
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
            words = "".join(traceback.format_exception_only(error)).strip()
            entries = list(traceback.walk_tb(error.__traceback__))[1:]  # without this file's own
            return Ripped(model=model, error=words, frames=[frame_of(*each) for each in entries])
    raise SystemExit(f"{model} finished without the error")


def frame_of(frame: FrameType, line: int) -> Frame:
    """Without this machine's folders: relative to the repository or a package."""
    name, function = frame.f_code.co_filename, frame.f_code.co_name
    path, file = Path(name), name
    if path.is_relative_to(ROOT):
        file = path.relative_to(ROOT).as_posix()
    elif path.is_absolute():
        file = "/".join(path.parts[-2:])
    return Frame(
        file=file,
        line=line,
        function=function,
        code=traceback.FrameSummary(name, line, function).line or "",
        # The fetch is a variable of the frame, or in the slot that it is a method of.
        knows="item" in frame.f_locals or hasattr(frame.f_locals.get("self"), "item"),
    )


if __name__ == "__main__":
    print(run_here(sys.argv[1]).model_dump_json(), flush=True)
    os._exit(0)
