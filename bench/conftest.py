"""Makes ``pytest bench`` run a campaign: see :mod:`bench.cli.pytest_front`."""

from __future__ import annotations

from bench.cli.pytest_front import (
    pytest_addoption,
    pytest_collection_finish,
    pytest_configure,
    pytest_generate_tests,
    pytest_terminal_summary,
    replay,
)
from bench.machine.environment import pytest_benchmark_generate_machine_info

__all__ = [
    "pytest_addoption",
    "pytest_benchmark_generate_machine_info",
    "pytest_collection_finish",
    "pytest_configure",
    "pytest_generate_tests",
    "pytest_terminal_summary",
    "replay",
]
