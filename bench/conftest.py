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

# The micro-benchmarks are pytest's alone, and no part of a campaign.
collect_ignore = ["micro"]

__all__ = [
    "collect_ignore",
    "pytest_addoption",
    "pytest_benchmark_generate_machine_info",
    "pytest_collection_finish",
    "pytest_collection_modifyitems",
    "pytest_configure",
    "pytest_generate_tests",
    "pytest_terminal_summary",
    "replay",
]
