"""Builds the site: ``python -m tools.site``, or ``nox -s docs``."""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

from bench import filesystem, store
from bench.claims import ledger
from bench.launch import RESULTS, ROOT, shown
from bench.questions import analysis_in
from bench.report import page
from bench.talk import slides
from bench.talk.slides import Material
from tools import sidebyside
from tools.site import conf, links

SETTINGS: Final = Path(__file__).parent
FLEET: Final = RESULTS / "fleet"
LACKING: Final = (
    ('<p class="caption" role="heading">', '<p class="caption" role="heading" aria-level="2">'),
    ('<aside class="sidebar-drawer">', '<aside class="sidebar-drawer" aria-label="Site">'),
    ('<aside class="toc-drawer">', '<aside class="toc-drawer" aria-label="On this page">'),
    ('<div id="search-results">', '<h1>Search</h1>\n<div id="search-results">'),
)
"""What Furo writes, and what it should: names and levels that a screen reader needs."""


def build(folder: Path, reference: Path) -> None:
    """Build the site of this repository, with the report of the campaign in ``reference``.

    Exits when Sphinx complains of anything, or a link leads nowhere.
    """
    shutil.rmtree(folder, ignore_errors=True)
    options = ["-b", "html", "-W", "--keep-going", "-q", "-E", "-d", f"{folder}-cache"]
    places = ["-c", str(SETTINGS), str(ROOT), str(folder)]
    command = [sys.executable, "-m", "sphinx", *options, *places]
    done = subprocess.run(command, cwd=ROOT, check=False)
    shutil.rmtree(f"{folder}-cache", ignore_errors=True)
    if done.returncode:
        raise SystemExit("Sphinx complains: see above; pip install '.[docs]' installs it")
    for file in folder.rglob("*.html"):
        text = filesystem.read_text(file)
        for short, better in LACKING:
            text = text.replace(short, better)
        filesystem.write_text(file, text)
    shutil.copy(folder / f"{conf.root_doc}.html", folder / "index.html")
    campaign(store.trials_file(reference), (folder / conf.REPORT).parent)
    filesystem.write_text(folder / conf.CODE, sidebyside.html())
    if wrong := links.wrong(folder, ROOT):
        raise SystemExit("\n".join([f"{len(wrong)} links are wrong:", *wrong]))


def campaign(file: Path, folder: Path) -> None:
    """Write the report and the slides, and put the records there that the report links to."""
    filesystem.make_folder(folder)
    for records in file.parent.glob("*.jsonl*"):
        shutil.copy(records, folder)
    page.build(analysis_in(file), folder, file, ledger.sections)
    talk = slides.tell(Material.load(file.parent, FLEET if FLEET.is_dir() else None))
    filesystem.write_text(folder / Path(conf.SLIDES).name, slides.html(talk))


def main() -> None:
    """Build, and say where it is."""
    parser = argparse.ArgumentParser(prog="python -m tools.site", description=__doc__)
    out, reference = ROOT / "build" / "site", RESULTS / "reference"
    words = "folder (default: build/site)"
    parser.add_argument("--out", type=Path, default=out, help=words)
    words = "whose report the site has (default: results/reference)"
    parser.add_argument("--campaign", type=Path, default=reference, help=words)
    options = parser.parse_args()
    build(options.out.resolve(), options.campaign)
    print(f"site: {shown(options.out / 'index.html')}")


if __name__ == "__main__":
    main()
