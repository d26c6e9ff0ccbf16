"""Settings of Sphinx, and what pages get on the site that they have not in the repository.

The sources are those of the repository, so a link that works there works on the site. The order is
in ``navigation.toml``: a page of docs/ that is in no section of it stops the build.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from sphinx.application import Sphinx

project = "c10k-crawlers"
author = "The c10k-crawlers authors"
extensions = ["myst_parser"]
root_doc = "README"
source_suffix = {".md": "markdown"}
include_patterns = ["README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md", "docs/**.md"]
nitpicky = True

# Anchors as GitHub makes them, so that a link works in both places.
myst_heading_anchors = 4

html_theme = "furo"
html_title = project
html_static_path = ["static"]
html_css_files = ["site.css"]
html_js_files = ["site.js"]
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
html_use_index = False
html_show_copyright = False
pygments_style = "a11y-high-contrast-light"
pygments_dark_style = "a11y-high-contrast-dark"

# --- what pages get ----------------------------------------------------------------------

NAVIGATION: Final = Path(__file__).with_name("navigation.toml")
NOTES: Final = "docs/notebook/"
"""The pages of this folder follow the links of its README; no section names them."""
REPORT: Final = "results/reference/report.html"
SLIDES: Final = "results/reference/talk.html"
CODE: Final = "docs/side-by-side-code.html"
BESIDE: Final = {
    "docs/findings": f'<a href="../{REPORT}">Open the reference report</a>: every table and chart, '
    "and the raw records.",
    "docs/side-by-side": '<a href="side-by-side-code.html">Show the code.</a>',
    "docs/talk": f'<a href="../{SLIDES}">Show the slides.</a> Press <code>?</code> in them for '
    "their keys.",
}
"""What a page leads to that is on the site and not in the repository, below its title."""


def setup(app: Sphinx) -> None:
    app.connect("source-read", complete)


def complete(_: Sphinx | None, name: str, source: list[str]) -> None:
    """Give a page its navigation, and its links to what is only on the site."""
    text = re.sub(r'(?m)^<a id="([\w-]+)"></a>$', r"(\1)=", source[0])
    if name in BESIDE:
        title, end, rest = text.partition("\n\n")
        text = f"{title}{end}<p>{BESIDE[name]}</p>\n\n{rest}"
    if name == root_doc:
        sections = tomllib.loads(NAVIGATION.read_text(encoding="utf-8"))
        text += "".join(toctree(pages, title) for title, pages in sections.items())
    if name == f"{NOTES}README":
        links = re.findall(r"\]\(([\w.-]+\.md)", text)
        text += toctree([f"{NOTES}{link}" for link in dict.fromkeys(links)])
    if name == "CHANGELOG":  # it repeats every word of the other pages
        text = f"---\nnosearch: true\n---\n\n{text}"
    source[0] = text


def toctree(pages: Sequence[str], caption: str = "") -> str:
    """A directive of MyST with the pages by their address from the root of the site."""
    entries = [f"/{page.removesuffix('.md')}" for page in pages if page != f"{root_doc}.md"]
    own = ["self"] if len(entries) < len(pages) else []
    options = [":hidden:", *([f":caption: {caption}"] if caption else [])]
    lines = ["", "```{toctree}", *options, "", *own, *entries, "```", ""]
    return "\n".join(lines)
