"""What is committed under results/ is light, and is what the records give."""

from __future__ import annotations

import ast
import base64
import gzip
import hashlib
import inspect
import re
import shutil
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import matplotlib
import pytest

from bench import schema
from bench.claims.verdict import Evidence
from bench.launch import RESULTS, ROOT
from bench.machine.environment import PACKAGES
from bench.report import campaigns
from bench.schema import TrialRecord
from crawlers.catalogue import OURS
from tests.bench import committed
from tools import rebuild, with_block

MOST_BYTES = 6_200_000
"""Of what is committed below results/, but for the campaigns of the headlines."""
MOST_BYTES_OF_A_CAMPAIGN = 650_000
"""Of one campaign of the headlines: their number grows, and every further one narrows intervals."""
DRAWN_WITH = "3.11.2"
"""The release of matplotlib that drew what is committed. Others may place a line elsewhere."""


@pytest.fixture(scope="module", autouse=True)
def analysed_once() -> Iterator[None]:
    """A campaign is analysed once for all tests of a process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rebuild, "analysed", committed.analysis)
        patch.setattr(Evidence, "load", committed.evidence)
        yield


@pytest.fixture(scope="module")
def results(in_git: list[Path]) -> list[Path]:
    """The files under results/ that git has, relative to it."""
    return [file.relative_to(RESULTS) for file in in_git if file.is_relative_to(RESULTS)]


def test_the_results_are_light(results: list[Path]) -> None:
    sizes: Counter[Path] = Counter()
    for file in results:
        of = campaigns.FOLDER.name == file.parts[0]
        sizes[Path(*file.parts[:2]) if of else Path()] += (RESULTS / file).stat().st_size
    assert sizes.pop(Path()) < MOST_BYTES
    assert max(sizes.values()) < MOST_BYTES_OF_A_CAMPAIGN


def test_the_images_that_are_linked_and_no_others_are_committed(results: list[Path]) -> None:
    documents = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    linked = re.compile(r"results/([\w/-]+\.(?:svg|png))")
    wanted = {Path(name) for file in documents for name in linked.findall(file.read_text())}
    assert {file for file in results if file.suffix in (".svg", ".png", ".txt")} == wanted


@pytest.mark.parametrize(("page", "name"), rebuild.BLOCKS)
def test_a_generated_part_is_what_the_records_give(page: str, name: str) -> None:
    """Rebuild with: python -m tools.rebuild documents."""
    text = (ROOT / "docs" / f"{page}.md").read_text()
    assert with_block(text, name, rebuild.BLOCKS[page, name]().rstrip()) == text


@pytest.mark.parametrize(("page", "name"), rebuild.FROM_SOURCE)
def test_a_part_from_the_source_is_what_it_gives_but_for_numbers_of_lines(
    page: str, name: str
) -> None:
    """Rebuild with: python -m tools.rebuild documents."""
    text = (ROOT / "docs" / f"{page}.md").read_text()
    made = with_block(text, name, rebuild.FROM_SOURCE[page, name]().rstrip())
    assert re.sub(r"\d+", "N", made) == re.sub(r"\d+", "N", text)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", rebuild.FOLDERS)
def test_a_folder_is_what_its_records_give(name: str, results: list[Path], tmp_path: Path) -> None:
    """Rebuild with: python -m tools.rebuild."""
    for records in (RESULTS / name).glob("*.jsonl*"):  # the report links to them
        shutil.copy(records, tmp_path)
    rebuild.write(name, tmp_path)
    made = {file.relative_to(tmp_path): file for file in tmp_path.rglob("*") if file.is_file()}
    mine = [file for file in results if file.parts[0] == name]
    inside = {file: Path(*file.parts[1:]) for file in mine}
    rebuilt = {file for file in mine if inside[file] in made}
    assert {file for file in mine if file.suffix in (".svg", ".html", ".md")} <= rebuilt
    for file in rebuilt:
        # Records are copies. The claims' chart is drawn by documents, from other campaigns too.
        if file.suffix == ".gz":
            continue
        old, new = (RESULTS / file).read_text(), made[inside[file]].read_text()
        assert words(new) == words(old)
        if matplotlib.__version__ == DRAWN_WITH or file.suffix not in (".svg", ".html"):
            assert unpacked(new) == unpacked(old)


@pytest.mark.slow
def test_the_chart_for_a_phone_has_the_words_of_the_records(tmp_path: Path) -> None:
    rebuild.draw_for_a_phone(tmp_path / "memory.svg")
    drawn, kept = (folder / "memory.svg" for folder in (tmp_path, ROOT / "docs"))
    assert words(drawn.read_text()) == words(kept.read_text())


@pytest.mark.slow
def test_the_package_carries_what_the_published_campaigns_give(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rebuild with: python -m tools.rebuild headlines."""
    committed_text = campaigns.PUBLISHED.read_text()
    monkeypatch.setattr(campaigns, "PUBLISHED", tmp_path / "headlines.json")
    rebuild.carry()
    assert campaigns.PUBLISHED.read_text() == committed_text


def words(text: str) -> list[str]:
    """What a file says to people: its text, and the names and alternative texts of its images."""
    text = re.sub(r"<style.*?</style>", "", text, flags=re.DOTALL)
    return re.findall(r">\s*([^<>\s][^<>]*)<|aria-label=\"([^\"]*)\"", text)


def unpacked(text: str) -> str:
    """With gzipped data as it was before, for another zlib may pack it differently."""
    packed = re.compile(r"data:application/gzip;base64,([\w+/=]*)")
    return packed.sub(lambda m: gzip.decompress(base64.b64decode(m[1])).decode(), text)


# --- the schema of the records: frozen, and documented ---

FROZEN = {2: "100ff303e6bcce1ade32d460f8ea9ca875a01c9580952899655ab2065936828d"}
"""Version of the schema -> the digest of its names, types, optional fields, and named words."""


def test_the_schema_changes_with_its_version_only() -> None:
    """After a change: raise the version, let bench.store read those before it, add a line."""
    named = [
        ast.unparse(node)
        for node in ast.parse(inspect.getsource(schema)).body
        if isinstance(node, ast.Assign | ast.AnnAssign)
        and "SCHEMA_VERSION" not in ast.unparse(node)
    ]
    fields = [(name, *field[:3]) for name, _, found in rebuild.records() for field in found]
    digest = hashlib.sha256(repr((named, fields)).encode()).hexdigest()
    assert digest == FROZEN[schema.SCHEMA_VERSION]


def test_every_field_has_its_type_and_meaning() -> None:
    found = {name: fields for name, _, fields in rebuild.records()}
    assert [field.name for field in found["TrialRecord"]] == list(TrialRecord.model_fields)
    named = {field.name: field for field in found["TrialRecord"]}
    assert named["pages_per_s"].meaning == "pages / elapsed_s"
    assert named["loaded"].optional
    page = (ROOT / "docs" / "reference" / "records.md").read_text()
    assert f"This is version {schema.SCHEMA_VERSION} of the schema" in page


# --- libraries: every backend has its entry, and every entry a source ---

LIBRARIES = tomllib.loads((ROOT / "tools" / "libraries.toml").read_text())["library"]


def test_records_have_the_version_of_every_library_that_is_measured() -> None:
    """urllib3, anyio and six others were in none."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    measured = {each.partition(">")[0] for each in (*extras["variants"], *extras["servers"])}
    assert measured <= {*PACKAGES.split()}


def test_every_backend_has_one_entry_and_no_entry_names_another() -> None:
    named = [name for library in LIBRARIES for name in library["backends"]]
    assert not {*OURS} - {*named}, "write what its library recommends, in tools/libraries.toml"
    assert sorted(named) == sorted(OURS)


@pytest.mark.parametrize("library", LIBRARIES, ids=lambda library: library["backends"][0])
def test_what_is_recommended_has_its_source_and_other_links_lead_into_docs(
    library: dict[str, str],
) -> None:
    assert "](https://" in library["recommended"]
    texts = library["recommended"], library["here"], library["still"]
    assert all(text.strip().endswith(".") for text in texts)
    for address in re.findall(r"\]\(((?!https:)[^)]*)\)", " ".join(texts)):
        assert (ROOT / "docs" / address.partition("#")[0]).is_file()
