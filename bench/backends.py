"""Which backends there are, and which of them can run here.

Looked up in processes of their own: loading a backend may patch the standard
library (gevent does), and neither the harness nor the next backend may notice.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from bench.errors import BenchError
from bench.process import OWN_PYTHON, ROOT, environment
from bench.workloads import BASE, MODELS, model_of

TIMEOUT_S = 60.0


class BackendsError(BenchError):
    """A backend that was asked for cannot be used; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class Known:
    """A backend as the harness knows it; ``missing`` says why it cannot run here.

    ``against`` is the backend that it changes one thing of, and ``most`` the
    connections that it can hold at once, None without a bound.
    """

    name: str
    family: str
    rung: int
    summary: str
    changes: str
    missing: str | None = None
    against: str | None = None
    most: int | None = None


def look_up(names: Sequence[str] | None = None, python: Sequence[str] = OWN_PYTHON) -> list[Known]:
    """The named backends, or all registered ones, in the registry's order, as ``python`` has them.

    A name that is not registered comes with ``missing`` saying so. Raises
    :class:`BackendsError` when the registry itself cannot be read.
    """
    done = subprocess.run(
        [*python, "-m", "bench.backends", *(names or ())],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env=environment(),
        timeout=TIMEOUT_S,
    )
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise BackendsError(f"the registry of backends cannot be read: {last}")
    return [Known(**json.loads(line)) for line in done.stdout.splitlines() if line[:1] == "{"]


def choose(
    known: Sequence[Known],
    wanted: Sequence[str] | None,
    usual: Sequence[str] | None = None,
) -> list[str]:
    """The names to measure: those asked for, else the usual ones that can run here.

    ``usual`` is the profile's choice, None for every backend. Raises
    :class:`BackendsError` for an unknown one, or one that cannot run.
    """
    by_name = {backend.name: backend for backend in known}
    if wanted is None:
        return [
            backend.name
            for backend in known
            if backend.missing is None and (usual is None or backend.name in usual)
        ]
    for name in wanted:
        if name not in by_name:
            raise BackendsError(f"unknown backend {name!r}: choose from {', '.join(by_name)}")
        if missing := by_name[name].missing:
            raise BackendsError(missing)
    # The registry's order, whatever order they were asked for in.
    return [name for name in by_name if name in wanted]


def base_of(names: Sequence[str]) -> str:
    """The backend that ratios are taken against."""
    for model in (BASE, *MODELS):
        for name in names:
            if model_of(name) == model:
                return name
    return names[0]


def find(name: str) -> Known:
    """One backend, imported to see whether it can run here."""
    from crawlers import registry

    try:
        loaded = registry.load(name)
    except registry.BackendError as error:
        return Known(name, "", -1, "", "", str(error))
    return Known(
        name,
        loaded.family,
        loaded.rung,
        loaded.summary,
        loaded.changes,
        against=loaded.against,
        most=loaded.most,
    )


def main(wanted: Sequence[str]) -> int:
    """Print one JSON object a line for each backend.

    Each is imported in a process of its own, because one may change what the
    next one finds.
    """
    from crawlers import registry

    known = registry.names()
    unknown = [name for name in wanted if name not in known]
    for name in [*(name for name in known if not wanted or name in wanted), *unknown]:
        sys.stdout.flush()
        child = os.fork()
        if child == 0:
            code = 1
            try:
                print(json.dumps(asdict(find(name))), flush=True)
                code = 0
            finally:
                os._exit(code)
        if os.waitpid(child, 0)[1]:
            print(json.dumps(asdict(Known(name, "", -1, "", "", f"{name} cannot be imported"))))
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
