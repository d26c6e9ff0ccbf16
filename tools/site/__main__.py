"""Builds the site: ``python -m tools.site``, or ``nox -s docs``."""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from bench import filesystem, store
from bench.analysis.analysis import Analysis
from bench.claims import ledger
from bench.launch import RESULTS, ROOT, shown
from bench.questions import analysis_in
from bench.report import page
from bench.talk import slides as talk_slides
from bench.talk.slides import Material
from tools import sidebyside
from tools.site import links, stage
from tools.site.stage import SiteError

SETTINGS: Final = ROOT / "tools" / "site"
FOLDER: Final = ROOT / "build" / "site"
NEEDED: Final = ("furo", "myst_parser", "sphinx")
IMAGES: Final = (".svg", ".png")
LACKING: Final = (
    ('<p class="caption" role="heading">', '<p class="caption" role="heading" aria-level="2">'),
    ('<aside class="sidebar-drawer">', '<aside class="sidebar-drawer" aria-label="Site">'),
    ('<aside class="toc-drawer">', '<aside class="toc-drawer" aria-label="On this page">'),
    ('<div id="search-results">', '<h1>Search</h1>\n<div id="search-results">'),
)
"""What Furo writes, and what it should: names and levels that a screen reader needs."""


def build(folder: Path, reference: Path) -> None:
    """Build the site of this repository, with the report of the campaign in ``reference``.

    Raises :class:`SiteError` when Sphinx complains of anything, or a link leads nowhere.
    """
    if missing := [name for name in NEEDED if find_spec(name) is None]:
        raise SiteError(f"not installed: {', '.join(missing)}; pip install '.[docs]'")
    pages = folder.with_name(f"{folder.name}-pages")
    for old in (folder, pages):
        shutil.rmtree(old, ignore_errors=True)
    file = store.trials_file(reference)
    analysis = analysis_in(file)
    stage.stage(ROOT, pages, analysis.campaign)
    sphinx(pages, folder)
    complete(folder)
    # Pages of HTML, which Sphinx passes on, name these by their places in the repository.
    for image in (file for file in pages.rglob("*") if file.suffix in (*IMAGES, ".html")):
        stage.copy(image, folder / image.relative_to(pages))
    report(analysis, file, folder / Path(stage.REFERENCE).parent)
    filesystem.write_text(folder / stage.CODE, sidebyside.html())
    slides(file.parent, folder / Path(stage.SLIDES).parent)
    if wrong := links.wrong(folder):
        raise SiteError("\n".join([f"{len(wrong)} links are wrong:", *wrong]))


def sphinx(pages: Path, folder: Path) -> None:
    """Turn the pages into HTML; a warning is an error."""
    options = ("-b", "html", "-W", "--keep-going", "-q", "-E", "-d", f"{pages}-cache")
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", *options, "-c", SETTINGS, pages, folder], check=False
    )
    shutil.rmtree(f"{pages}-cache", ignore_errors=True)
    if done.returncode:
        raise SiteError("Sphinx complains: see above")


def complete(folder: Path) -> None:
    """Give every page of the theme what it lacks."""
    for file in folder.rglob("*.html"):
        text = whole = filesystem.read_text(file)
        for short, better in LACKING:
            whole = whole.replace(short, better)
        if whole != text:
            filesystem.write_text(file, whole)


def report(analysis: Analysis, file: Path, folder: Path) -> None:
    """Draw the report beside the pages, and put the records there that it links to."""
    folder.mkdir(parents=True, exist_ok=True)
    for records in file.parent.glob("*.jsonl*"):
        shutil.copy(records, folder)
    page.build(analysis, folder, file, ledger.sections)


def slides(campaign: Path, folder: Path) -> None:
    """Write the slides of the talk beside the report, with the fleet's if there is one."""
    fleet = RESULTS / "fleet"
    slides = talk_slides.tell(Material.load(campaign, fleet if fleet.is_dir() else None))
    filesystem.write_text(folder / Path(stage.SLIDES).name, talk_slides.html(slides))


def main() -> int:
    """Build, and say where it is."""
    parser = argparse.ArgumentParser(prog="python -m tools.site", description=__doc__)
    parser.add_argument("--out", type=Path, default=FOLDER, help="folder (default: build/site)")
    parser.add_argument(
        "--campaign",
        type=Path,
        default=RESULTS / "reference",
        help="whose report the site has (default: results/reference)",
    )
    options = parser.parse_args()
    try:
        build(options.out.resolve(), options.campaign)
    except SiteError as error:
        print(error, file=sys.stderr)
        return 1
    print(f"site: {shown(options.out / 'index.html')}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
