"""The stack-ripping exhibit as a Markdown page: what survives, and what the source counts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields

from bench.source.models import Metrics, all_metrics
from bench.source.stack_ripping import Frame, Ripped
from bench.workloads import MODELS

COMMAND = "python -m bench tracebacks --out docs/stack-ripping.md"
GONE = "*gone*"
HEAD = f"""\
# The ripped stack

<!-- Made by `{COMMAND}`: do not edit. -->

> The stack trace shows only that the event loop was running a callback. We do not remember what
> led to the error. The chain is broken on both ends: we forgot where we were going and whence we
> came. This loss of context is called "stack ripping".
>
> [A Web Crawler With asyncio Coroutines](https://aosabook.org/en/500L/a-web-crawler-with-asyncio-coroutines.html)

One site of two pages; the second answers with a status line that is no HTTP. Each model crawls it
with one slot, and the error of the shared parser is let out where the shared exchange would
otherwise turn it into an outcome. The model files are run as they are. What follows is what Python
printed.

## Which frames survive

Outermost first. A frame of the slot is one that can say which page was being fetched.
"""
METRIC_WORDS = {
    "code_lines": "lines of code, without comments and docstrings",
    "functions": "functions and methods",
    "longest": "lines of the longest function",
    "suspensions": "suspension points in the syntax (`await`, `yield`, `yield from`)",
    "hand_overs": "places where the next step is left with a loop or a future",
    "state": "fields a slot carries from step to step",
    "locks": "locks, conditions and events",
    "locked": "blocks that hold a lock",
}


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """A Markdown table whose first column is text."""
    lines = [header, ["---"] * len(header), *rows]
    return [f"| {' | '.join(cells)} |" for cells in lines]


def place(frame: Frame) -> str:
    """``fetch``, line 103."""
    return f"`{frame.function}`, line {frame.line}"


def surviving(ripped: Sequence[Ripped]) -> list[str]:
    """The frames of all models, aligned by what they are to the story."""

    def row(words: str, cell: Callable[[Ripped], str]) -> list[str]:
        return [words, *(cell(one) for one in ripped)]

    def names(frames: Sequence[Frame]) -> str:
        return ", ".join(f"`{frame.function}`" for frame in frames) or "–"

    slot = list(dict.fromkeys(frame.function for one in ripped for frame in one.of("slot")))
    rows = [
        row("start of the crawl", lambda one: names(one.of("start"))),
        row("the model's machinery", lambda one: names(one.of("machinery"))),
    ]
    for function in slot:

        def cell(one: Ripped, function: str = function) -> str:
            found = [frame for frame in one.of("slot") if frame.function == function]
            return place(found[0]) if found else GONE

        rows.append(row(f"the slot: `{function}`", cell))
    rows += [
        row("the shared parser", lambda one: names(one.of("parser")[:1])),
        row("**callers of the slot left**", lambda one: f"**{one.callers}**"),
        row("**break here**", lambda one: f"{place(one.breakpoint)}: `{one.breakpoint.code}`"),
    ]
    return table(["", *(f"`{one.model}`" for one in ripped)], rows)


def metric_rows() -> list[list[str]]:
    """What is counted and the four counts, one row for each metric."""
    found = all_metrics()
    return [
        [METRIC_WORDS[field.name], *(str(getattr(one, field.name)) for one in found.values())]
        for field in fields(Metrics)
    ]


def counted() -> list[str]:
    """The metrics as a Markdown table."""
    return table(["", *(f"`{model}`" for model in MODELS)], metric_rows())


def markdown(ripped: Sequence[Ripped]) -> str:
    """The whole page."""
    lines = [HEAD, *surviving(ripped)]
    lines += [
        "",
        "Not every *gone* is a loss: where `fetch` waits for its bytes itself, it needs no",
        "`receive`. What counts are the callers left: they say where the fetch was going.",
        "",
        "## The four tracebacks",
    ]
    for one in ripped:
        lines += [f"\n### {one.model}\n", "```", one.text, "```"]
    lines += [
        "\n## What the source counts\n",
        *counted(),
        "",
        "Read off the syntax trees of the four model files. The loop of `callbacks` and",
        "`generators`, `crawlers/loop.py`, is not counted; `generators` brings its own `Future`",
        "and `Task`, while `async_await` uses asyncio's.",
    ]
    return "\n".join(lines) + "\n"
