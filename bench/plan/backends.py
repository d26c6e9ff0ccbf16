"""The backends, and which of them can run here.

Backends are looked up in processes of their own: loading one may patch the
standard library (gevent does), which must not affect the harness or the next
backend. This module is also the program of those processes. It runs on every
interpreter of a campaign, so it imports nothing but the standard library, ``crawlers`` and the
table of servers.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from bench import BenchError
from bench.launch import OWN_PYTHON, run_module
from bench.plan.participants import BASE, Label
from crawlers import registry
from crawlers.backend import Backend, BackendError
from crawlers.catalogue import OURS
from crawlers.registry import MODELS
from server.models.catalogue import SERVERS

if TYPE_CHECKING:  # this program runs on interpreters that have no pydantic
    from bench.plan.workloads import Point
    from bench.schema import CampaignRecord

TIMEOUT_S = 60.0

ONLY_SERVERS = frozenset(SERVERS) - frozenset(OURS)
"""Names of servers that no crawler has."""


def look_up(names: Sequence[str] | None = None, *pythons: Sequence[str]) -> list[Backend]:
    """Describe the named backends, or all of them, in the registry's order.

    ``missing`` says why one cannot run with all of these ``pythons``, by default with the
    harness's own, or that it is not registered. Raises :class:`BenchError` when the registry
    cannot be read.
    """
    rows = [on_one(python, names) for python in pythons or [OWN_PYTHON]]
    return [next((b for b in same if b.missing), same[0]) for same in zip(*rows, strict=True)]


def on_one(python: Sequence[str], names: Sequence[str] | None) -> list[Backend]:
    try:
        done = run_module(python, "bench.plan.backends", *(names or ()), timeout_s=TIMEOUT_S)
    except subprocess.TimeoutExpired:
        raise BenchError(
            f"the backends did not load in {TIMEOUT_S:g} s: this machine is overloaded; "
            "see who uses it with: uptime; top"
        ) from None
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise BenchError(f"the registry of backends cannot be read: {last}")
    return [Backend(**json.loads(line)) for line in done.stdout.splitlines() if line[:1] == "{"]


def choose(names: Sequence[str] | None, *pythons: Sequence[str]) -> list[Backend]:
    """Describe those backends as :func:`look_up` does; by default of all those that can run here.

    Raises :class:`BenchError` if one that is named does not exist, or cannot run.
    """
    known = look_up(names, *pythons)
    for backend in known:
        if backend.missing and names is not None:
            raise BenchError(backend.missing)
    return [backend for backend in known if not backend.missing]


def base_of(names: Sequence[str]) -> str:
    """The backend that ratios are taken against."""
    for model in (BASE, *MODELS):
        for name in names:
            if Label.parse(name).name == model:
                return name
    return names[0]


def rebased(campaign: CampaignRecord, base: str) -> CampaignRecord:
    """The campaign with ratios to another of its backends; raises :class:`BenchError`."""
    if base not in campaign.backends:
        raise BenchError(
            f"--base {base}: not in campaign {campaign.campaign}, which has "
            f"{', '.join(campaign.backends)}"
        )
    return campaign.model_copy(update={"base": base})


def as_server(name: str) -> Backend:
    """A server under test, described like a backend."""
    server = SERVERS[name]
    return Backend(
        name=name,
        family=server.family,
        summary=server.summary,
        changes=server.changes,
        extra=server.extra,
        no_https=None if server.tls else "as a server it speaks none",
        several_threads=server.several_threads,
    )


def of_role(point: Point, label: Label, known: Mapping[str, Backend]) -> Backend:
    """What a label is at this point: a backend or control, or the server of its name."""
    return as_server(label.name) if point.load else known[label.backend]


def describe(name: str) -> Backend:
    """One backend, with the reason in ``missing`` if it cannot be imported here."""
    if name in ONLY_SERVERS:
        try:
            SERVERS[name].load()
        except OSError as error:
            return replace(as_server(name), missing=str(error))
        return as_server(name)
    try:
        about = registry.about(name)
    except BackendError as error:
        return Backend(name, "", "", missing=str(error))
    try:
        return registry.load(name)
    except BackendError as error:
        return replace(about, missing=str(error))


def main(wanted: Sequence[str]) -> None:
    """Print one JSON object a line for each backend.

    Each is imported in a process of its own, because importing one may change
    what the next one sees.
    """
    known = [*registry.names(), *(name for name in SERVERS if name in ONLY_SERVERS)]
    unknown = [name for name in wanted if name not in known]
    for name in [*(name for name in known if not wanted or name in wanted), *unknown]:
        sys.stdout.flush()
        child = os.fork()
        if child == 0:
            code = 1
            try:
                print(json.dumps(describe(name).facts()), flush=True)
                code = 0
            finally:
                os._exit(code)
        if os.waitpid(child, 0)[1]:
            dead = Backend(name, "", "", missing=f"{name} cannot be imported")
            print(json.dumps(dead.facts()))


if __name__ == "__main__":
    main(sys.argv[1:])
