"""What surrounds a campaign: the platform, a container, the disk, and optional programs."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator

from bench.machine.doctor.memory import mib
from bench.machine.doctor.result import CheckResult, Needs
from bench.machine.probes import procfs

DISK_WARNING = 500 << 20
DISK_REFUSAL = 50 << 20


def check_platform(needs: Needs) -> Iterator[CheckResult]:
    """How much of memory can be attributed depends on what can be read from /proc."""
    if procfs.read("proc/self/status") is None:
        yield CheckResult(
            "proc",
            "note",
            f"no /proc on {sys.platform}",
            "kernel memory, network counters, pinning and most limits are not recorded",
            "use Linux for figures that matter",
        )
        return
    smaps = procfs.read("proc/self/smaps_rollup") is not None
    slabinfo = procfs.read("proc/slabinfo") is not None
    if smaps and slabinfo:
        yield CheckResult("proc", "ok", "smaps_rollup and slabinfo are readable")
    if not smaps:
        yield CheckResult(
            "proc",
            "note",
            "no smaps_rollup",
            "user memory is read from coarser sources",
            "use Linux 4.14 or later",
        )
    if not slabinfo:
        yield CheckResult(
            "proc",
            "note",
            "slabinfo is not readable",
            "sockets and other kernel objects are measured per control group, or not at all",
            "run as root, or: sudo chmod a+r /proc/slabinfo",
        )


def check_container(needs: Needs) -> Iterator[CheckResult]:
    """Some limits can only be changed from outside the container."""
    marks = ("/.dockerenv", "/run/.containerenv")
    if any((procfs.ROOT / mark.lstrip("/")).exists() for mark in marks):
        yield CheckResult(
            "container",
            "note",
            "this is a container",
            "sysctl settings and slabinfo usually belong to the host and are out of reach",
            "docker run --sysctl net.core.somaxconn=65535 --ulimit nofile=200000",
        )


def check_disk(needs: Needs) -> Iterator[CheckResult]:
    """Records are appended and synced after each trial."""
    folders = (needs.folder, *needs.folder.absolute().parents)
    free = shutil.disk_usage(next(path for path in folders if path.exists())).free
    if free < DISK_WARNING:
        yield CheckResult(
            "disk",
            "refusal" if free < DISK_REFUSAL else "warning",
            f"{mib(free)} free",
            "a campaign's records and charts may not fit",
            "free some space, or choose another folder for results",
        )
    else:
        yield CheckResult("disk", "ok", f"{mib(free)} free")


def check_tools(needs: Needs) -> Iterator[CheckResult]:
    """Programs that are optional, but make a result stronger."""
    if shutil.which("wrk"):
        yield CheckResult("wrk", "ok", "installed")
    else:
        yield CheckResult(
            "wrk",
            "note",
            "not installed",
            "the built-in client measures the server's ceiling instead; it is slower, "
            "so more trials may have an unknown limiter",
            "apt install wrk, brew install wrk",
        )
    paranoid = procfs.read_int("proc/sys/kernel/perf_event_paranoid")
    if shutil.which("perf") and (paranoid is None or paranoid <= 2 or os.geteuid() == 0):
        yield CheckResult("perf", "ok", "installed (optional)")


def check_tls(needs: Needs) -> Iterator[CheckResult]:
    """The workloads over TLS need TLS 1.3."""
    try:
        import ssl
    except ImportError:
        yield CheckResult(
            "TLS",
            "warning",
            "this Python has no ssl module",
            "no https URL can be crawled, and the workloads over TLS fail",
            "use a Python that was built with OpenSSL",
        )
        return
    if ssl.HAS_TLSv1_3:
        yield CheckResult("TLS", "ok", f"TLS 1.3 with {ssl.OPENSSL_VERSION}")
    else:
        yield CheckResult(
            "TLS",
            "warning",
            f"{ssl.OPENSSL_VERSION} has no TLS 1.3",
            "the workloads over TLS fail",
            "use a Python that was built with OpenSSL 1.1.1 or later",
        )
