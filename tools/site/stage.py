"""Copies what the site is made of to a folder of its own, and adds the navigation.

The pages keep their places, so a link that works in the repository works on the site, also in
HTML that Sphinx passes on as it is. Only the first page gets another name, and a link to a file
of HTML becomes HTML, because Sphinx would move the file away from what lies beside it.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from html import escape
from pathlib import Path, PurePosixPath
from posixpath import normpath
from typing import Final

from bench.cli.commands import talk
from bench.errors import BenchError
from bench.schema import CampaignRecord
from bench.text import markdown_text
from tools.site import navigation

INDEX: Final = "index.md"
REFERENCE: Final = "results/reference/report.html"
SLIDES: Final = f"results/reference/{talk.NAME}"
CODE: Final = "docs/side-by-side-code.html"
BESIDE: Final = {
    "docs/side-by-side.md": '<p><a href="side-by-side-code.html">Show the code.</a></p>',
    "docs/talk.md": f'<p><a href="../{SLIDES}">Show the slides.</a> Press <code>?</code> in them '
    "for their keys.</p>",
}
"""What a page leads to that is on the site and not in the repository, below its title."""

DOCUMENTS: Final = (navigation.START, "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")
"""Pages outside of docs/."""

MARKDOWN_LINK: Final = re.compile(r"(?P<open>!?\[(?P<words>[^]]*)\]\()(?P<address>[^)\s]+)\)")
HTML_LINK: Final = re.compile(r'\b(?:src|srcset|href)="([^"#]+)')
ANCHOR: Final = re.compile(r'^<a id="([\w-]+)"></a>$', re.MULTILINE)
FENCED: Final = re.compile(r"^(`{3,}).*?^\1`*$", re.MULTILINE | re.DOTALL)
NET: Final = re.compile(r"[a-z][a-z0-9+.-]*:")


class SiteError(BenchError):
    """The site cannot be built; the message says what to change."""


def pages(root: Path) -> list[str]:
    """Every page of the site that is in the repository."""
    docs = sorted(file.relative_to(root).as_posix() for file in (root / "docs").rglob("*.md"))
    return [*(name for name in DOCUMENTS if (root / name).is_file()), *docs]


def stage(root: Path, folder: Path, campaign: CampaignRecord) -> None:
    """Fill an empty folder. Raises :class:`SiteError` for a page outside of the navigation."""
    found = pages(root)
    if lost := navigation.unplaced(found):
        raise SiteError(
            f"not in the navigation: {', '.join(lost)}; add each to a section in "
            "tools/site/navigation.py"
        )
    all_pages = [*found, navigation.REPORT]
    for name in found:
        text = (root / name).read_text(encoding="utf-8")
        for address in local(text):
            _bring(root, folder, name, address)
        text = beside(moved(text, name), name) + navigation.children(name, text, all_pages)
        if name == navigation.START:
            text += navigation.toctrees(all_pages)
        if name == navigation.CHANGELOG:
            text = f"---\nnosearch: true\n---\n\n{text}"
        _write(folder / staged(name), text)
    _write(folder / navigation.REPORT, report_page(campaign))


def staged(name: str) -> str:
    """The place of a page in the folder."""
    return INDEX if name == navigation.START else name


def local(text: str) -> Iterator[str]:
    """The addresses of files that a page links, without anchors and without those of the net."""
    text = FENCED.sub("", text)
    in_markdown = [found["address"] for found in MARKDOWN_LINK.finditer(text)]
    for address in (*in_markdown, *HTML_LINK.findall(text)):
        path = address.partition("#")[0]
        if path and not NET.match(path):
            yield path


def moved(text: str, page: str) -> str:
    """A page with its links and anchors as the site needs them; code stays as it is."""

    def links(part: str) -> str:
        return MARKDOWN_LINK.sub(lambda found: _moved(found, page), ANCHOR.sub(r"(\1)=", part))

    parts, end = [], 0
    for code in FENCED.finditer(text):
        parts += [links(text[end : code.start()]), code[0]]
        end = code.end()
    return "".join([*parts, links(text[end:])])


def beside(text: str, page: str) -> str:
    """A page with the link to what belongs to it, below its title."""
    if page not in BESIDE:
        return text
    title, end, rest = text.partition("\n\n")
    return f"{title}{end}{BESIDE[page]}\n\n{rest}"


def _moved(found: re.Match[str], page: str) -> str:
    path, hash_, anchor = found["address"].partition("#")
    if NET.match(path) or not path:
        return found[0]
    if path.endswith(".html"):
        return f'<a href="{escape(found["address"])}">{escape(found["words"])}</a>'
    if target(page, path) == navigation.START:
        path = path.removesuffix(navigation.START) + INDEX
    return f"{found['open']}{path}{hash_}{anchor})"


def target(page: str, address: str) -> str:
    """What a page links, as a path from the root of the repository."""
    return normpath((PurePosixPath(page).parent / address).as_posix())


def _bring(root: Path, folder: Path, page: str, address: str) -> None:
    """Copy a file that a page links, if it is no page itself."""
    name = target(page, address)
    if name.startswith("..") or name.endswith((".md", "report.html")):
        return
    source = root / name
    if not source.is_file():
        return  # the check of the links says so
    copy(source, folder / name)


def copy(source: Path, target: Path) -> None:
    """Copy a file, and make its folder."""
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)


def report_page(campaign: CampaignRecord) -> str:
    """The page that leads to the report."""
    python = campaign.environment.python
    return (
        "# Reference report and slides\n\n"
        f"Campaign `{markdown_text(campaign.campaign)}`, profile {campaign.profile}, "
        f"{markdown_text(python)}.\n\n"
        f'<p><a href="{REFERENCE}">Open the report</a>: findings, tables, every chart, a card for '
        "each backend, well-known claims, exact costs, what speaks for and against the numbers, "
        "the raw records, and how to cite them. It is one file and needs no network either.</p>\n\n"
        "Which backend for your program? `python -m bench advise` calculates it for your load: see "
        "[Advice](docs/advice.md).\n\n"
        f'The <a href="{SLIDES}">slides</a> of the [talk](docs/talk.md) are from the same '
        "campaign. Press `?` for their keys.\n"
    )


def _write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
