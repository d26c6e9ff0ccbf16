"""The doctor: checks this machine for anything that would skew the results.

``python -m bench doctor`` prints one result per check, with its effect on the
measurements and a fix. A campaign runs the same checks before it starts, and
asks :func:`refuse` before each workload. A *warning* means that numbers get
worse or noisier than they look; a *refusal* means that the workload cannot run
at all, and says which limit is needed. The doctor raises the limits that this
process may raise by itself.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from bench.errors import BenchError
from bench.machine.doctor.limits import check_descriptors, check_threads, raise_descriptor_limit
from bench.machine.doctor.memory import check_memory
from bench.machine.doctor.network import check_backlog, check_ports
from bench.machine.doctor.processors import check_interpreter, check_noise, check_processors
from bench.machine.doctor.report import show
from bench.machine.doctor.result import CheckResult, Needs
from bench.machine.doctor.surroundings import (
    check_container,
    check_disk,
    check_platform,
    check_tls,
    check_tools,
)

__all__ = [
    "QUICK_CONNECTIONS",
    "CheckResult",
    "DoctorError",
    "examine",
    "raise_descriptor_limit",
    "refuse",
    "require_proc",
    "show",
]

QUICK_CONNECTIONS = 10_000
"""The most that the quick profile holds, with as many threads: checked for by default."""

CHECKS: tuple[Callable[[Needs], Iterator[CheckResult]], ...] = (
    check_platform,
    check_descriptors,
    check_ports,
    check_backlog,
    check_threads,
    check_processors,
    check_noise,
    check_memory,
    check_disk,
    check_tools,
    check_tls,
    check_interpreter,
    check_container,
)

# Checks that can refuse a workload. They are quick, and run again before each workload.
LIMITS = (check_descriptors, check_ports, check_threads, check_memory, check_disk)


class DoctorError(BenchError):
    """This machine cannot even be checked; the message says what to do."""


def require_proc() -> None:
    """Raise :class:`DoctorError` on a Linux without /proc, where almost nothing can be read."""
    if sys.platform.startswith("linux") and not Path("/proc/self").exists():
        raise DoctorError("no /proc here, so nothing can be measured: mount -t proc proc /proc")


def examine(connections: int = 0, threads: int = 0, folder: Path = Path()) -> list[CheckResult]:
    """Run every check for a workload of this size. Takes about half a second.

    ``folder`` is where the records go. Raises :class:`DoctorError` on a Linux without /proc.
    """
    require_proc()
    needs = Needs(connections, threads, folder=folder)
    return [result for check in CHECKS for result in check(needs)]


def refuse(
    connections: int = 0,
    threads: int = 0,
    addresses: int = 1,
    folder: Path = Path(),
    *,
    tls_client: int = 0,
    tls_server: int = 0,
) -> str | None:
    """Why this workload cannot run here, with the numbers needed; None if it can.

    The worker holds ``connections``, and the server holds their other ends, spread
    over ``addresses`` server addresses. The worker starts ``threads``. ``folder`` is
    where the records go. Over TLS each connection takes ``tls_client`` and ``tls_server``
    bytes more.
    """
    needs = Needs(connections, threads, addresses, folder, tls_client, tls_server)
    refusals = [
        f"{result.check}: {result.found} ({result.fix})"
        for check in LIMITS
        for result in check(needs)
        if result.level == "refusal"
    ]
    return "; ".join(refusals) or None
