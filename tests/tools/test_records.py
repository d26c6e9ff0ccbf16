"""The schema of the records: frozen, and documented."""

from __future__ import annotations

from bench import schema
from bench.launch import ROOT
from bench.schema import TrialRecord
from tools import records

FROZEN = {2: "bc738341c0845472827ade04ab7a18ca7c1093b376b82575d3454a9eafb97231"}
"""Version of the schema -> its digest."""


def test_the_schema_changes_with_its_version_only() -> None:
    """After a change: raise the version, let bench.store read those before it, add a line.

    Where the same records are written, and all that were read before still are, change the digest.
    """
    assert records.digest() == FROZEN[schema.SCHEMA_VERSION]


def test_every_field_has_its_type_unit_and_meaning() -> None:
    found = {name: fields for name, _, fields in records.records()}
    assert [field.name for field in found["TrialRecord"]] == list(TrialRecord.model_fields)
    named = {field.name: field for field in found["TrialRecord"]}
    assert (named["elapsed_s"].unit, named["elapsed_s"].meaning) == ("seconds", "the timed part")
    assert named["pages_per_s"].unit == "per second"
    assert named["loaded"].optional
    page = (ROOT / "docs" / "reference" / "records.md").read_text()
    assert f"This is version {schema.SCHEMA_VERSION} of the schema" in page
