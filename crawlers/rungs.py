"""How the catalogue writes a backend down: one call for each rung."""

from __future__ import annotations

from collections.abc import Mapping

from crawlers.backend import Backend


def model(
    name: str,
    family: str,
    rung: int,
    summary: str,
    changes: str,
    *,
    several_threads: bool = False,
) -> Backend:
    return Backend(
        name,
        family,
        rung,
        summary,
        changes,
        several_threads=several_threads,
        module=f"crawlers.{name}",
    )


def variant(
    name: str,
    family: str,
    rung: int,
    summary: str,
    changes: str,
    *,
    extra: str = "",
    differs: Mapping[str, str] | None = None,
    alone: bool = False,
    most: int | None = None,
    several_threads: bool = False,
) -> Backend:
    return Backend(
        name,
        family,
        rung,
        summary,
        changes,
        extra=extra,
        differs=differs or {},
        alone=alone,
        most=most,
        several_threads=several_threads,
        module=f"crawlers.variants.{name}",
    )


VARIANTS = "variants"
"""The extra that installs the libraries of the variants."""
