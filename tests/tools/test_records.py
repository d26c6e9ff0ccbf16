"""The schema of the records: frozen, and documented."""

from __future__ import annotations

import ast
import hashlib
import inspect

from bench import schema
from bench.launch import ROOT
from bench.schema import TrialRecord
from tools.rebuild import records

FROZEN = {2: "bc738341c0845472827ade04ab7a18ca7c1093b376b82575d3454a9eafb97231"}
"""Version of the schema -> the digest of its names, types, optional fields, and named words."""


def test_the_schema_changes_with_its_version_only() -> None:
    """After a change: raise the version, let bench.store read those before it, add a line."""
    named = [
        ast.unparse(node)
        for node in ast.parse(inspect.getsource(schema)).body
        if isinstance(node, ast.Assign | ast.AnnAssign)
        and "SCHEMA_VERSION" not in ast.unparse(node)
    ]
    fields = [(name, *field[:3]) for name, _, found in records() for field in found]
    digest = hashlib.sha256(repr((named, fields)).encode()).hexdigest()
    assert digest == FROZEN[schema.SCHEMA_VERSION]


def test_every_field_has_its_type_and_meaning() -> None:
    found = {name: fields for name, _, fields in records()}
    assert [field.name for field in found["TrialRecord"]] == list(TrialRecord.model_fields)
    named = {field.name: field for field in found["TrialRecord"]}
    assert named["elapsed_s"].meaning == "the timed part"
    assert named["loaded"].optional
    page = (ROOT / "docs" / "reference" / "records.md").read_text()
    assert f"This is version {schema.SCHEMA_VERSION} of the schema" in page
