"""The process that is measured: ``python -m bench.micro.waiting.child KIND hold COUNT``.

It says ``ready`` when its library is imported and has spawned and ended some tasks, and ``held``
when COUNT tasks wait. After each it waits for a line, while its memory is read from outside. At
last it prints a JSON object: seconds of processor time, of all its threads, for one task to spawn
and to cancel. ``KIND switch TASKS TURNS`` prints those of one switch.
"""

from __future__ import annotations

import gc
import json
import sys
import time
from collections.abc import Callable
from importlib import import_module

from bench.micro.waiting.plain import Ways

WARM, WARM_TURNS = 100, 10
"""Tasks that are spawned and ended beforehand, and turns that are taken."""

WHERE = {
    "asyncio": ("loops", "default"),
    "asyncio_pure": ("loops", "pure"),
    "asyncio_eager": ("loops", "eager"),
    **{name: ("loops", name) for name in ("uvloop", "trio", "anyio", "curio")},
}
"""The module and function of a kind; those that are not here have their own name in ``plain``."""


def ways(name: str) -> Ways:
    """The functions of a kind; imports its library and no other."""
    module, function = WHERE.get(name, ("plain", name))
    made: Ways = getattr(import_module(f"bench.micro.waiting.{module}"), function)()
    return made


def pause(word: str) -> None:
    """Say where it is, and wait for a line."""
    print(word, flush=True)
    sys.stdin.readline()


def hold(kind: Ways, count: int, at: Callable[[str], None]) -> dict[str, float]:
    """Spawn, hold and cancel so many tasks; seconds of processor time for one of them."""
    found = {}

    async def work() -> None:
        await kind.cancel(await kind.spawn(WARM))
        gc.collect()
        at("ready")
        began = time.process_time()
        made = await kind.spawn(count)
        found["spawn_s"] = (time.process_time() - began) / count
        at("held")
        began = time.process_time()
        await kind.cancel(made)
        found["cancel_s"] = (time.process_time() - began) / count

    kind.run(work())
    return found


def switch(kind: Ways, tasks: int, turns: int) -> dict[str, float]:
    """Let so many tasks yield in turn; seconds of processor time for one switch."""
    found = {}

    async def work() -> None:
        await kind.switch(tasks, WARM_TURNS)
        began = time.process_time()
        await kind.switch(tasks, turns)
        found["switch_s"] = (time.process_time() - began) / (tasks * turns)

    kind.run(work())
    return found


def main(arguments: list[str]) -> int:
    """Measure one kind."""
    name, what, *numbers = arguments
    kind = ways(name)
    if what == "hold":
        found = hold(kind, int(numbers[0]), pause)
    else:
        found = switch(kind, int(numbers[0]), int(numbers[1]))
    print(json.dumps(found), flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
