"""Programs for developers of the suite; no user needs them. Here is what they share."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import NoReturn

from bench.cli import command


def parser(name: str, about: str | None) -> argparse.ArgumentParser:
    """The command line of a program of this package; its help is the module's docstring."""
    return command.Parser(
        prog=f"python -m tools.{name}",
        description=(about or "").replace("``", ""),
        epilog=command.EXITS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def start(main: Callable[[], int], name: str) -> NoReturn:
    """Run a program of this package, and exit; an expected error is one line."""
    raise SystemExit(command.whole_program(main, f"python -m tools.{name}"))


def table(head: Sequence[object], rows: Sequence[Sequence[object]], right: int = 0) -> list[str]:
    """The lines of a Markdown table; the last ``right`` columns are aligned to the right."""
    rule = ["---"] * (len(head) - right) + ["---:"] * right
    return [f"| {' | '.join(map(str, cells))} |" for cells in (head, rule, *rows)]


def with_block(document: str, name: str, content: str) -> str:
    """The document with this between the marks of ``name``. Raises ValueError without them."""
    begin, end = f"<!-- {name}:begin -->\n", f"\n<!-- {name}:end -->"
    head, tail = document.index(begin) + len(begin), document.index(end)
    return f"{document[:head]}{content}{document[tail:]}"
