"""The stack-ripping exhibit as a Markdown page: surviving frames, and counts of the source."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields

from bench.exhibits.models import Metrics, all_metrics
from bench.exhibits.stack_ripping import Frame, Ripped
from bench.text import markdown_table
from crawlers.registry import MODELS

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

Each model crawls a site of two pages with one slot. The second page has a status line that is not
valid HTTP. Normally the shared exchange turns the parser's error into a result; for this exhibit it
lets the error through. The model files run unchanged. Below is what Python printed.

## Which frames survive

Outermost first. A frame belongs to the slot if it knows which page was being fetched.
"""
METRIC_WORDS = {
    "code_lines": "lines of code, without comments and docstrings",
    "functions": "functions and methods",
    "longest": "lines of the longest function",
    "suspensions": "suspension points in the syntax (`await`, `yield`, `yield from`)",
    "hand_overs": "places that leave the next step to a loop or a future",
    "state": "fields that a slot carries from step to step",
    "locks": "locks, conditions and events",
    "locked": "blocks that hold a lock",
}


def place(frame: Frame) -> str:
    """``fetch``, line 103."""
    return f"`{frame.function}`, line {frame.line}"


def surviving(ripped: Sequence[Ripped]) -> list[str]:
    """The frames of all models, aligned by their role."""

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
    return markdown_table(["", *(f"`{one.model}`" for one in ripped)], rows)


def metric_rows() -> list[list[str]]:
    """One row per metric: its name, and the count of each model."""
    found = all_metrics()
    return [
        [METRIC_WORDS[field.name], *(str(getattr(one, field.name)) for one in found.values())]
        for field in fields(Metrics)
    ]


def counted() -> list[str]:
    """The metrics as a Markdown table."""
    return markdown_table(["", *(f"`{model}`" for model in MODELS)], metric_rows())


def markdown(ripped: Sequence[Ripped]) -> str:
    """The whole page."""
    lines = [HEAD, *surviving(ripped)]
    lines += [
        "",
        "Not every *gone* is a loss: if `fetch` waits for its bytes itself, there is no `receive`.",
        "The callers left are what matters: they show what the fetch was for.",
        "",
        "## The four tracebacks",
    ]
    for one in ripped:
        lines += [f"\n### {one.model}\n", "```", one.text, "```"]
    lines += [
        "\n## Metrics of the source\n",
        *counted(),
        "",
        "Counted in the syntax trees of the four model files. This excludes `crawlers/loop.py`,",
        "the loop of `callbacks` and `generators`. `generators` includes its own `Future` and",
        "`Task`, while `async_await` uses those of asyncio.",
    ]
    return "\n".join(lines) + "\n"
