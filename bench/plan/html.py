"""Real HTML on this machine, for the workload that crawls it."""

from __future__ import annotations

import re
from importlib import metadata
from pathlib import Path

DEBIAN_DOCS = (
    Path("/usr/share/doc/python3-doc/html"),
    *sorted(Path("/usr/share/doc").glob("python3.*/html"), reverse=True),
)
MIN_HTML_FILES = 20


def find_html() -> tuple[Path, str] | None:
    """A tree of real HTML documentation, and its name for the records.

    Debian's python3-doc if it is installed, otherwise the largest HTML tree
    with an index page in any installed Python distribution.
    """
    for path in DEBIAN_DOCS:
        if (path / "index.html").is_file():
            path = path.resolve()
            version = re.search(r"python3\.\d+", str(path))
            return path, f"python3-doc ({version.group() if version else 'python3'}, Debian)"
    best: tuple[int, Path, str] | None = None
    for distribution in metadata.distributions():
        pages = [file for file in distribution.files or () if file.suffix == ".html"]
        indexes = sorted(
            (file for file in pages if file.name == "index.html"), key=lambda file: len(file.parts)
        )
        if not indexes:
            continue
        top = indexes[0].parent
        count = sum(file.is_relative_to(top) for file in pages)
        if count >= MIN_HTML_FILES and (best is None or count > best[0]):
            folder = Path(str(distribution.locate_file(top)))
            if (folder / "index.html").is_file():
                name = f"{distribution.metadata['Name']} {distribution.version} (PyPI)"
                best = (count, folder.resolve(), name)
    return None if best is None else best[1:]
