"""The tasks of this repository: ``nox -l`` lists them, ``nox -s NAME -- ARGS`` runs one.

For a command of ``python -m bench``, use the environment of the session ``bench``.
You need a clone, a Python and nox. Each session makes its own environment under ``.nox``,
with uv if it is installed, and keeps it for the next time.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import nox

nox.needs_version = ">=2024.10"
nox.options.default_venv_backend = "uv|virtualenv"
# Report missing interpreters; never download one silently. Their sessions are skipped.
nox.options.download_python = "never"
nox.options.error_on_missing_interpreters = False
nox.options.reuse_existing_virtualenvs = True
nox.options.sessions = ["tests", "lint", "types"]

PROCESSORS = len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
WORKERS = min(8, 3 * PROCESSORS)
"""Three for each processor, because many tests wait: for a timeout, a start, a signal. On two, the
default tests took 157 s with four workers and 135 with six, and CI 9:37 and 9:24."""

PARALLEL = ("-n", str(WORKERS), "--dist", "loadfile", "--no-loadscope-reorder")
"""Run tests in parallel, those of one file in the same process: they share fixtures.

pytest-xdist 3.8 ignores its ``xdist_group`` marker under pytest 9.2. It would start with the files
of the most tests; tests/conftest.py begins with those that take longest, so that none is left over.
"""

DRAWN_S = 300.0
"""The longest that an interrupted campaign takes to stop and to draw its charts."""

COLLECTED = ("tests", "crawlers/conformance")
"""Where tests are: those of the backends are run by programs that tests start."""


def install(session: nox.Session, *extras: str) -> None:
    """Install this repository in place, so that no old copy of a module stays behind."""
    session.install("-e", f".[{','.join(extras)}]")


@nox.session
def bench(session: nox.Session) -> None:
    """Measure and draw: quick profile; -- --profile full, -k churn, --backends a,b."""
    install(session, "bench", "variants")
    # After Ctrl-C it still draws what was measured, and says how to continue; nox would wait 0.3 s.
    session.run("python", "-m", "pytest", "bench", *session.posargs, interrupt_timeout=DRAWN_S)


@nox.session(python=["3.11", "3.12", "3.13", "3.13t", "3.14", "3.14t", "3.15", "3.15t"])
def conformance(session: nox.Session) -> None:
    """Run the conformance suite on every backend that this interpreter can run (or -- NAMES).

    The project itself is not installed: some of its dependencies have no wheels for
    free-threaded builds, and the crawlers run without them. Without trustme the tests of
    HTTPS are skipped; the cryptography that it needs has no wheel for 3.13t.
    """
    session.install("rich>=13.7", "pytest>=8.3", "pytest-timeout>=2.3")
    if session.python != "3.13t":
        session.install("trustme>=1.1")
    session.run("python", "-m", "crawlers", "conformance", *(session.posargs or ["all"]))


@nox.session
def tests(session: nox.Session) -> None:
    """Run the tests, except those marked slow (arguments after -- go to pytest)."""
    install(session, "bench", "browser", "docs", "fleet", "servers", "tests", "variants")
    # Tests start many programs: wherever bytecode is not kept, each would compile its libraries.
    bytecode = Path(session.virtualenv.location, "bytecode").resolve()
    keep = {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(bytecode)}
    if not bytecode.exists():  # or each of the processes would compile everything that is imported
        collect = ("python", "-m", "pytest", "--collect-only", "-qq", *COLLECTED)
        session.run(*collect, env=keep, silent=True)
    run = ("python", "-m", "pytest", *PARALLEL, "-m", "not slow", *session.posargs)
    session.run(*run, env=keep)


@nox.session(venv_backend="none")
def tests_full(session: nox.Session) -> None:
    """Run every test, slow ones too, in the environment of the session tests."""
    session.notify("tests", ["-m", "not quick", *session.posargs])


@nox.session
def torture(session: nox.Session) -> None:
    """Try thousands of random cases: -- faults|leaks|races|signals|limits|soak."""
    install(session, "bench", "tests", "variants")
    name, *options = session.posargs or ["faults"]
    files = [
        str(file) for file in Path("tests").rglob(f"test_{name}.py") if "server" not in file.parts
    ]
    env = {"HYPOTHESIS_PROFILE": "torture"}
    session.run("python", "-m", "pytest", "-m", "", *files, *options, env=env)


@nox.session
def lint(session: nox.Session) -> None:
    """Check style, formatting and security with ruff and bandit (-- --fix applies fixes)."""
    session.install("ruff>=0.8", "bandit>=1.8")
    session.run("ruff", "check", *session.posargs, ".")
    session.run("ruff", "format", *([] if "--fix" in session.posargs else ["--check"]), ".")
    session.run(
        "bandit", "-q", "-c", "pyproject.toml", "-r", "bench", "crawlers", "server", "tools"
    )


@nox.session
def types(session: nox.Session) -> None:
    """Check the types of everything with mypy --strict."""
    install(session, "dev")
    session.run("mypy", *session.posargs)


@nox.session
def docs(session: nox.Session) -> None:
    """Build docs and the reference report into build/site, and check every link."""
    install(session, "docs")
    session.run("python", "-m", "tools.site", *session.posargs)
