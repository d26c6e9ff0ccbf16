"""What says the same in several places of a release: version, licence, address."""

from __future__ import annotations

import re
import tomllib

from bench.launch import ROOT
from bench.report import cite


def test_the_citation_has_the_version_the_licence_and_the_address() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    cited = dict(re.findall(r"(?m)^([\w-]+): (.+)$", (ROOT / "CITATION.cff").read_text()))
    assert cited["version"] == project["version"]
    assert cited["license"] == project["license"]
    assert cited["repository-artifact"] == cite.ADDRESS
    assert f"https://pypi.org/project/{project['name']}/" == cite.ADDRESS
    assert f"{project['version']}" in (ROOT / "CHANGELOG.md").read_text()
