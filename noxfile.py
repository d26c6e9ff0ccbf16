"""The commands of this repository: ``nox -l`` lists them, ``nox -s NAME -- ARGS`` runs one.

A clone, a Python and nox are all that is needed; each session makes its own
environment under ``.nox``.
"""

from __future__ import annotations

import nox

nox.needs_version = ">=2024.10"
# A missing interpreter is to be said, not fetched behind the user's back; its session is skipped.
nox.options.download_python = "never"
nox.options.sessions = ["tests", "lint", "types"]
nox.options.reuse_existing_virtualenvs = True
nox.options.error_on_missing_interpreters = False


def bench_environment(session: nox.Session) -> None:
    """Install what measuring and reporting need, models and variants alike."""
    session.install(".[bench,variants]")


@nox.session
def bench(session: nox.Session) -> None:
    """Measure and draw: quick profile; -- --profile smoke|full, -k throughput, --backends a,b."""
    bench_environment(session)
    session.run("python", "-m", "pytest", "bench", *session.posargs)


@nox.session
def micro(session: nox.Session) -> None:
    """Time single operations (a task switch, a lock, a send), and add them up to a page."""
    bench_environment(session)
    session.run("python", "-m", "bench", "micro", *session.posargs)


@nox.session
def fleet(session: nox.Session) -> None:
    """Many processes at once: -- plan --connections 1000000, -- hold, -- crawl (docs/fleet.md)."""
    session.install(".[fleet,variants]")
    session.run("python", "-m", "bench", "fleet", *session.posargs)


@nox.session
def bench_interpreters(session: nox.Session) -> None:
    """Measure the four models on every CPython of 3.11 to 3.14 found (paths after -- name others).

    Interpreters are found by the harness, not by nox: their trials share blocks.
    """
    bench_environment(session)
    session.run("python", "-m", "bench", "interpreters", *session.posargs)


@nox.session(python=["3.11", "3.12", "3.13", "3.13t", "3.14", "3.14t"])
def conformance(session: nox.Session) -> None:
    """Hold every backend that an interpreter can run to the conformance suite (-- NAMES: those).

    The project is not installed: some of what it depends on has no wheels for
    free-threaded builds, and the crawlers can do without.
    """
    session.install("rich>=13.7", "pytest>=8.3", "pytest-timeout>=2.3")
    session.run("python", "-m", "crawlers", "conformance", *(session.posargs or ["all"]))


@nox.session
def tests(session: nox.Session) -> None:
    """Run the whole test suite (arguments after -- go to pytest)."""
    session.install(".[bench,browser,fleet,tests,variants]")
    session.run("python", "-m", "pytest", *session.posargs)


@nox.session
def torture(session: nox.Session) -> None:
    """Run a long test and its table: -- faults, fuzz, leaks, races, signals, limits or soak."""
    session.install(".[bench,tests,variants]")
    name, *options = session.posargs or ["leaks", "--help"]
    if name == "fuzz":
        session.install("atheris>=2.3")
    session.run("python", "-m", f"tests.torture.{name}", *options)


@nox.session
def lint(session: nox.Session) -> None:
    """Check style, formatting and security with ruff and bandit (-- --fix mends what it can)."""
    session.install("ruff>=0.8", "bandit>=1.8")
    session.run("ruff", "check", *session.posargs, ".")
    session.run("ruff", "format", *([] if "--fix" in session.posargs else ["--check"]), ".")
    session.run("bandit", "-q", "-c", "pyproject.toml", "-r", "bench", "crawlers", "server")


@nox.session
def types(session: nox.Session) -> None:
    """Check the types of everything with mypy --strict."""
    session.install(".[dev]")
    session.run("mypy", *session.posargs)


@nox.session
def compare(session: nox.Session) -> None:
    """Compare two campaigns: -- results/A results/B; exit code 1 when something got slower."""
    bench_environment(session)
    session.run("python", "-m", "bench", "compare", *session.posargs)


@nox.session
def report(session: nox.Session) -> None:
    """Rebuild every chart and table of a campaign from its records: -- results/CAMPAIGN."""
    bench_environment(session)
    session.run("python", "-m", "bench", "report", *session.posargs)


@nox.session
def claims(session: nox.Session) -> None:
    """Famous sentences, then and now: -- results/CAMPAIGN; --measure runs the experiments."""
    bench_environment(session)
    session.run("python", "-m", "bench", "claims", *session.posargs)


@nox.session
def doctor(session: nox.Session) -> None:
    """Say what about this machine would spoil the measurements, and how to mend it."""
    bench_environment(session)
    session.run("python", "-m", "bench", "doctor", *session.posargs)
