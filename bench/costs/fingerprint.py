"""Everything that decides how many instructions the same Python code takes.

``python -m bench.costs.fingerprint`` prints it as one JSON object for the interpreter that runs
it. Two interpreters of one release count differently if they were built differently, so a
baseline holds for one fingerprint only: the contents of every program and library that a crawl
maps into memory, and the features of the processor, by which the C library chooses its code.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import platform
import re
import sys
from collections.abc import Iterable
from pathlib import Path

from crawlers.registry import MODELS

FEATURES = frozenset(
    (
        *("abm", "avx", "avx2", "bmi1", "bmi2", "erms", "f16c", "fma", "fsrm", "movbe"),
        *("rdrand", "sse4_1", "sse4_2", "ssse3"),
    )
)
"""What a C library asks a processor for; valgrind passes on what it can do itself."""


def mapped(maps: str) -> list[Path]:
    """The programs and libraries in the text of ``/proc/self/maps``."""
    pattern = r"^\S+ ..x. \S+ \S+ \d+ +(/.+)$"
    return sorted({Path(name) for name in re.findall(pattern, maps, re.MULTILINE)})


def processor(cpuinfo: str) -> str:
    """The maker of the processor and its features, from the text of ``/proc/cpuinfo``."""
    vendor = re.search(r"^(?:vendor_id|CPU implementer)\s*: (.*)$", cpuinfo, re.MULTILINE)
    flags = re.search(r"^(?:flags|Features)\s*: (.*)$", cpuinfo, re.MULTILINE)
    words = FEATURES & set(flags[1].split()) if flags else set()
    return " ".join([vendor[1] if vendor else platform.machine(), *sorted(words)])


def digest(files: Iterable[Path], words: Iterable[str]) -> str:
    """A short name for the contents of files and for words."""
    found = hashlib.sha256()
    for text in (*(hashlib.sha256(file.read_bytes()).hexdigest() for file in files), *words):
        found.update(text.encode() + b"\n")
    return found.hexdigest()[:16]


def main() -> int:
    for model in MODELS:
        importlib.import_module(f"crawlers.{model}")
    files = mapped(Path("/proc/self/maps").read_text(encoding="utf-8"))
    features = processor(Path("/proc/cpuinfo").read_text(encoding="utf-8"))
    print(
        json.dumps(
            {
                "python": f"{platform.python_implementation()} {platform.python_version()}",
                "digest": digest(files, [sys.version, features]),
            }
        )
    )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
