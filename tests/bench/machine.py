"""Captured files for a machine that is made of them."""

from __future__ import annotations

from pathlib import Path


def put(root: Path, path: str, text: str) -> None:
    """Write a captured file below ``root``."""
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
