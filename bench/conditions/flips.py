"""What the harness holds equal, each of it flipped: the same backend once more, in turns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from bench.conditions import Condition, Params
from bench.machine.cpu import Pinning
from bench.sides.protocol import Command
from bench.sides.sides import Sides

LARGE_PAGE: Final = 65536
FEWEST_PAGES: Final = 600
SHORT_SWITCH_S: Final = 0.0005
SETS: Final[Mapping[str, Mapping[str, int | str]]] = {
    "selector": {"selectors:DefaultSelector": "selectors:PollSelector"},
    "receive": {"crawlers.http:RECV_SIZE": 256 * 1024},
}


@dataclass(frozen=True, kw_only=True)
class Flip(Condition):
    """Where the worker has something to do for it, it does so by ``name``."""

    always: str
    flipped: str
    sleeps: bool = True  # so that threads on the server's processor can be compared

    def params(self, slots: int) -> Params:
        return {"flip": self.name}

    def command(self, command: Command, sides: Sides) -> Command:
        return replace(command, flip=self.name)


class Processors(Flip):
    def place(self, now: Pinning, narrow: Pinning, name: str) -> Pinning:
        return narrow if now != narrow else narrow.unpinned()


class Hash(Flip):
    def environment(self, scratch: Path, hash_seed: int) -> dict[str, str]:
        return {"PYTHONHASHSEED": str((hash_seed + 500) % 2**32)}


class Bytecode(Flip):
    def environment(self, scratch: Path, hash_seed: int) -> dict[str, str]:
        nowhere = str(scratch / "no-bytecode")
        return {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONPYCACHEPREFIX": nowhere}


class Switch(Flip):
    def command(self, command: Command, sides: Sides) -> Command:
        return replace(super().command(command, sides), switch_interval_s=SHORT_SWITCH_S)


class Page(Flip):
    def site(self, site: str) -> str:
        kind, pages, fanout, _ = site.split(":")
        return f"{kind}:{max(int(pages) // 4, FEWEST_PAGES)}:{fanout}:{LARGE_PAGE}"


FLIPS: Final = {
    name: kind(
        name=name,
        always=always,
        flipped=flipped,
        own={"flipped": 1},
        sets=SETS.get(name, {}),
        asleep=name == "asleep",
        sleeps=name != "asleep",
        collected=name != "collector",
    )
    for kind, name, always, flipped in (
        (
            Flip,
            "heap",
            "malloc has freed a block of 4 MiB",
            "malloc as it is when the interpreter starts",
        ),
        (Flip, "asleep", "the server polls", "it sleeps between requests"),
        (Processors, "processors", "threads have all processors, loops one", "the other way round"),
        (Flip, "collector", "the garbage collector is on", "it is off"),
        (Hash, "hash", "one hash seed in a block", "another one"),
        (Bytecode, "bytecode", "bytecode is cached", "it is compiled at the start"),
        (Flip, "cold", "the backend has crawled a small site before", "it has not"),
        (Page, "page", "pages of 2 KB", "pages of 64 KB"),
        (Switch, "switch", "threads switch after 5 ms", "after 0.5 ms"),
        (Flip, "selector", "loops of selectors use epoll", "they use poll"),
        (Flip, "receive", "our receives take 64 KiB", "they take 256 KiB"),
    )
}
