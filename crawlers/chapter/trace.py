"""Who has control: which slot of a model runs, at which line it waits, and who runs next.

A profile function sees the model's functions begin and end. The models themselves have no hooks.
"""

import _socket
import linecache
import selectors
import sys
import threading
import time
from dis import opname
from html import escape
from types import FrameType, ModuleType

from crawlers.job import Job
from crawlers.recorder import NullRecorder

SKIPPED = ("__init__", "<lambda>", "disconnect")
Turn = tuple[str, float, float, str, str]
"""Who had control, from when to when (milliseconds), what it did, and where it waits then."""


class Tracer:
    def __init__(self, file: str | None) -> None:
        self.file, self.turns, self.start = file, list[Turn](), 0.0
        self.local = threading.local()

    def begin(self, who: str) -> None:
        self.start = self.start or time.perf_counter()
        self.local.turn = (who, 1000 * (time.perf_counter() - self.start), list[str]())

    def end(self, waits: str) -> None:
        (who, begun, names), now = self.local.turn, 1000 * (time.perf_counter() - self.start)
        self.turns.append((who, begun, now, " > ".join(dict.fromkeys(names)), waits))

    def __call__(self, frame: FrameType, event: str, function: object) -> None:
        code, here = frame.f_code, self.local.__dict__
        stack, begins = here.setdefault("stack", []), event in ("call", "c_call")
        if event.startswith("c_"):  # a builtin, which may block the thread
            sock, name = getattr(function, "__self__", None), getattr(function, "__name__", "")
            waits = isinstance(sock, _socket.socket) and sock.gettimeout() != 0
            if code.co_filename == self.file and waits and name in ("connect", "recv"):
                self.end(line_of(frame)) if begins else self.begin(here["turn"][0])
        elif code is threading.Condition.wait.__code__ and stack and frame.f_back:
            self.end(line_of(frame.f_back)) if begins else self.begin(here["turn"][0])
        elif code.co_name == "select" and code.co_filename == selectors.__file__:
            self.begin("loop") if begins else self.end("rests in select")
        elif code.co_filename == self.file and (slot := slot_of(frame)) is not None:
            if begins:
                if not stack:
                    self.begin(f"slot {slot}")
                stack.append(code.co_name)
                here["turn"][2].append(code.co_name)
                here["waits"] = ""
            else:
                stack.pop()
                if not opname[code.co_code[frame.f_lasti]].startswith("RETURN"):
                    here["waits"] = here["waits"] or line_of(frame)  # the innermost suspended
                if not stack:
                    self.end(here["waits"] or "returns")


def slot_of(frame: FrameType) -> int | None:
    """The number of the slot that a function was given."""
    names = frame.f_code.co_varnames[: frame.f_code.co_argcount]
    slot = frame.f_locals.get("slot" if "slot" in names else "self")
    return None if frame.f_code.co_name in SKIPPED else getattr(slot, "number", None)


def line_of(frame: FrameType) -> str:
    line = linecache.getline(frame.f_code.co_filename, frame.f_lineno).strip()
    return f"waits in {frame.f_code.co_name}, line {frame.f_lineno}: {line}"


def trace(model: ModuleType, url: str, slots: int = 3) -> list[Turn]:
    """Crawl with a model; the turns of its slots and its loop, in their order."""
    tracer = Tracer(model.__file__)
    threading.setprofile(tracer)
    sys.setprofile(tracer)
    try:
        model.crawl(Job((url,), slots=slots), NullRecorder())
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return sorted(tracer.turns, key=lambda turn: turn[1])


def svg(traces: dict[str, list[Turn]]) -> str:
    """The models under each other: a row for the loop, which rests there, and one for each slot."""
    scale = 900 / max(turn[2] for turns in traces.values() for turn in turns)
    parts, y = ['<text x="80" y="12">orange: a slot runs; grey: the loop rests</text>'], 0
    for model, turns in traces.items():
        y += 32
        parts.append(f'<text x="4" y="{y - 4}" font-weight="bold">{model}</text>')
        for row in sorted({turn[0] for turn in turns}):
            y += 16
            parts.append(f'<text x="12" y="{y - 4}">{row}</text>')
            for who, begun, ended, does, waits in turns:
                if who == row:
                    x, width = 80 + scale * begun, max(scale * (ended - begun), 1)
                    size = f'x="{x:.1f}" y="{y - 14}" width="{width:.1f}" height="12"'
                    fill, words = "#cbd5e1" if who == "loop" else "#c2410c", f"{does} {waits}"
                    words = f"<title>{escape(words)}</title>"
                    parts.append(f'<rect {size} fill="{fill}">{words}</rect>')
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 990 {y + 8}" font-size="11" '
        f'font-family="sans-serif" role="img"><title>Who has control</title>'
        f'<rect width="100%" height="100%" fill="white"/>{"".join(parts)}</svg>\n'
    )
