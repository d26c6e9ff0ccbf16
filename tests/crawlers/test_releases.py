"""The crawlers on every other CPython that is found, with the standard library alone."""

from __future__ import annotations

import json
import os
import subprocess
from importlib.util import find_spec
from pathlib import Path

import pytest

from bench.launch import ROOT
from bench.plan import interpreters
from crawlers.registry import MODELS
from tests.crawlers.conftest import FixtureServer

CRAWL = """
import json, sys
from crawlers import registry
from crawlers.job import Job
from crawlers.recorder import NullRecorder
try:
    backend = registry.load(sys.argv[1])
except registry.BackendError as error:
    sys.exit(str(error))
report = backend.crawl(Job((sys.argv[2],), slots=6), NullRecorder())
print(json.dumps([report.backend, report.digest, report.mechanism]))
"""
CRAWL_ALL = """
import json, sys
from crawlers import registry
from crawlers.job import Job
from crawlers.recorder import NullRecorder
url, *names = sys.argv[1:]
crawls = {name: registry.load(name).crawl(Job((url,), slots=6), NullRecorder()) for name in names}
print(json.dumps({name: report.digest for name, report in crawls.items()}))
"""
SINCE = {"asyncio_eager": (3, 12), "subinterpreters": (3, 14)}


@pytest.mark.parametrize("name", SINCE)
def test_a_variant_of_later_releases(name: str, tree: FixtureServer) -> None:
    """It crawls where it can, on the standard library alone, and says why where it cannot."""
    found, _ = interpreters.find()
    if not any(each.version >= SINCE[name] for each in found):
        pytest.skip(f"no CPython of {SINCE[name]} or later on PATH or under pyenv")
    for each in found:
        done = subprocess.run(
            [*each.command, "-c", CRAWL, name, tree.url],
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=300,
        )
        if each.version >= SINCE[name]:
            assert done.returncode == 0, done.stderr
            backend, digest, mechanism = json.loads(done.stdout)
            assert (backend, digest) == (name, tree.digest)
            if name == "subinterpreters":
                assert mechanism["subinterpreters"] >= 1
                assert mechanism["parser"] == "python"
        else:
            assert f"backend {name} needs Python 3." in done.stderr


def test_a_variant_of_earlier_releases_says_so_instead_of_what_to_install() -> None:
    """The extra has no curio for Python 3.12 and later."""
    later = [each for each in interpreters.find()[0] if each.version >= (3, 12)]
    if not later:
        pytest.skip("no CPython of 3.12 or later on PATH or under pyenv")
    for each in later:
        done = subprocess.run(
            [*each.command, "-c", CRAWL, "curio", "http://127.0.0.1/"],
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert "backend curio needs Python 3.11 or earlier" in done.stderr
        assert "pip install" not in done.stderr


def test_the_models_find_every_page_on_every_release(tree: FixtureServer) -> None:
    """CPython 3.11.0 to 3.11.4 lost links without an error: their ``re`` was faulty."""
    for each in interpreters.find()[0]:
        done = subprocess.run(
            [*each.command, "-c", CRAWL_ALL, tree.url, *MODELS],
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert done.returncode == 0, (each.name, done.stderr)
        assert json.loads(done.stdout) == dict.fromkeys(MODELS, tree.digest), each.name


@pytest.fixture(scope="module")
def pytest_alone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with pytest and what it needs, all pure Python, so that any release can use it."""
    folder = tmp_path_factory.mktemp("pytest")
    for package in ("pytest", "_pytest", "py", "pluggy", "iniconfig", "packaging", "pygments"):
        spec = find_spec(package)
        if spec is not None and spec.origin is not None:
            file = Path(spec.origin)
            source = file.parent if file.name == "__init__.py" else file
            (folder / source.name).symlink_to(source)
    return folder


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", MODELS)
def test_a_model_conforms_on_every_release(name: str, pytest_alone: Path, tmp_path: Path) -> None:
    """The whole conformance suite, with the parser in Python and the ``re`` that is there."""
    arguments = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(ROOT)]
    arguments += [str(ROOT / "crawlers/conformance"), "--backend", name]
    running = {
        each.name: subprocess.Popen(
            [*each.command, *arguments, f"--basetemp={tmp_path / each.name}"],
            cwd=ROOT,
            env=os.environ | {"PYTHONPATH": f"{pytest_alone}{os.pathsep}{ROOT}"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for each in interpreters.find()[0]
    }
    outputs = {release: suite.communicate()[0] for release, suite in running.items()}
    for release, suite in running.items():
        assert suite.returncode == 0, f"{release}\n{outputs[release]}"
