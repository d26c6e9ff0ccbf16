"""Write docs/stack-ripping.md: what remains of the stack after the same parse error in each model.

``python -m tools.rebuild documents`` runs each of the four models in a fresh process for it, in two
seconds. The claim about callbacks counts the callers that are left by the same experiment.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from bench.claims.experiments import stack_ripping
from bench.claims.experiments.stack_ripping import Frame, Ripped
from bench.launch import ROOT
from bench.text import markdown_table
from crawlers.registry import MODELS

PAGE: Final = ROOT / "docs" / "stack-ripping.md"
GONE: Final = "*gone*"
HEAD: Final = """\
# The ripped stack

<!-- Made by `python -m tools.rebuild documents`: do not edit. -->

> The stack trace shows only that the event loop was running a callback. We do not remember what
> led to the error. The chain is broken on both ends: we forgot where we were going and whence we
> came. This loss of context is called "stack ripping".
>
> [A Web Crawler With asyncio Coroutines](https://aosabook.org/en/500L/a-web-crawler-with-asyncio-coroutines.html)

Each model crawls a site of two pages with one slot. The second page has a status line that is not
valid HTTP. Normally the shared exchange turns the parser's error into a result; for this exhibit it
lets the error through. The model files run unchanged.

## Which frames survive

Outermost first. A frame belongs to the slot if it knows which page was being fetched.
"""
FOOT: Final = """
Not every *gone* is a loss: if `fetch` waits for its bytes itself, there is no `receive`.
The callers left are what matters: they show what the fetch was for.

How long and how complex the four files are: [side by side](side-by-side.md#metrics-of-the-source).

## Where an error can be caught

The chapter adds that no handler can enclose a chain of callbacks. Here one `except` of `fetch`
ends whatever fails in a whole exchange, with threads, generators and coroutines. The other catches
of `generators` wait again for a socket that is not ready. With callbacks each step needs its own.
"""
TEXTS: Final = """
## The four tracebacks

The generators are the chapter's point: each `yield from` is a frame, so the way to the error is
whole again.
"""


def markdown(ripped: Sequence[Ripped]) -> str:
    """The whole page."""
    lines = [HEAD, *surviving(ripped), FOOT, *catching(), TEXTS]
    lines += [f"### {model_run.model}\n\n```\n{model_run.text}\n```\n" for model_run in ripped]
    return "\n".join(lines)


def catching() -> list[str]:
    """Which functions of each model end an exchange, and how often it says ``except``."""
    ending = [stack_ripping.handlers(model) for model in MODELS]
    rows = [
        ["functions that end a failed exchange", *(str(len(names)) for names in ending)],
        ["", *(", ".join(f"`{name}`" for name in names) for names in ending)],
        ["`except` in all", *(str(len(stack_ripping.catches(model))) for model in MODELS)],
    ]
    return markdown_table(["", *(f"`{model}`" for model in MODELS)], rows)


def surviving(ripped: Sequence[Ripped]) -> list[str]:
    """The frames of all models, aligned by their role."""

    def row(words: str, cell: Callable[[Ripped], str]) -> list[str]:
        return [words, *(cell(run) for run in ripped)]

    def at(function: str) -> Callable[[Ripped], str]:
        def cell(run: Ripped) -> str:
            frames = [frame for frame in run.of("slot") if frame.function == function]
            return _place(frames[0]) if frames else GONE

        return cell

    slot = dict.fromkeys(frame.function for run in ripped for frame in run.of("slot"))
    rows = [
        row("start of the crawl", lambda run: _names(run.of("start"))),
        row("the model's machinery", lambda run: _names(run.of("machinery"))),
        *(row(f"the slot: `{function}`", at(function)) for function in slot),
        row("the shared parser", lambda run: _names(run.of("parser")[:1])),
        row("**callers of the slot left**", lambda run: f"**{run.callers}**"),
        row("**break here**", lambda run: f"{_place(run.breakpoint)}: `{run.breakpoint.code}`"),
    ]
    return markdown_table(["", *(f"`{run.model}`" for run in ripped)], rows)


def _names(frames: Sequence[Frame]) -> str:
    return ", ".join(f"`{frame.function}`" for frame in frames) or "–"


def _place(frame: Frame) -> str:
    return f"`{frame.function}`, line {frame.line}"
