"""The schema of ``trials.jsonl`` and ``turns.jsonl``: docs/reference/records.md, from its source.

:func:`digest` changes with every change of the schema; a test holds it to the schema's version.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
from collections.abc import Iterator
from typing import Final, NamedTuple

from bench import schema
from bench.text import markdown_text
from tools import markdown

UNITS: Final = {
    "_per_s": "per second",
    "_s": "seconds",
    "_ms": "ms",
    "_us": "µs",
    "_bytes": "bytes",
    "_kib": "KiB",
    "_share": "share of 1",
}
"""The ends of names, the longest first where one ends with another; columns of values have them."""


class Field(NamedTuple):
    """One field of a record."""

    name: str
    type: str
    optional: bool  # records may lack it
    unit: str
    meaning: str


def records() -> Iterator[tuple[str, str, list[Field]]]:
    """Name, first line of the docstring, and fields of each record, in the order of the source."""
    source = inspect.getsource(schema)
    comments = ["", *(line.partition("  # ")[2] for line in source.splitlines())]
    for node in ast.parse(source).body:
        fields = []
        for inner in node.body if isinstance(node, ast.ClassDef) else ():
            if isinstance(inner, ast.AnnAssign) and isinstance(inner.target, ast.Name):
                name, has_default = inner.target.id, inner.value is not None
                unit = next((unit for end, unit in UNITS.items() if name.endswith(end)), "")
                kind, meaning = ast.unparse(inner.annotation), comments[inner.lineno]
                fields.append(Field(name, kind, has_default, unit, meaning))
        if fields and isinstance(node, ast.ClassDef):
            yield node.name, (ast.get_docstring(node) or "").partition("\n\n")[0], fields


def tables() -> str:
    """A section for each record."""
    parts = []
    for name, about, fields in records():
        rows = [
            (f"`{f.name}`", f"`{f.type}`".replace("|", "\\|"), f.unit, markdown_text(f.meaning))
            for f in fields
        ]
        table = markdown.table(["field", "type", "unit", "meaning"], rows)
        parts += [f"## {name}\n", f"{about}\n", *table, ""]
    return "\n".join(parts)


def digest() -> str:
    """A checksum of all names, types and optional fields, and of the words that types name."""
    named = [
        ast.unparse(node)
        for node in ast.parse(inspect.getsource(schema)).body
        if isinstance(node, ast.Assign | ast.AnnAssign)
        and "SCHEMA_VERSION" not in ast.unparse(node)
    ]
    fields = [(name, *field[:3]) for name, _, of_record in records() for field in of_record]
    return hashlib.sha256(repr((named, fields)).encode()).hexdigest()
