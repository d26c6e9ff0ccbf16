"""Processors: how many there are, who else uses them, and whether their speed changes."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Iterator

from bench.machine.doctor.result import CheckResult, Needs
from bench.machine.probes import build, cgroups, cpu, host, procfs, switches

BUSY_LOAD = 0.5
ENOUGH = 4
"""Processors from which several can work beside the server's."""

STEAL_SHARE = 0.02  # of all processors' time; one clock tick during the check is 1 % of two
STEAL_CHECK_S = 0.5


def check_processors(needs: Needs) -> Iterator[CheckResult]:
    """Client and server need a processor each."""
    pinning = cpu.split_cores()
    cores = cpu.usable_cores()
    if not pinning.client:
        yield CheckResult(
            "processors",
            "warning",
            f"{len(cores)} usable: {pinning.reason}",
            "client and server take time from each other: throughput is too low and noisy",
            "use a Linux machine with two or more processors",
        )
    elif pinning.reason is not None:
        yield CheckResult(
            "processors",
            "warning",
            f"{len(cores)} usable: {pinning.reason}",
            "client and server slow each other down by sharing execution units",
            "switch off SMT or allow a second core",
        )
    else:
        found = f"{len(cores)} usable; client on {pinning.client}, server on {pinning.server}"
        yield CheckResult("processors", "ok", found)
    if len(cores) < ENOUGH:
        yield CheckResult(
            "all processors",
            "note",
            f"{len(cores)} usable",
            "points on many processors show what handing work over costs, and hardly what more "
            "processors gain: one or none is left beside the server's",
            f"use a machine with {ENOUGH} or more processors: {ENOUGH} add points with 1, 2 and 3 "
            "for the client beside the server's, 8 with 1, 2, 4 and 7, for processes, "
            "a partition, subinterpreters, a loop per thread and free-threaded threads",
        )
    quota = cgroups.cpu_quota()
    if quota is not None and quota < 2:
        yield CheckResult(
            "quota",
            "warning",
            f"CPU time limited to {quota:g} processors",
            "the scheduler stops client and server for the rest of each period, which adds "
            "latencies of 50 ms and more that no backend causes",
            "raise the container's CPU limit to 2 or more",
        )


def check_noise(needs: Needs) -> Iterator[CheckResult]:
    """Other programs, other guests, and a clock speed that changes."""
    load = host.load1()
    if load is not None and load > BUSY_LOAD:
        yield CheckResult(
            "load",
            "warning",
            f"load average {load:.2f}",
            "other programs ran within the last minute: expect wide intervals and much noise",
            f"stop them, or wait until the load is below {BUSY_LOAD}",
        )
    elif load is not None:
        yield CheckResult("load", "ok", f"load average {load:.2f}")
    before = host.steal()
    if before is not None:
        time.sleep(STEAL_CHECK_S)
        stolen = ((host.steal() or before) - before) / STEAL_CHECK_S / (os.cpu_count() or 1)
        up = time.clock_gettime(time.CLOCK_BOOTTIME) * (os.cpu_count() or 1)
        share = max(stolen, before / up)
        if share > STEAL_SHARE:
            yield CheckResult(
                "steal",
                "warning",
                f"{share:.1%} of processor time went to other guests",
                "trials lose time to other virtual machines at random",
                "use a dedicated host, or run more blocks",
            )
        else:
            yield CheckResult("steal", "ok", f"{share:.1%} of processor time stolen")
    yield from check_frequency()


def check_frequency() -> Iterator[CheckResult]:
    """A governor that ramps up makes the first trial of a block slow; turbo makes it fast."""
    governor = procfs.read("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
    if governor is None:
        yield CheckResult(
            "frequency",
            "note",
            "scaling is not visible",
            "usual in a virtual machine; a probe around each trial shows whether speed changes",
        )
        return
    governor = governor.strip()
    if governor != "performance":
        yield CheckResult(
            "frequency",
            "warning",
            f"governor {governor}",
            "the processor speeds up only under load: short and idle trials run slower",
            "sudo cpupower frequency-set -g performance",
        )
    else:
        yield CheckResult("frequency", "ok", "governor performance")
    no_turbo = procfs.read_int("sys/devices/system/cpu/intel_pstate/no_turbo")
    boost = procfs.read_int("sys/devices/system/cpu/cpufreq/boost")
    if no_turbo == 0 or boost == 1:
        yield CheckResult(
            "turbo",
            "note",
            "on",
            "speed depends on temperature and on how many cores are busy",
            "echo 1 > /sys/devices/system/cpu/intel_pstate/no_turbo, "
            "or 0 > /sys/devices/system/cpu/cpufreq/boost",
        )


def check_interpreter(needs: Needs) -> Iterator[CheckResult]:
    """Two builds of the same version can differ by a third."""
    built = build.python_build()
    here = (
        f"{platform.python_implementation()} {platform.python_version()}, "
        f"interpreter lock {switches.gil()}, JIT {switches.jit()}"
    )
    if built["debug"]:
        yield CheckResult(
            "interpreter",
            "warning",
            f"{here}: debug build",
            "several times slower, and not by the same factor everywhere",
            "use a release build",
        )
    elif built["pgo"] is None:
        yield CheckResult(
            "interpreter",
            "note",
            f"{here}: it does not say whether it was built with profile-guided optimisation",
            "builds with and without it differ by up to a third; "
            "ratios are valid, absolute figures apply to this build only",
        )
    elif not built["pgo"]:
        yield CheckResult(
            "interpreter",
            "note",
            f"{here}: built without profile-guided optimisation",
            "up to a third slower than most distributions' builds; "
            "ratios are valid, absolute figures apply to this build only",
            "use a build made with --enable-optimizations --with-lto",
        )
    else:
        yield CheckResult("interpreter", "ok", f"{here}: built with profile-guided optimisation")
