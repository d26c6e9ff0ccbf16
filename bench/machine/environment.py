"""The environment of a measurement: interpreter, packages, commit, kernel, processor, limits.

Never includes host names, user names or paths, because campaigns are published.
A value that cannot be read is None (or left out), with a reason.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import os
import platform
import re
import resource
import ssl
import subprocess
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import psutil

from bench.launch import ROOT, output
from bench.machine import cpu, procfs
from bench.machine.build import python_build
from bench.schema import Environment

PACKAGES = """
    aiofastnet aiohttp anyio cryptography gevent granian greenlet gunicorn h11 httpcore httpcore2
    httptools httpx httpx2 hypercorn lxml matplotlib multidict numpy psutil pydantic pytest
    pytest-benchmark requests scipy selectolax tornado trio twisted urllib3 uvicorn uvloop waitress
    yarl
"""
"""Distributions whose version can change a number or the way it is computed."""

SYSCTL = {
    "somaxconn": "net/core/somaxconn",
    "tcp_max_syn_backlog": "net/ipv4/tcp_max_syn_backlog",
    "tcp_tw_reuse": "net/ipv4/tcp_tw_reuse",
    "tcp_max_tw_buckets": "net/ipv4/tcp_max_tw_buckets",
    "threads_max": "kernel/threads-max",
    "pid_max": "kernel/pid_max",
    "max_map_count": "vm/max_map_count",
    "file_max": "fs/file-max",
    "nr_open": "fs/nr_open",
    "overcommit_memory": "vm/overcommit_memory",
    "swappiness": "vm/swappiness",
}
"""Name in ``Environment.limits`` → file under /proc/sys."""

REASONS = {
    "commit": "not a git work tree, or git is missing",
    "dirty": "not a git work tree, or git status failed",
    "cpu_model": "the platform does not report its processor",
    "cpu_quota": "no quota is set, or there is no cpu control group",
}
"""Why a value of an environment may be None."""

TIMEOUT_S = 20

CONTAINER_MARKS = (".dockerenv", "run/.containerenv", "run/systemd/container")
"""Files that Docker, Podman and systemd-nspawn put into a container, for every user to see."""

CONTAINED = re.compile(r"docker|containerd|kubepods|libpod|lxc|podman")
"""In the control group of a container's first process."""

GUEST = re.compile(
    r"QEMU|KVM|VMware|VirtualBox|innotek|Xen|Bochs|BHYVE|Parallels|Virtual Machine|"
    r"Amazon EC2|Google Compute|OpenStack|Apple Virtualization|Firecracker"
)
"""In the firmware's names of a virtual machine (DMI)."""

DMI = ("sys_vendor", "product_name", "board_vendor", "bios_vendor")


def packages() -> dict[str, str]:
    versions = {}
    for name in PACKAGES.split():
        with suppress(importlib.metadata.PackageNotFoundError):
            versions[name] = importlib.metadata.version(name)
    return versions


def git(repository: Path, *arguments: str) -> str | None:
    """The output of a git command that changes nothing; None if it fails."""
    # Without this, git status could hold the index lock while someone commits.
    env = os.environ | {"GIT_OPTIONAL_LOCKS": "0"}
    with suppress(OSError, subprocess.SubprocessError):
        done = output(["git", "-C", str(repository), *arguments], TIMEOUT_S, env)
        return None if done.returncode else done.stdout
    return None


def cpu_model() -> str | None:
    """``AMD EPYC, family 26 model 2``; None if it is not reported, as by many ARM kernels.

    A virtual machine often hides which processor of a make it has. On x86 the family and the model
    still tell (AMD64 Architecture Programmer's Manual, volume 3, CPUID function 1).
    """
    # All processors are taken for one kind. The last one's lines stand.
    lines = procfs.fields(procfs.read("proc/cpuinfo") or "")
    said = {name: " ".join(words) for name, words in lines}
    name = said.get("model name") or said.get("Model") or said.get("cpu model")
    if name and said.keys() >= {"cpu family", "model"}:
        return f"{name}, family {said['cpu family']} model {said['model']}"
    return name or platform.processor() or None


def boot() -> str | None:
    """Tells the boots of machines apart, and nothing else; None without Linux's /proc."""
    identifier = procfs.read("proc/sys/kernel/random/boot_id")
    return hashlib.sha256(identifier.strip().encode()).hexdigest()[:8] if identifier else None


def virtual() -> str | None:
    """``a container in a virtual machine``; None without a sign of either.

    Reads what any user may read, the same as systemd-detect-virt does.
    """
    contained = any((procfs.ROOT / mark).exists() for mark in CONTAINER_MARKS) or CONTAINED.search(
        procfs.read("proc/1/cgroup") or ""
    )
    flags = dict(procfs.fields(procfs.read("proc/cpuinfo") or "")).get("flags", ())
    firmware = " ".join(procfs.read(f"sys/class/dmi/id/{name}") or "" for name in DMI)
    tree = procfs.ROOT / "proc/device-tree/hypervisor"  # of ARM, which has no such flag
    guest = "hypervisor" in flags or GUEST.search(firmware) or tree.exists()
    signs = (("a container", contained), ("a virtual machine", guest))
    return " in ".join(words for words, sign in signs if sign) or None


def os_name() -> str:
    """The operating system, such as "Debian GNU/Linux 12 (bookworm)"."""
    try:
        return platform.freedesktop_os_release()["PRETTY_NAME"]
    except (OSError, KeyError):
        return platform.system()


MAPPINGS = """
from threading import Lock, Thread
gate, count = Lock(), lambda: sum(1 for _ in open("/proc/self/maps"))
gate.acquire()
before = count()
for _ in range(100):
    Thread(target=gate.acquire, daemon=True).start()
print(round((count() - before) / 100))
"""


@cache
def maps_per_thread() -> int | None:
    """Memory mappings of a waiting thread: its stack, a guard page, a data stack of Python's.

    How many there are depends on C library and interpreter. With several arenas of malloc, the
    holes between them swallow a mapping of each of the first thousand threads; so a fresh
    interpreter starts them, with one arena. None without /proc, or where they cannot start.
    """
    env = os.environ | {"MALLOC_ARENA_MAX": "1"}
    command = [sys.executable, "-I", "-S", "-c", MAPPINGS]
    with suppress(OSError, subprocess.SubprocessError):
        return procfs.to_int(output(command, TIMEOUT_S, env).stdout.strip())
    return None


def limits() -> dict[str, int | str | None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    processes = resource.getrlimit(resource.RLIMIT_NPROC)[0]
    port_range = procfs.read("proc/sys/net/ipv4/ip_local_port_range")
    values: dict[str, int | str | None] = {
        "nofile_soft": soft,
        "nofile_hard": hard,
        "nproc": "unlimited" if processes == resource.RLIM_INFINITY else processes,
        "ip_local_port_range": "-".join(port_range.split()) if port_range else None,
        "cgroup_tasks_left": procfs.tasks_left(),
        "cgroup_memory_bytes": procfs.memory_limit(),
        "maps_per_thread": maps_per_thread(),
    }
    return values | {name: procfs.read_int(f"proc/sys/{path}") for name, path in SYSCTL.items()}


def collect(repository: Path) -> Environment:
    """Describe this machine, interpreter and commit.

    ``repository`` is the work tree whose commit is recorded (its path is not).
    Files under its ``results`` do not make it dirty. Takes about a tenth of a second
    and changes nothing.
    """
    head = git(repository, "rev-parse", "HEAD")
    changed = git(repository, "status", "--porcelain", "--", ".", ":(exclude)results")
    known: dict[str, Any] = {
        "commit": head.strip() if head else None,
        "dirty": None if changed is None else bool(changed.strip()),
        "cpu_model": cpu_model(),
        "cpu_quota": procfs.cpu_quota(),
    }
    values = limits()
    reasons = {name: why for name, why in REASONS.items() if known[name] is None}
    for name in sorted(name for name, value in values.items() if value is None):
        without = "no limit is set" if name.startswith("cgroup") else "not found in /proc/sys"
        reasons[f"limits.{name}"] = without
    return Environment(
        python=f"{platform.python_implementation()} {platform.python_version()}",
        python_build=python_build(),
        implementation=sys.implementation.name,
        packages=packages(),
        os=os_name(),
        kernel=f"{platform.system()} {platform.release()}",
        machine=platform.machine(),
        cpu_count=len(cpu.usable_cores()),
        memory_total_bytes=int(psutil.virtual_memory().total),
        limits=values,
        boot=boot(),
        virtual=virtual(),
        openssl=ssl.OPENSSL_VERSION,
        **known,
        reasons=reasons,
    )


def pytest_benchmark_generate_machine_info() -> dict[str, Any]:
    """The machine for pytest-benchmark, without its host name and its ninety processor flags.

    Uses pytest-benchmark's own names where it has one, so that its comparisons still work.
    """
    machine = collect(ROOT)
    return {
        "processor": machine.cpu_model or "",
        "machine": machine.machine,
        "cpu_count": machine.cpu_count,
        "python_implementation": platform.python_implementation(),
        "python_version": platform.python_version(),
        "python_build": machine.python_build,
        "system": platform.system(),
        "release": machine.kernel,
        "os": machine.os,
    }
