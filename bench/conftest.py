"""Makes ``pytest bench`` run a campaign: see :mod:`bench.plugin`."""

from __future__ import annotations

from bench.plugin import (
    pytest_addoption,
    pytest_benchmark_generate_machine_info,
    pytest_collection_finish,
    pytest_collection_modifyitems,
    pytest_configure,
    pytest_generate_tests,
    pytest_terminal_summary,
    replay,
)

__all__ = [
    "pytest_addoption",
    "pytest_benchmark_generate_machine_info",
    "pytest_collection_finish",
    "pytest_collection_modifyitems",
    "pytest_configure",
    "pytest_generate_tests",
    "pytest_terminal_summary",
    "replay",
]
