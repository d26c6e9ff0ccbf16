"""Copies what the site is made of to a folder of its own, and adds the navigation.

The pages keep their places, so a link that works in the repository works on the site, also in
HTML that Sphinx passes on as it is. Only the first page gets another name, and a link to a file
of HTML becomes HTML, because Sphinx would move the file away from what lies beside it. The order
is in ``navigation.toml``: a page of docs/ that is in no section of it stops the build.
"""

from __future__ import annotations

import re
import shutil
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from pathlib import Path, PurePosixPath
from posixpath import normpath
from typing import Final

from bench import BenchError
from bench.cli.commands import talk
from bench.filesystem import read_text, write_text
from bench.schema import CampaignRecord
from bench.text import markdown_text

START: Final = "README.md"
"""The first page; it holds the navigation."""
INDEX: Final = "index.md"
"""Its name on the site."""
REPORT: Final = "report.md"
"""The page that leads to the reference report. It is made for the site."""
CHANGELOG: Final = "CHANGELOG.md"
"""Not in the search: it repeats every word of the other pages."""
SECTIONS: Final[Mapping[str, Sequence[str]]] = tomllib.loads(
    read_text(Path(__file__).with_name("navigation.toml"))
)
NOTES: Final = "docs/notebook/"
NOTEBOOK: Final = f"{NOTES}README.md"
"""The other pages of its folder follow its links; no section names them."""

REFERENCE: Final = "results/reference/report.html"
SLIDES: Final = f"results/reference/{talk.NAME}"
CODE: Final = "docs/side-by-side-code.html"
BESIDE: Final = {
    "docs/side-by-side.md": '<p><a href="side-by-side-code.html">Show the code.</a></p>',
    "docs/talk.md": f'<p><a href="../{SLIDES}">Show the slides.</a> Press <code>?</code> in them '
    "for their keys.</p>",
}
"""What a page leads to that is on the site and not in the repository, below its title."""

DOCUMENTS: Final = (START, "CONTRIBUTING.md", "SECURITY.md", CHANGELOG)
"""Pages outside of docs/."""

MARKDOWN: Final = re.compile(
    r"^(?P<fence>`{3,}).*?^(?P=fence)`*$"
    r'|^<a id="(?P<anchor>[\w-]+)"></a>$'
    r"|(?P<open>!?\[(?P<words>[^]]*)\]\()(?P<address>[^)\s]+)\)",
    re.MULTILINE | re.DOTALL,
)
"""What becomes something else on the site, and code, which stays as it is."""
HTML_LINK: Final = re.compile(r'\b(?:src|srcset|href)="([^"#]+)')
NET: Final = re.compile(r"[a-z][a-z0-9+.-]*:")

REPORT_PAGE: Final = f"""\
# Reference report and slides

Campaign `{{campaign}}`, profile {{profile}}, {{python}}.

<p><a href="{REFERENCE}">Open the report</a>: findings, tables, every chart, \
well-known claims, exact costs, what speaks for and against the numbers, the raw records, and how \
to cite them. It is one file and needs no network either.</p>

Which backend for your program? `python -m bench advise` calculates it for your load: see \
[Advice](docs/advice.md).

The <a href="{SLIDES}">slides</a> of the [talk](docs/talk.md) are from the same campaign. \
Press `?` for their keys.
"""


class SiteError(BenchError):
    """The site cannot be built; the message says what to change."""


def pages(root: Path) -> list[str]:
    """Every page of the site that is in the repository."""
    docs = sorted(file.relative_to(root).as_posix() for file in (root / "docs").rglob("*.md"))
    return [*(name for name in DOCUMENTS if (root / name).is_file()), *docs]


def stage(root: Path, folder: Path, campaign: CampaignRecord) -> None:
    """Fill an empty folder. Raises :class:`SiteError` for a page outside of the navigation."""
    names = pages(root)
    if lost := unplaced(names):
        raise SiteError(
            f"not in the navigation: {', '.join(lost)}; add each to a section in "
            "tools/site/navigation.toml"
        )
    all_pages = [*names, REPORT]
    for name in names:
        text = read_text(root / name)
        for address in local(text):
            _bring(root, folder, name, address)
        text = beside(moved(text, name), name) + (notes(text, names) if name == NOTEBOOK else "")
        if name == START:
            text += "\n".join(
                toctree([page for page in listed if page in all_pages], title)
                for title, listed in SECTIONS.items()
                if not set(listed).isdisjoint(all_pages)
            )
        if name == CHANGELOG:
            text = f"---\nnosearch: true\n---\n\n{text}"
        write_text(folder / staged(name), text)
    about = {
        "campaign": markdown_text(campaign.campaign),
        "profile": campaign.profile,
        "python": markdown_text(campaign.environment.python),
    }
    write_text(folder / REPORT, REPORT_PAGE.format(**about))


def staged(name: str) -> str:
    """The place of a page in the folder."""
    return INDEX if name == START else name


# --- the navigation ----------------------------------------------------------------------


def unplaced(names: Iterable[str]) -> list[str]:
    """The pages that the navigation does not lead to."""
    placed = {page for section in SECTIONS.values() for page in section}
    return [page for page in names if page not in placed and not page.startswith(NOTES)]


def notes(text: str, names: Iterable[str]) -> str:
    """The navigation below the notebook's first page, in the order of its links."""
    held = [name for name in names if name.startswith(NOTES) and name != NOTEBOOK]
    return toctree(sorted(held, key=lambda name: text.find(f"]({name.removeprefix(NOTES)})")))


def toctree(names: Sequence[str], caption: str = "") -> str:
    """A directive of MyST with the pages by their address from the root of the site."""
    options = [":hidden:", *([f":caption: {caption}"] if caption else [])]
    entries = ["self" if name == START else f"/{name.removesuffix('.md')}" for name in names]
    return "\n".join(["", "```{toctree}", *options, "", *entries, "```", ""])


# --- links -------------------------------------------------------------------------------


def local(text: str) -> Iterator[str]:
    """The addresses of files that a page links, without anchors and without those of the net."""
    in_markdown = [part["address"] or "" for part in MARKDOWN.finditer(text)]
    for address in (*in_markdown, *HTML_LINK.findall(MARKDOWN.sub("", text))):
        path = address.partition("#")[0]
        if path and not NET.match(path):
            yield path


def moved(text: str, page: str) -> str:
    """A page with its links and anchors as the site needs them."""
    return MARKDOWN.sub(lambda part: _moved(part, page), text)


def _moved(part: re.Match[str], page: str) -> str:
    if part["anchor"]:
        return f"({part['anchor']})="
    path, hash_, anchor = (part["address"] or "").partition("#")
    if part["fence"] or NET.match(path) or not path:
        return part[0]
    if path.endswith(".html"):
        return f'<a href="{escape(part["address"])}">{escape(part["words"])}</a>'
    if target(page, path) == START:
        path = path.removesuffix(START) + INDEX
    return f"{part['open']}{path}{hash_}{anchor})"


def beside(text: str, page: str) -> str:
    """A page with the link to what belongs to it, below its title."""
    if page not in BESIDE:
        return text
    title, end, rest = text.partition("\n\n")
    return f"{title}{end}{BESIDE[page]}\n\n{rest}"


def target(page: str, address: str) -> str:
    """What a page links, as a path from the root of the repository."""
    return normpath((PurePosixPath(page).parent / address).as_posix())


def _bring(root: Path, folder: Path, page: str, address: str) -> None:
    """Copy a file that a page links, if it is no page itself."""
    name = target(page, address)
    if name.startswith("..") or name.endswith((".md", "report.html")):
        return
    if (root / name).is_file():  # the check of the links says so if it is not
        copy(root / name, folder / name)


def copy(source: Path, target: Path) -> None:
    """Copy a file, and make its folder."""
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)
