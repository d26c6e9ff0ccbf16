"""The description of the machine in pytest-benchmark's files, in place of its own."""

from __future__ import annotations

import platform
from typing import Any

from bench.launch import ROOT
from bench.machine.probes import environment


def pytest_benchmark_generate_machine_info() -> dict[str, Any]:
    """The machine, without its host name and its ninety processor flags.

    Uses pytest-benchmark's own names where it has one, so that its comparisons still work.
    """
    found = environment.collect(ROOT)
    return {
        "processor": found.cpu_model or "",
        "machine": found.machine,
        "cpu_count": found.cpu_count,
        "python_implementation": platform.python_implementation(),
        "python_version": platform.python_version(),
        "python_build": found.python_build,
        "system": platform.system(),
        "release": found.kernel,
        "os": found.os,
    }
