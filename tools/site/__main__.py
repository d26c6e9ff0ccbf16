"""Build the site: all documents and the reference report, as pages that need no network.

``nox -s docs`` installs what it needs. Sphinx turns the documents into pages (tools/site/conf.py),
the report is drawn beside them, and every link is checked (tools/site/links.py). navigation.toml
has the order. It takes two minutes.

  python -m tools.site
  python -m tools.site --out /tmp/site
"""

from __future__ import annotations

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
from tools import parser, sidebyside, start
from tools.site import conf, links

SETTINGS: Final = Path(__file__).parent
LACKING: Final = (
    ('<p class="caption" role="heading">', '<p class="caption" role="heading" aria-level="2">'),
    ('<aside class="sidebar-drawer">', '<aside class="sidebar-drawer" aria-label="Site">'),
    ('<aside class="toc-drawer">', '<aside class="toc-drawer" aria-label="On this page">'),
    ('<div id="search-results">', '<h1>Search</h1>\n<div id="search-results">'),
)
"""What Furo writes, and what it should: names and levels that a screen reader needs."""


def build(folder: Path) -> None:
    """Build the site of this repository, with the report of the reference campaign.

    Exits when Sphinx complains of anything, or a link leads nowhere.
    """
    shutil.rmtree(folder, ignore_errors=True)
    filesystem.make_folder(folder)
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
    file, place = store.trials_file(store.REFERENCE), (folder / conf.REPORT).parent
    filesystem.make_folder(place)
    for records in file.parent.glob("*.jsonl*"):  # the report links to them
        shutil.copy(records, place)
    page.build(analysis_in(file), place, file, ledger.sections)
    talk = slides.tell(Material.load(file.parent, RESULTS / "fleet"))
    filesystem.write_text(folder / conf.SLIDES, slides.html(talk))
    filesystem.write_text(folder / conf.CODE, sidebyside.html())
    if wrong := links.wrong(folder, ROOT):
        raise SystemExit("\n".join([f"{len(wrong)} links are wrong:", *wrong]))


def main() -> int:
    """Build, and say where it is."""
    known = parser("site", __doc__)
    words, out = "write to this folder (default: build/site)", ROOT / "build" / "site"
    known.add_argument("--out", type=Path, default=out, metavar="DIR", help=words)
    options = known.parse_args()
    build(options.out.resolve())
    print(f"site: {shown(options.out / 'index.html')}")
    return 0


if __name__ == "__main__":
    start(main, "site")
