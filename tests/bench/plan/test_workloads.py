"""Single points of the table of workloads."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from bench.plan import html, real
from bench.plan.cast import Cast


def test_no_debian_documentation_falls_back_to_a_python_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    docs = tmp_path / "lib" / "docs"
    docs.mkdir(parents=True)
    names = ["index.html", *(f"page{number}.html" for number in range(25))]
    for name in names:
        (docs / name).write_text("<p>")
    package = SimpleNamespace(
        files=[Path("lib/docs") / name for name in names],
        metadata={"Name": "somedocs"},
        version="1.2",
        locate_file=lambda path: tmp_path / path,
    )
    empty = SimpleNamespace(files=None, metadata={"Name": "empty"}, version="1")
    monkeypatch.setattr(html, "DEBIAN_DOCS", ())
    monkeypatch.setattr("importlib.metadata.distributions", lambda: [empty, package])
    assert html.find_html() == (docs, "somedocs 1.2 (PyPI)")
    point = real.real(Cast(2))[0]
    assert point.site == f"dir:{docs}"
    assert point.params["site"] == "dir:somedocs 1.2 (PyPI)"


def test_no_documentation_at_all_leaves_the_workload_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(html, "DEBIAN_DOCS", ())
    monkeypatch.setattr("importlib.metadata.distributions", list)
    assert real.real(Cast(1)) == []
