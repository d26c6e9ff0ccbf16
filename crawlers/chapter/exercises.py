"""Break it yourself: docs/chapter.md has the exercises, each with its patch to a step."""

import re
from pathlib import Path
from types import ModuleType

from crawlers.job import JobError

PAGE = Path(__file__).parents[2] / "docs" / "chapter.md"
EXERCISE = re.compile(r"^### \d\. (.+)\n\n(.+)\n\n```diff\n# (\w+)\n((?:.+\n)+?)```", re.M)


def exercises() -> list[tuple[str, str, str, str]]:
    """Title, question, step and patch of each; :class:`JobError` without a clone."""
    if not PAGE.exists():
        raise JobError("the exercises are in docs/chapter.md of a clone")
    return EXERCISE.findall(PAGE.read_text("utf-8"))


def load(step: str, patch: str = "") -> ModuleType:
    """The module of a step, with each line marked ``-`` replaced by those marked ``+``."""
    file = Path(__file__).with_name(f"{step}.py")
    source = file.read_text("utf-8")
    for old, new in re.findall(r"^-( *\S.*\n)((?:\+.*\n)*)", patch, re.M):
        if source.count("\n" + old) != 1:
            raise JobError(f"{file.name} has no such line, or several: {old.strip()}")
        source = source.replace("\n" + old, "\n" + re.sub(r"^\+", "", new, flags=re.M))
    module = ModuleType(step)
    exec(compile(source, file, "exec"), module.__dict__)  # nosec B102 - a file beside this one
    return module
