"""What says the same in several places of a release: version and licence."""

from __future__ import annotations

import re
import tomllib

from bench.launch import ROOT
from crawlers.http import USER_AGENT


def test_the_citation_has_the_version_and_the_licence_and_no_address() -> None:
    """The package is on no index, and a repository does not know where its copies are."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    cited = dict(re.findall(r"(?m)^([\w-]+): (.+)$", (ROOT / "CITATION.cff").read_text()))
    assert cited["version"] == project["version"]
    assert cited["license"] == project["license"]
    # Two numbers, so that requests have the same size in every release of 1.x.
    assert project["version"].startswith(USER_AGENT.removeprefix("c10k-crawlers/") + ".")
    assert "://" not in (ROOT / "CITATION.cff").read_text()
    top = (ROOT / "CHANGELOG.md").read_text().split("\n## ")[1]
    released = cited["date-released"].strip('"')
    assert top.startswith(f"[{project['version']}] - {released}\n")
    assert top.count("\n") <= 45, "it fits a screen"
