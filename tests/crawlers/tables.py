"""Tables of cases that are data alone: a JSON file for each subject, a row for each case."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def rows(file: str, table: str) -> list[Any]:
    """The rows of a table; strings between them are headings."""
    text = Path(__file__).with_name(f"{file}.json").read_text("utf-8")
    return [row for row in json.loads(text)[table] if isinstance(row, list)]
