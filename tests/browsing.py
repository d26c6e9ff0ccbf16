"""A page in a browser without a network, and what is wrong with it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

# Rows of a table are alike: three of each are enough, and folded parts are looked at too.
SHORTEN = """
document.querySelectorAll('details').forEach(each => { each.open = true });
document.querySelectorAll('tbody')
  .forEach(each => [...each.rows].slice(3).forEach(row => row.remove()));
"""


@contextmanager
def opened(
    browser: Any,
    file: Path | None = None,
    width: int = 1280,
    height: int = 900,
    theme: str = "light",
) -> Iterator[Any]:
    """A page; by the end it must not have complained, nor asked for anything but this file.

    Without a file the page is empty, and may show any file.
    """
    allowed = ("data:", "file:" if file is None else file.as_uri())
    context = browser.new_context(
        viewport={"width": width, "height": height},
        color_scheme=theme,
        offline=True,
        reduced_motion="reduce",
    )
    context.set_default_timeout(300_000)
    page, wrong = context.new_page(), list[str]()
    page.on("console", lambda said: wrong.append(said.text))
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on(
        "request",
        lambda asked: None if asked.url.startswith(allowed) else wrong.append(asked.url),
    )
    if file is not None:
        page.goto(file.as_uri())
    yield page
    context.close()
    assert wrong == []


def barriers(page: Any, theme: str) -> list[tuple[str, str]]:
    """What axe finds that keeps people out: rule and element. Long tables are shortened.

    In the dark only the contrast can be another one.
    """
    axe = pytest.importorskip("axe_core_python", reason="axe-core-python is not installed")
    page.evaluate(SHORTEN)
    # The page's policy allows no script from outside; the debugger may add one anyway.
    page.evaluate((Path(axe.__file__).parent / "axe.min.js").read_text())
    only = "" if theme == "light" else "{runOnly: {type: 'rule', values: ['color-contrast']}}"
    found = page.evaluate(f"axe.run({only})")
    broken = [rule["error"] for rule in found["incomplete"] if "error" in rule]
    assert not broken, "no rule gave up, as that of contrast does at color-mix()"
    assert len(found["passes"]) > (0 if only else 10), "axe ran"
    return [(each["id"], each["nodes"][0]["html"][:200]) for each in found["violations"]]
